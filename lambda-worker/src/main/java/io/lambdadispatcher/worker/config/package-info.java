/** What a worker is told: the configuration record and the two places it is read from, invoke payload and environment. Immutable; any thread. */
@NullMarked
package io.lambdadispatcher.worker.config;

import org.jspecify.annotations.NullMarked;
