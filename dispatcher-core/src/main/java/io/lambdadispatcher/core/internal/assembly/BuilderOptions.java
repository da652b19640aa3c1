package io.lambdadispatcher.core.internal.assembly;

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
import io.lambdadispatcher.core.spi.ErrorRenderer;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What {@code DispatcherBuilder} collects, by the side that uses it. Not thread-safe. */
public final class BuilderOptions {
    public final List<FunctionOptions> functions = new ArrayList<>();
    public final List<DispatcherObserver> observers = new ArrayList<>();
    /** Of all functions. */
    public final List<Filter> filters = new ArrayList<>();

    public final Map<String, List<Filter>> functionFilters = new HashMap<>();
    public final Clients clients = new Clients();
    public final Workers workers = new Workers();
    public final Launching launching = new Launching();
    public int eventLoops = Math.max(1, Runtime.getRuntime().availableProcessors());
    public @Nullable EventLoopGroup eventLoopGroup;
    public Transport transport = Transport.nio();

    public static final class Clients {
        public final List<ListenerOptions> listeners = new ArrayList<>();
        public HttpLimits limits = HttpLimits.defaults();
        public ForwardingPolicy forwarding = ForwardingPolicy.defaults();
        public @Nullable RequestRouter router;
        public @Nullable ErrorRenderer errorRenderer;
        public @Nullable String failureHeader;
        public @Nullable HealthCheck healthCheck;

        private Clients() {}
    }

    public static final class Workers {
        public final Map<String, List<byte[]>> functionSecrets = new HashMap<>();
        /** By name of the function. */
        public final Map<String, InProcessBase> inProcess = new HashMap<>();

        public @Nullable ListenerOptions listener;
        public @Nullable List<byte[]> secrets;
        public Duration pingInterval = Duration.ofSeconds(2);
        public Duration pingTimeout = Duration.ofSeconds(3);
        public String zone = "";
        public List<InetSocketAddress> advertisedAddresses = List.of();

        private Workers() {}
    }

    public static final class Launching {
        public final Map<String, WorkerLauncher> launchers = new HashMap<>();
        public final Map<String, DirectOptions> direct = new HashMap<>();
        /** Of functions that have none of their own. */
        public @Nullable WorkerLauncher launcher;

        public @Nullable FunctionInvoker invoker;
        public @Nullable Ledger ledger;
        public Consumer<String> onBroadcast = message -> {};
        public List<LaunchHistory> history = List.of();
        public Instant historyTaken = Instant.EPOCH;

        private Launching() {}
    }
}
