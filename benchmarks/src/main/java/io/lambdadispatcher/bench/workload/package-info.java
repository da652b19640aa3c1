/**
 * The handlers of the published scenarios, and the database that one of them writes to. Workers and
 * the functions that are invoked once per request run the same handlers. Waits for other systems
 * (S3, a database, the network) are simulated.
 */
@NullMarked
package io.lambdadispatcher.bench.workload;

import org.jspecify.annotations.NullMarked;
