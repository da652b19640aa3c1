/**
 * What a dispatcher reports to the program that embeds it: events for metrics, logs and traces, and
 * snapshots of its workers, requests and clients. Also the statistic by which it compares versions.
 *
 * <pre>{@code
 * DispatcherObserver observer = new DispatcherObserver() {
 *     public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
 *         System.out.println(workerId + " of " + function + " has ended: " + detail);
 *     }
 * };
 * }</pre>
 */
@NullMarked
package io.lambdadispatcher.core.observe;

import org.jspecify.annotations.NullMarked;
