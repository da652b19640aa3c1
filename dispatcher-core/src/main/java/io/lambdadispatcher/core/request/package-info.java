/**
 * Requests that the embedding program sends itself, and their responses.
 */
@NullMarked
package io.lambdadispatcher.core.request;

import org.jspecify.annotations.NullMarked;
