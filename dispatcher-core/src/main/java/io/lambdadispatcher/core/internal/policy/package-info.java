/**
 * Traffic policies. Each is one file without a thread, a clock or I/O. A policy that is off costs
 * nothing on the path of a request.
 */
@NullMarked
package io.lambdadispatcher.core.internal.policy;

import org.jspecify.annotations.NullMarked;
