package io.lambdadispatcher.it;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.testkit.CutLedger;
import io.lambdadispatcher.server.admin.AdminAccess;
import io.lambdadispatcher.server.admin.AdminPages;
import io.lambdadispatcher.server.admin.AdminServer;
import io.lambdadispatcher.server.admin.Launching;
import io.lambdadispatcher.server.admin.LiveSettings;
import io.lambdadispatcher.server.admin.Readiness;
import io.lambdadispatcher.server.admin.WorkerControl;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.server.launch.LocalLauncher;
import io.lambdadispatcher.server.launch.LocalWorkers;
import io.lambdadispatcher.server.live.Live;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;

/**
 * Dispatchers in this JVM that share a ledger. Each has an admin port. Their function {@code shop}
 * has one local worker in all.
 */
final class FleetRig implements AutoCloseable {
    private final ConcurrentMap<String, Ledger.Entry> entries = new ConcurrentHashMap<>();
    private final List<Member> members = new ArrayList<>();

    /** A dispatcher of the fleet. */
    final class Member implements AutoCloseable {
        final Dispatcher dispatcher;
        private final Live live = new Live();
        private final AdminServer admin;
        final CutLedger ledger = new CutLedger(Ledger.inMemory(entries));

        private Member(String zone, int maxWorkers) throws IOException, ConfigurationException {
            Configuration configuration = ConfigurationLoader.load(
                    Map.of(),
                    null,
                    Map.of(
                            "LAMBDA_DISPATCHER_FUNCTION_NAME", "shop",
                            "LAMBDA_DISPATCHER_FUNCTION_LAUNCHER", "local",
                            "LAMBDA_DISPATCHER_FUNCTION_HANDLER", DemoHandler.class.getName(),
                            "LAMBDA_DISPATCHER_FUNCTION_MIN_WORKERS", "1",
                            "LAMBDA_DISPATCHER_FUNCTION_MAX_WORKERS", Integer.toString(maxWorkers),
                            "LAMBDA_DISPATCHER_FUNCTION_SPENDING_LIMIT", "36000"),
                    Map.of(),
                    List.of());
            dispatcher = Dispatcher.builder()
                    .function(configuration.functions().get(0).options())
                    .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                    .workerListener(ListenerOptions.workers("127.0.0.1", 0))
                    .secret(Rig.SECRET)
                    .launcher(new LocalLauncher(new LocalWorkers(
                            LocalWorkers.ownJava(),
                            List.of("-Xmx128m", "-XX:TieredStopAtLevel=1"),
                            System.getProperty("java.class.path"),
                            List.of(),
                            Map.of(),
                            Map.of("shop", DemoHandler.class.getName()),
                            false)))
                    .ledger(ledger)
                    .zone(zone)
                    .observer(live.observer())
                    .start();
            Launching launching = new Launching();
            launching.of(dispatcher);
            live.watch(dispatcher, configuration);
            admin = new AdminServer(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    new AdminPages(
                            new Readiness(), launching, new WorkerControl(), LiveSettings.NONE, () -> "", live::json),
                    new AdminAccess(Set.of(), List.of(Rig.SECRET.getBytes(StandardCharsets.US_ASCII)), List.of()),
                    null,
                    protection -> {});
        }

        String adminUrl() {
            return "http://127.0.0.1:" + admin.address().getPort();
        }

        @Override
        public void close() throws Exception {
            admin.close();
            live.close();
            dispatcher.close(Duration.ofSeconds(1)).toCompletableFuture().get(60, TimeUnit.SECONDS);
        }
    }

    /** Adds a dispatcher. {@link #close} closes it. */
    Member add(String zone, int maxWorkers) throws IOException, ConfigurationException {
        Member member = new Member(zone, maxWorkers);
        members.add(member);
        return member;
    }

    @Override
    public void close() throws Exception {
        for (Member member : members) {
            member.close();
        }
    }
}
