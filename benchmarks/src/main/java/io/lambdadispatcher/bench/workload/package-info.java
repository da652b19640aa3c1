/**
 * What the published scenarios ask of a function: one set of handlers, the same code for workers
 * and for one invocation per request, and the database that one of them writes to. Waits that would
 * be somebody else's (S3, a database, the network between) are simulated.
 */
@NullMarked
package io.lambdadispatcher.bench.workload;

import org.jspecify.annotations.NullMarked;
