package io.lambdadispatcher.core;

import io.lambdadispatcher.core.internal.assembly.ChangedOptions;
import io.lambdadispatcher.core.internal.assembly.DispatcherParts;
import io.lambdadispatcher.core.internal.assembly.OptionChange;
import io.lambdadispatcher.core.internal.assembly.Shutdown;
import io.lambdadispatcher.core.internal.embed.EmbeddedExchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.launch.LaunchSupervisor;
import io.lambdadispatcher.core.internal.launch.WorkerCommands;
import io.lambdadispatcher.core.internal.loop.LoopFuture;
import io.lambdadispatcher.core.observe.BreakerSnapshot;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.ClientSnapshot;
import io.lambdadispatcher.core.observe.FilterGauge;
import io.lambdadispatcher.core.observe.FleetSnapshot;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.ProcessSnapshot;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.WorkerCommandResult;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http2.NettyRequirement;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP server that passes each request to a worker, which has connected to it. {@link
 * DispatcherBuilder#start} opens the ports. {@link #close(Duration)} refuses new requests, finishes
 * those in flight, and ends the workers.
 *
 * <pre>{@code
 * Dispatcher dispatcher = Dispatcher.builder()
 *         .function(FunctionOptions.of("hello"))
 *         .publicListener(ListenerOptions.plain("0.0.0.0", 8080))
 *         .workerListener(ListenerOptions.workers("0.0.0.0", 8444))
 *         .secret(secret)
 *         .start();
 * }</pre>
 *
 * <p><b>Threading.</b> Any thread.
 */
public final class Dispatcher implements AutoCloseable {
    private static final Duration LONGEST_GRACE = Duration.ofDays(366);

    private final DispatcherParts parts;
    private final Shutdown shutdown;

    Dispatcher(DispatcherParts parts) {
        this.parts = parts;
        shutdown = new Shutdown(parts);
    }

    /**
     * Starts a change of options while the dispatcher runs. Nothing changes before {@link
     * DispatcherChange#apply}.
     */
    public DispatcherChange change() {
        return new DispatcherChange(this);
    }

    /** Checks everything first, and then applies everything. */
    synchronized void apply(ChangedOptions change) {
        requireOpen();
        new OptionChange(parts, change).apply();
    }

    private void requireOpen() {
        if (shutdown.hasBegun()) {
            throw new IllegalStateException("the dispatcher is closing or closed");
        }
    }

    /**
     * Returns a handler that serves clients of channels that your program has accepted. Add it to
     * the end of the pipeline, behind TLS if there is any. It speaks HTTP/1.1 and, with prior
     * knowledge, HTTP/2. The channel must be registered with an event loop that was given to {@link
     * DispatcherBuilder#eventLoopGroup}. Sharable.
     *
     * @param secure whether the client uses TLS
     */
    public ChannelHandler clientHandler(boolean secure) {
        return parts.clients().newHandler(null, secure ? "https" : "http", false);
    }

    /** @throws IllegalStateException without Netty 4.2.16 or a newer 4.2 */
    public static DispatcherBuilder builder() {
        NettyRequirement.verify();
        return new DispatcherBuilder();
    }

    /**
     * Opens another port for clients, as {@link DispatcherBuilder#publicListener} does at the
     * start. A program calls it when it is ready for requests, for example because its own
     * {@linkplain PoolSnapshot#readyBaseWorkers base} is connected.
     *
     * @return the address that is bound
     * @throws IllegalArgumentException if the options are those of a worker port
     * @throws java.io.UncheckedIOException if the port cannot be bound or a file cannot be read
     * @throws IllegalStateException if the dispatcher is closing or closed
     */
    public synchronized InetSocketAddress listen(ListenerOptions listener) {
        requireOpen();
        Channel port = parts.clients().open(listener);
        if (shutdown.hasBegun()) {
            // It may have begun before it could see this port.
            port.close();
            requireOpen();
        }
        return (InetSocketAddress) port.localAddress();
    }

    /**
     * Completes when all public ports that were opened at the start accept clients. That is the
     * case at once, except for a {@linkplain ListenerOptions#withSocket socket} of a member of a
     * fleet: it accepts clients when the dispatcher {@linkplain #isReady is ready} and has a worker
     * of each function that the fleet has workers of, or has seen that it is the only member. It
     * waits for such workers at most 30 s, and not if the ledger fails. Until then, the socket's
     * clients are those of another process.
     */
    public CompletionStage<Void> accepting() {
        return parts.clients().accepting();
    }

    /**
     * Returns the addresses of the public ports that are bound, in the order of {@link
     * DispatcherBuilder#publicListener} and {@link #listen}.
     */
    public List<InetSocketAddress> publicAddresses() {
        return parts.clients().addresses();
    }

    /**
     * Returns the fingerprints of the worker port's public keys (RFC 7469 section 2.4), the one of
     * most connections first. Workers accept no other port. There is one for each secret, or that
     * of the certificate of {@link ListenerOptions#tls}, or none without TLS.
     */
    public List<String> workerFingerprints() {
        return parts.workers().fingerprints();
    }

    /** Returns the address of the worker port that is bound. */
    public InetSocketAddress workerAddress() {
        return parts.workers().address();
    }

    /**
     * Returns whether every function can serve requests, and no close has begun. A function whose
     * workers are launched here can if at least {@code minWorkers} are ready, and from then on as
     * long as one is. One whose workers launch themselves can if at least one is ready, and one
     * with {@link DispatcherBuilder#direct} always. With a {@code minWorkers} of 0, this is true
     * without any worker, because a load balancer must let the first request through, which
     * launches one. {@link #pools} says how many are ready.
     */
    public boolean isReady() {
        return !shutdown.hasBegun() && parts.engine().pools().values().stream().allMatch(parts.launches()::isReady);
    }

    /**
     * Returns a snapshot of each function's pool, in the order of {@link
     * DispatcherBuilder#function}.
     */
    public List<PoolSnapshot> pools() {
        return parts.engine().pools().values().stream()
                .map(parts.launches().registry()::snapshot)
                .toList();
    }

    /**
     * Returns each worker that was launched or connected here and has not exited. With 500 workers,
     * this takes a few milliseconds of the event loops, so do not call it often.
     *
     * @return completes on a thread of the dispatcher; exceptionally after {@link #close}
     */
    public CompletionStage<List<WorkerSnapshot>> workers() {
        return parts.launches().workers(parts.engine().pools().values());
    }

    /**
     * Drains workers now. They finish their requests, get no new ones, and exit. If the traffic
     * needs replacements, these are launched afterwards, so requests may be queued meanwhile. Use
     * {@link #recycle} to replace workers first. A worker that shares several dispatchers leaves
     * all of them.
     *
     * @param which chooses the workers; called on a thread of the dispatcher
     * @return the chosen workers, each with what happens to it; completes on a thread of the
     *     dispatcher, and exceptionally if {@code which} throws and after {@link #close}
     */
    public CompletionStage<List<WorkerCommandResult>> drain(Predicate<WorkerSnapshot> which) {
        return command(which, WorkerCommands::drain);
    }

    /**
     * Replaces workers that this dispatcher has launched. Each drains when its replacement is
     * ready. At most a quarter of the workers of a function is replaced at a time, but at least
     * one. If replacements cannot be launched, or fail to start, the workers keep serving. A worker
     * that the traffic does not need drains without a replacement.
     *
     * @param which chooses the workers; called on a thread of the dispatcher
     * @return the chosen workers, each with what happens to it; completes on a thread of the
     *     dispatcher, and exceptionally if {@code which} throws and after {@link #close}
     */
    public CompletionStage<List<WorkerCommandResult>> recycle(Predicate<WorkerSnapshot> which) {
        return command(which, WorkerCommands::recycle);
    }

    private CompletionStage<List<WorkerCommandResult>> command(
            Predicate<WorkerSnapshot> which,
            BiFunction<WorkerCommands, List<WorkerSnapshot>, CompletableFuture<List<WorkerCommandResult>>> command) {
        Objects.requireNonNull(which, "which");
        WorkerCommands commands = parts.launches().commands();
        return workers()
                .thenCompose(all ->
                        command.apply(commands, all.stream().filter(which).toList()));
    }

    /**
     * Returns the requests that have not ended, the oldest first.
     *
     * @param limit maximum number of requests in the list, 1 or more
     * @return completes on a thread of the dispatcher; exceptionally after {@link #close}
     */
    public CompletionStage<List<RequestSnapshot>> requests(int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit: " + limit + ", expected 1 or more");
        }
        return LoopFuture.of(parts.anyLoop(), parts.engine().requests(limit));
    }

    /** Returns what the filters of this dispatcher measure. */
    public List<FilterGauge> filterGauges() {
        return parts.filters().gauges();
    }

    /** Returns what clients cost now. */
    public ClientSnapshot clients() {
        return parts.clients().snapshot();
    }

    /** Returns what the process of this dispatcher lacks, at most a second old. */
    public ProcessSnapshot process() {
        return parts.process();
    }

    /**
     * Returns a snapshot of each function whose workers are launched here. It is at most a second
     * old.
     */
    public List<CapacitySnapshot> capacity() {
        return parts.launches().supervisors().values().stream()
                .map(LaunchSupervisor::snapshot)
                .toList();
    }

    /**
     * Returns the fleet of {@link DispatcherBuilder#ledger}; {@code null} if this dispatcher is
     * alone.
     */
    public @Nullable FleetSnapshot fleet() {
        return parts.launches().fleet();
    }

    /**
     * Tells all other members of the fleet something, for example that what they have stored is out
     * of date. See {@link DispatcherBuilder#onBroadcast}. Any thread.
     *
     * @param message 1 to 1,000 printable characters, at most 20 messages a minute
     * @return completes when the ledger has it, so that the others will read it if this dispatcher
     *     stays for two seconds; or at once if it is alone. Waits while the ledger cannot be
     *     reached. Fails if there are too many messages, or if the dispatcher closes
     * @throws IllegalArgumentException if the message is too long, or not printable
     */
    public CompletionStage<Void> broadcast(String message) {
        if (message.isEmpty()
                || message.length() > 1000
                || !PrintableText.of(message).equals(message)) {
            throw new IllegalArgumentException("message of " + message.length() + " characters: "
                    + PrintableText.startOf(message) + ", expected 1 to 1000 printable ones");
        }
        return parts.launches().broadcast(message);
    }

    /**
     * Returns what must not be forgotten when the dispatcher restarts, of each function whose
     * workers are launched here. It is at most a second old, and remains available after {@link
     * #close}. See {@link DispatcherBuilder#launchHistory}.
     */
    public List<LaunchHistory> launchHistory() {
        return parts.launches().supervisors().values().stream()
                .map(LaunchSupervisor::history)
                .toList();
    }

    /**
     * Sets how many requests this process serves at once from now on, because it knows that it is
     * saturated, or no longer is: by the threads of a pool, or by a slow dependency. What exceeds
     * this goes to other workers, and some are launched if there are none. Requests in flight are
     * not affected. If the processor time of this process does not suffice, it serves fewer.
     *
     * @param requests 1 or more. The concurrency of {@link DispatcherBuilder#inProcess} or more =
     *     that concurrency, as before the first call
     * @throws IllegalArgumentException if this process does not serve the function, or the number
     *     is less than 1
     */
    public void limitInProcess(String function, int requests) {
        if (requests < 1) {
            throw new IllegalArgumentException("requests: " + requests + ", expected 1 or more");
        }
        parts.inProcess(function).limit(requests);
    }

    /**
     * Switches launching of a function's workers on or off. Workers that are running keep serving.
     *
     * @throws IllegalArgumentException if this dispatcher does not launch the function's workers
     */
    public void setLaunching(String function, boolean launching) {
        parts.launches().supervisor(function).setLaunching(launching);
    }

    /**
     * Stops a change of a function's workers to another version. The old version keeps serving, and
     * workers of the new one are replaced, until {@link #resumeRollout} is called, or the launcher
     * names another version. Has no effect if no change is going on. See {@link
     * CapacitySnapshot#rollout}.
     *
     * @throws IllegalArgumentException if this dispatcher does not launch the function's workers
     */
    public void stopRollout(String function) {
        parts.launches().supervisor(function).stopRollout();
    }

    /**
     * Continues a stopped change of a function's workers to another version. A few workers get the
     * new version at first. Has no effect if no change was stopped.
     *
     * @throws IllegalArgumentException if this dispatcher does not launch the function's workers
     */
    public void resumeRollout(String function) {
        parts.launches().supervisor(function).resumeRollout();
    }

    /** Returns the state of each breaker that has opened since the dispatcher started. */
    public List<BreakerSnapshot> breakers() {
        return parts.engine().breakers();
    }

    /**
     * Sends a request of the embedding program. If it is called on one of the dispatcher's event
     * loops, the request stays on that loop.
     *
     * <p>Callbacks such as {@code thenApply} run on that event loop, unless the response has
     * arrived already. They must not block it, so {@code join()} and {@code get()} throw an
     * exception there. Callbacks such as {@code thenApplyAsync} run on the executor that they name.
     * See {@link #send} for code that waits.
     *
     * <p>The stage fails with {@link DispatchException}, or with the error with which the request's
     * body fails. Cancelling its {@code toCompletableFuture()} cancels the request. A response
     * whose body nobody subscribes to, discards or gathers within {@link HttpLimits#writeTimeout}
     * is cancelled.
     *
     * @throws IllegalArgumentException if a {@code host} header differs from the request's
     *     authority, or if {@code content-length} is not a number, or not 0 without a body
     */
    public CompletionStage<DispatchResponse> dispatch(DispatchRequest request) {
        Objects.requireNonNull(request, "request");
        if (shutdown.hasBegun()) {
            return CompletableFuture.failedFuture(EmbeddedExchange.exception(
                    new Failure(Failure.Kind.SHUTTING_DOWN, "the dispatcher is closing or closed")));
        }
        return parts.engine().dispatch(request, parts.clients().limits().writeTimeout());
    }

    /**
     * Sends a request as {@link #dispatch} does, and waits for the headers of the response. For
     * virtual threads, and for others that may wait. The code that follows runs on the same thread,
     * so a logging context or a {@code ScopedValue} stays as it is. To wait for the body, call for
     * example {@code bodyAsString().toCompletableFuture().join()}.
     *
     * @throws DispatchException if there is no response
     * @throws InterruptedException if the thread is interrupted. The request is cancelled then
     * @throws IllegalStateException on an event loop of the dispatcher, which would wait for itself
     * @throws IllegalArgumentException as {@link #dispatch} does
     * @throws CompletionException if the request's body fails with a checked exception
     */
    public DispatchResponse send(DispatchRequest request) throws InterruptedException {
        CompletableFuture<DispatchResponse> response = dispatch(request).toCompletableFuture();
        try {
            return response.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new CompletionException(e.getCause());
        } finally {
            // Has no effect if there is a response already.
            response.cancel(false);
        }
    }

    /**
     * Closes the dispatcher:
     * <ol>
     *   <li>It closes the public ports, and lets requests finish for up to half of {@code grace},
     *       those of {@link #dispatch} included. Such a request has finished when the embedding
     *       program has read the response's body.
     *   <li>It drains the workers for the rest of {@code grace}, which tells handlers to end long
     *       streams and tunnels. Their last bytes are sent, and read by the embedding program,
     *       within this time. Requests that are still queued when the workers have gone fail.
     *   <li>It fails what is left with status 503, unread responses included, and closes
     *       connections, launchers and invokers.
     * </ol>
     * Further calls return the same stage.
     *
     * @param grace time for requests and workers, 0 to 366 days. Launchers and invokers take their
     *     own time after it
     * @return completes when everything is closed, never exceptionally. What a launcher or an
     *     invoker throws is logged
     */
    public CompletionStage<Void> close(Duration grace) {
        if (Objects.requireNonNull(grace, "grace").isNegative() || grace.compareTo(LONGEST_GRACE) > 0) {
            throw new IllegalArgumentException("grace: " + grace + ", expected 0 to 366 days");
        }
        return shutdown.begin(grace);
    }

    /**
     * Closes the dispatcher with a grace of 10 s, and waits until it is closed. See {@link
     * #close(Duration)}.
     *
     * @throws IllegalStateException on an event loop of the dispatcher, which would wait for itself
     */
    @Override
    public void close() {
        if (parts.engine().loopIndexes().keySet().stream().anyMatch(EventLoop::inEventLoop)) {
            throw new IllegalStateException("close() called on " + Thread.currentThread()
                    + ", an event loop. On an event loop, call close(Duration)");
        }
        close(Duration.ofSeconds(10)).toCompletableFuture().join();
    }
}
