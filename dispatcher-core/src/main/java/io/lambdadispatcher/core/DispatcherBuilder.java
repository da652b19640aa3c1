package io.lambdadispatcher.core;

import io.lambdadispatcher.core.internal.assembly.BuilderOptions;
import io.lambdadispatcher.core.internal.assembly.DispatcherParts;
import io.lambdadispatcher.core.internal.ingress.edge.HealthCheck;
import io.lambdadispatcher.core.internal.inprocess.InProcessBase;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.core.spi.AsyncInProcessHandler;
import io.lambdadispatcher.core.spi.ErrorRenderer;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.InProcessHandler;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Collects the options of a dispatcher. {@link #start} validates.
 *
 * <p><b>Threading.</b> Not thread-safe.
 */
public final class DispatcherBuilder {
    private final BuilderOptions options = new BuilderOptions();

    DispatcherBuilder() {}

    /**
     * Adds a function. At least one is required. Without a {@link #router}, the first function
     * serves all requests.
     */
    public DispatcherBuilder function(FunctionOptions function) {
        options.functions.add(Objects.requireNonNull(function, "function"));
        return this;
    }

    /**
     * Adds a port for clients. Without any, requests reach the dispatcher only through {@link
     * Dispatcher#dispatch} and {@link Dispatcher#clientHandler}.
     */
    public DispatcherBuilder publicListener(ListenerOptions listener) {
        options.clients.listeners.add(Objects.requireNonNull(listener, "publicListener"));
        return this;
    }

    /**
     * Sets the port that workers dial. Required. Use {@link ListenerOptions#workers}, unless
     * you have certificates for the port, or want no TLS.
     */
    public DispatcherBuilder workerListener(ListenerOptions listener) {
        options.workers.listener = Objects.requireNonNull(listener, "workerListener");
        return this;
    }

    /**
     * Sets the addresses that launched workers dial. Port 0 stands for the worker listener's
     * port. Default: the worker listener's own address.
     */
    public DispatcherBuilder advertisedAddresses(List<InetSocketAddress> addresses) {
        options.workers.advertisedAddresses = List.copyOf(addresses);
        return this;
    }

    /**
     * Sets the secret that the keys of all functions are derived from, at least 16 bytes. A key
     * signs the launch tokens of its function. Workers that launch themselves need the secret
     * or their function's key. The key of the worker port follows from the secret, too, so
     * anybody who reaches the port can test guesses: take random bytes. Default: random.
     *
     * @param others further secrets, whose tokens are accepted as well, so that the secret can
     *     be replaced while workers and other dispatchers still use another one
     */
    public DispatcherBuilder secret(byte[] bytes, byte[]... others) {
        options.workers.secrets = copies(bytes, others);
        return this;
    }

    /** Sets the UTF-8 bytes of {@code text} with {@link #secret(byte[], byte[]...)}. */
    public DispatcherBuilder secret(String text) {
        return secret(text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Sets the secret of one function, at least 16 bytes. Workers that hold it cannot take the
     * requests of other functions. Default: that of {@link #secret(byte[], byte[]...)}.
     *
     * @param others further secrets, whose tokens are accepted as well
     */
    public DispatcherBuilder secret(String function, byte[] bytes, byte[]... others) {
        options.workers.functionSecrets.put(function, copies(bytes, others));
        return this;
    }

    static List<byte[]> copies(byte[] first, byte[][] others) {
        return Stream.concat(Stream.of(first), Stream.of(others))
                .map(byte[]::clone)
                .toList();
    }

    /**
     * Sets the launcher of all functions that have no launcher of their own. Functions without
     * a launcher have self-launched workers. The dispatcher closes the launcher.
     */
    public DispatcherBuilder launcher(WorkerLauncher value) {
        options.launching.launcher = Objects.requireNonNull(value, "launcher");
        return this;
    }

    /**
     * Sets the launcher of one function. One launcher may serve several functions. The
     * dispatcher closes it.
     */
    public DispatcherBuilder launcher(String function, WorkerLauncher value) {
        options.launching.launchers.put(function, Objects.requireNonNull(value, "launcher"));
        return this;
    }

    /**
     * Lets a function serve requests by direct invocations, either all of them or those that
     * find no worker in time. It requires an {@link #invoker}.
     */
    public DispatcherBuilder direct(String function, DirectOptions value) {
        options.launching.direct.put(function, Objects.requireNonNull(value, "direct"));
        return this;
    }

    /** Sets what invokes the functions of {@link #direct}. The dispatcher closes it. */
    public DispatcherBuilder invoker(FunctionInvoker value) {
        options.launching.invoker = Objects.requireNonNull(value, "invoker");
        return this;
    }

    /**
     * Serves a function in this process, too: the handler is a worker of the function that is
     * always ready. What exceeds its concurrency goes to other workers, if there are any, and
     * otherwise waits in the function's queue. Limits, policies and retries apply as with any
     * worker. WebSockets wait for other workers. Its version is that of the environment variable
     * {@code AWS_LAMBDA_FUNCTION_VERSION}.
     *
     * @param function the name of a function, otherwise {@link #start} fails
     * @param handler called on its own threads, never on an event loop
     * @param concurrency maximum number of requests that the handler serves at a time, 1 to 10,000
     * @throws IllegalArgumentException if the concurrency is out of range
     */
    public DispatcherBuilder inProcess(String function, InProcessHandler handler, int concurrency) {
        Objects.requireNonNull(handler, "handler");
        options.workers.inProcess.put(function, InProcessBase.of(handler, concurrency));
        return this;
    }

    /**
     * Serves a function in this process as {@link #inProcess(String, InProcessHandler, int)} does,
     * with code that never waits.
     *
     * @param handler called on event loops, which it must not block
     */
    public DispatcherBuilder inProcess(String function, AsyncInProcessHandler handler, int concurrency) {
        Objects.requireNonNull(handler, "handler");
        options.workers.inProcess.put(function, InProcessBase.of(handler, concurrency));
        return this;
    }

    /**
     * Continues the launch rate, the spending of the last hour and the kill switches of a
     * previous dispatcher. Default: everything starts from zero, and every function launches.
     *
     * @param taken when {@link Dispatcher#launchHistory} was called
     * @param history its result. Functions that are not known here are ignored
     */
    public DispatcherBuilder launchHistory(Instant taken, List<LaunchHistory> history) {
        options.launching.historyTaken = Objects.requireNonNull(taken, "taken");
        options.launching.history = List.copyOf(history);
        return this;
    }

    /**
     * Makes this dispatcher a member of a fleet: all dispatchers that use the same entries of
     * the ledger. The limits of {@link FunctionOptions#capacity} and {@link
     * FunctionOptions#launching} then hold for all members together, and each worker serves all
     * of them. They need the same {@link #secret}, and should have the same functions and
     * limits. The kill switch and what has been spent are in the ledger, so {@link
     * #launchHistory} is not for members. The dispatcher closes the ledger. Default: the
     * dispatcher is alone.
     */
    public DispatcherBuilder ledger(Ledger value) {
        options.launching.ledger = Objects.requireNonNull(value, "ledger");
        return this;
    }

    /**
     * Sets what is told the messages of the other members of the fleet, see {@link
     * Dispatcher#broadcast}. Each comes once, about two seconds after it was sent, and those of
     * the last minute when this dispatcher starts. Called on an event loop, so it must not block.
     * Default: nothing.
     */
    public DispatcherBuilder onBroadcast(Consumer<String> listener) {
        options.launching.onBroadcast = Objects.requireNonNull(listener, "listener");
        return this;
    }

    /**
     * Sets the availability zone of this dispatcher, as workers name theirs: on Lambda, the id
     * of the zone, such as {@code use1-az1}. Workers in the same zone get requests first.
     * Default: none.
     */
    public DispatcherBuilder zone(String value) {
        options.workers.zone = Objects.requireNonNull(value, "zone");
        return this;
    }

    /**
     * Sets what makes the bodies of the dispatcher's own error responses. Default: one line of
     * text. See {@link ErrorRenderer#problemJson} for JSON.
     */
    public DispatcherBuilder errorRenderer(ErrorRenderer value) {
        options.clients.errorRenderer = Objects.requireNonNull(value, "errorRenderer");
        return this;
    }

    /**
     * Sets the header of the dispatcher's own error responses that holds the token of the
     * failure, for example {@code queue_timeout}. Default: they have no such header.
     *
     * @param name in lower case, for example {@code x-dispatcher-failure}
     * @throws IllegalArgumentException if it is not a header name in lower case
     */
    public DispatcherBuilder failureHeader(String name) {
        if (!HeaderSyntax.isToken(name) || !name.equals(name.toLowerCase(Locale.ROOT))) {
            throw new IllegalArgumentException("failureHeader: \"" + name + "\", expected a header name in lower case");
        }
        options.clients.failureHeader = name;
        return this;
    }

    /**
     * Sets which requests to the public ports are health checks. The dispatcher answers them
     * with 200 or 503. They reach no function, keep no worker alive, and are not observed.
     * Default: none are.
     *
     * @param path of the requests, without a query
     * @param userAgent beginning of their header {@code user-agent}; empty = any
     * @param ready whether the answer is 200, for example {@link Dispatcher#isReady}. Called on
     *     event loops
     * @throws IllegalArgumentException if {@code path} does not start with {@code /}, or has a
     *     query
     */
    public DispatcherBuilder healthCheck(String path, String userAgent, BooleanSupplier ready) {
        if (!path.startsWith("/") || path.indexOf('?') >= 0) {
            throw new IllegalArgumentException(
                    "healthCheck: \"" + path + "\", expected a path that starts with / and has no query");
        }
        options.clients.healthCheck = new HealthCheck(path, userAgent, Objects.requireNonNull(ready, "ready"));
        return this;
    }

    /**
     * Sets what chooses the function of each request. Default: the first function serves all
     * requests.
     */
    public DispatcherBuilder router(RequestRouter value) {
        options.clients.router = Objects.requireNonNull(value, "router");
        return this;
    }

    /** Sets limits and timeouts of client connections. Default: {@link HttpLimits#defaults}. */
    public DispatcherBuilder limits(HttpLimits value) {
        options.clients.limits = Objects.requireNonNull(value, "limits");
        return this;
    }

    /**
     * Sets what handlers are told about clients. Default: {@link ForwardingPolicy#defaults}.
     */
    public DispatcherBuilder forwarding(ForwardingPolicy value) {
        options.clients.forwarding = Objects.requireNonNull(value, "forwarding");
        return this;
    }

    /**
     * Adds an observer. Observers are told of everything in the order in which they were added,
     * even if one of them throws.
     */
    public DispatcherBuilder observer(DispatcherObserver value) {
        options.observers.add(Objects.requireNonNull(value, "observer"));
        return this;
    }

    /** Adds a filter of the requests to all functions. The dispatcher closes it. */
    public DispatcherBuilder filter(Filter value) {
        options.filters.add(Objects.requireNonNull(value, "filter"));
        return this;
    }

    /**
     * Adds a filter of the requests to one function. The dispatcher closes it.
     *
     * @param function the name of a function, otherwise {@link #start} fails
     */
    public DispatcherBuilder filter(String function, Filter value) {
        options.functionFilters
                .computeIfAbsent(function, key -> new ArrayList<>())
                .add(Objects.requireNonNull(value, "filter"));
        return this;
    }

    /**
     * Sets how lost workers are detected. A connection is pinged after {@code interval} without
     * traffic, and closed if there is no answer within {@code timeout}. Default: 2 s and 3 s.
     *
     * @param interval 1 ms to 2,147,483,647 ms
     * @param timeout 1 ms to 2,147,483,647 ms
     */
    public DispatcherBuilder liveness(Duration interval, Duration timeout) {
        requireMillis("liveness interval", interval);
        requireMillis("liveness timeout", timeout);
        options.workers.pingInterval = interval;
        options.workers.pingTimeout = timeout;
        return this;
    }

    private static void requireMillis(String name, Duration value) {
        // Not toMillis(), which fails for the longest durations.
        if (value.compareTo(Duration.ofMillis(1)) < 0 || value.compareTo(Duration.ofMillis(Integer.MAX_VALUE)) > 0) {
            throw new IllegalArgumentException(name + ": " + value + ", expected 1 ms to " + Integer.MAX_VALUE + " ms");
        }
    }

    /**
     * Sets the number of event loops, each of which is a thread. Default: the number of
     * processors.
     */
    public DispatcherBuilder eventLoops(int count) {
        options.eventLoops = count;
        return this;
    }

    /**
     * Uses all event loops of your program's group, and never shuts them down. Their I/O must
     * be that of {@link #transport}. Default: the dispatcher has event loops of its own, see
     * {@link #eventLoops}.
     */
    public DispatcherBuilder eventLoopGroup(EventLoopGroup value) {
        options.eventLoopGroup = Objects.requireNonNull(value, "eventLoopGroup");
        return this;
    }

    /** Sets how sockets are served. Default: NIO. */
    public DispatcherBuilder transport(Transport value) {
        options.transport = Objects.requireNonNull(value, "transport");
        return this;
    }

    /**
     * Opens the ports and begins to launch workers. {@link Dispatcher#isReady} tells when
     * enough of them are ready. If this fails, nothing is left open, and launchers, invoker and
     * ledger are still yours to close.
     *
     * @throws IllegalArgumentException if an option is missing or contradicts another
     * @throws java.io.UncheckedIOException if a port cannot be bound or a certificate cannot be
     *     read
     */
    public Dispatcher start() {
        return new Dispatcher(DispatcherParts.open(options));
    }
}
