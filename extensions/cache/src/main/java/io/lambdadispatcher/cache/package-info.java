/** Stored responses: a filter that is a shared cache. */
@NullMarked
package io.lambdadispatcher.cache;

import org.jspecify.annotations.NullMarked;
