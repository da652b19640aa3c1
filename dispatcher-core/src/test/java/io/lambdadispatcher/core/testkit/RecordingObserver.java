package io.lambdadispatcher.core.testkit;

import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Protection;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Records what a dispatcher reports, until the test takes it. A test that needs more of an event
 * adds a component to its record. Times are those of {@link System#nanoTime}.
 *
 * <p><b>Threading.</b> Event loops add to the queues. Any thread can read, take and remove.
 */
public final class RecordingObserver implements DispatcherObserver, ExchangeListener {
    /** A request that has arrived. The headers are a copy. */
    public record Start(@Nullable SocketAddress remoteAddress, Http2Headers headers) {}

    /** An attempt that has ended while its request went on. */
    public record FailedAttempt(int number, @Nullable String workerId, String failure) {}

    /** A worker connection that was closed. */
    public record Parting(String workerId, boolean clean, String reason) {}

    /** A launch of a worker. */
    public record Launch(long nanos, String workerId, String reason) {}

    /** The end of a launched worker. */
    public record LaunchEnd(String workerId, String detail) {}

    /** A breaker's change to another state. */
    public record BreakerChange(long nanos, BreakerState state, String reason) {}

    /** How many client connections have been accepted. */
    public final AtomicInteger clientsConnected = new AtomicInteger();

    public final BlockingQueue<Start> starts = new LinkedBlockingQueue<>();
    public final BlockingQueue<FailedAttempt> failedAttempts = new LinkedBlockingQueue<>();
    public final BlockingQueue<ExchangeEnd> ends = new LinkedBlockingQueue<>();
    public final BlockingQueue<Protection> protections = new LinkedBlockingQueue<>();
    public final BlockingQueue<BreakerChange> breakerChanges = new LinkedBlockingQueue<>();
    public final BlockingQueue<FilterEvent> filterEvents = new LinkedBlockingQueue<>();
    public final BlockingQueue<Parting> partings = new LinkedBlockingQueue<>();
    public final BlockingQueue<Launch> launches = new LinkedBlockingQueue<>();
    public final BlockingQueue<LaunchEnd> launchEnds = new LinkedBlockingQueue<>();

    public final BlockingQueue<Incident> incidents = new LinkedBlockingQueue<>();

    /** Why connections of workers were rejected. */
    public final BlockingQueue<String> rejections = new LinkedBlockingQueue<>();

    @Override
    public ExchangeListener onExchangeStart(ExchangeStart start) {
        starts.add(new Start(start.remoteAddress(), new DefaultHttp2Headers(false).add(start.headers())));
        return this;
    }

    @Override
    public void onIncident(Incident incident) {
        incidents.add(incident);
    }

    @Override
    public void onAttemptFailed(int number, @Nullable String workerId, String failure) {
        failedAttempts.add(new FailedAttempt(number, workerId, failure));
    }

    @Override
    public void onEnd(ExchangeEnd end) {
        ends.add(end.copy());
    }

    @Override
    public void onClientConnected() {
        clientsConnected.incrementAndGet();
    }

    @Override
    public void onWorkerDisconnected(String function, String workerId, boolean clean, String reason) {
        partings.add(new Parting(workerId, clean, reason));
    }

    @Override
    public void onWorkerRejected(SocketAddress remote, String reason) {
        rejections.add(reason);
    }

    @Override
    public void onLaunch(String function, String workerId, String reason) {
        launches.add(new Launch(System.nanoTime(), workerId, reason));
    }

    @Override
    public void onLaunchEnd(String function, String workerId, boolean failed, String detail) {
        launchEnds.add(new LaunchEnd(workerId, detail));
    }

    @Override
    public void onProtection(Protection protection) {
        protections.add(protection);
    }

    @Override
    public void onBreaker(String function, String breaker, BreakerState state, String reason) {
        breakerChanges.add(new BreakerChange(System.nanoTime(), state, reason));
    }

    @Override
    public void onFilterEvent(@Nullable String function, FilterEvent event) {
        filterEvents.add(event);
    }
}
