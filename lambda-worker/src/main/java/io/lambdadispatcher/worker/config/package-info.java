/**
 * What a worker is told, by code, by an invoke payload or by its environment: whom it serves, how it
 * authenticates, and how it trusts the dispatcher. Immutable; any thread.
 */
@NullMarked
package io.lambdadispatcher.worker.config;

import org.jspecify.annotations.NullMarked;
