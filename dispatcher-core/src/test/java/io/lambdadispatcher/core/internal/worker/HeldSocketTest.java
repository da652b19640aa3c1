package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.testkit.CutLedger;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a dispatcher accepts the clients of a socket that another process may have, too. */
@EachRelease
@Timeout(60)
class HeldSocketTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final ConcurrentMap<String, Ledger.Entry> entries = new ConcurrentHashMap<>();
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final List<Dispatcher> started = new ArrayList<>();
    private final RecordingLauncher launches = new RecordingLauncher();

    private static DispatcherBuilder builder(CapacityPolicy capacity) {
        return Dispatcher.builder()
                .function(FunctionOptions.builder("f").capacity(capacity).build())
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .eventLoops(1);
    }

    private DispatcherBuilder member(CapacityPolicy capacity) {
        return builder(capacity).ledger(Ledger.inMemory(entries));
    }

    private Dispatcher start(DispatcherBuilder builder) {
        Dispatcher dispatcher = builder.start();
        started.add(dispatcher);
        return dispatcher;
    }

    private Dispatcher startHeld(DispatcherBuilder builder) throws Exception {
        ServerSocketChannel socket = ServerSocketChannel.open();
        socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        return start(builder.publicListener(
                ListenerOptions.plain("127.0.0.1", 0).withSocket(new NioServerSocketChannel(socket))));
    }

    @AfterEach
    void stop() throws Exception {
        for (Dispatcher each : started) {
            each.close(Duration.ZERO).toCompletableFuture().get(20, TimeUnit.SECONDS);
        }
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    /** Returns {@code null} if the worker is asked to try again. */
    private @Nullable ScriptedWorker dial(Dispatcher dispatcher, String token) throws Exception {
        ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), token);
        try {
            return worker.ready(2, 1, true);
        } catch (AssertionError e) {
            worker.close();
            return null;
        }
    }

    private static boolean isAccepting(Dispatcher dispatcher) {
        return dispatcher.accepting().toCompletableFuture().isDone();
    }

    private static Socket client(Dispatcher dispatcher) throws Exception {
        return new Socket(
                InetAddress.getLoopbackAddress(),
                dispatcher.publicAddresses().get(0).getPort());
    }

    private static void awaitOthers(Dispatcher dispatcher) {
        Await.until(
                "the other dispatcher is known",
                () -> dispatcher.fleet() != null && dispatcher.fleet().members().size() == 2);
    }

    @Test
    void should_accept_clients_at_once_if_there_is_no_fleet() throws Exception {
        assertThat(isAccepting(startHeld(builder(CapacityPolicy.NONE)))).isTrue();
    }

    @Test
    void should_accept_clients_without_a_worker_if_it_is_alone_in_its_fleet() throws Exception {
        Dispatcher alone = startHeld(member(CapacityPolicy.NONE));

        Await.until("it sees that it is alone", () -> isAccepting(alone));
        try (Socket client = client(alone)) {
            Await.until("the client is accepted", () -> alone.clients().connections() == 1);
            assertThat(client.isConnected()).isTrue();
        }
    }

    @Test
    void should_leave_clients_to_another_dispatcher_until_it_is_ready() throws Exception {
        start(member(CapacityPolicy.NONE));
        Await.until("the first is a member", () -> !entries.isEmpty());
        Dispatcher dispatcher = startHeld(member(CapacityPolicy.NONE));
        awaitOthers(dispatcher);
        try (Socket client = client(dispatcher)) {
            assertThat(client.isConnected()).isTrue();
            assertThat(isAccepting(dispatcher)).isFalse();
            assertThat(dispatcher.clients().connections()).isZero();

            try (ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "w", SECRET)) {
                worker.ready(2, 1, true);
                Await.until("the client is accepted", () -> dispatcher.clients().connections() == 1);
                assertThat(isAccepting(dispatcher)).isTrue();
            }
        }
    }

    @Test
    void should_take_the_clients_when_the_other_dispatcher_has_left() throws Exception {
        Dispatcher other = start(member(CapacityPolicy.NONE));
        Await.until("the first is a member", () -> !entries.isEmpty());
        Dispatcher dispatcher = startHeld(member(CapacityPolicy.NONE));
        awaitOthers(dispatcher);
        assertThat(isAccepting(dispatcher)).isFalse();

        other.close(Duration.ZERO).toCompletableFuture().get(20, TimeUnit.SECONDS);

        Await.until("it sees that it is alone", () -> isAccepting(dispatcher));
    }

    /** Their first requests would wait, while the others have workers. */
    @Test
    void should_leave_clients_to_others_until_it_has_a_worker_of_the_fleet() throws Exception {
        Dispatcher owner = start(member(CapacityPolicy.fixed(1)).launcher(launches));
        String token = launches.next().request().token();
        Dispatcher dispatcher = startHeld(member(CapacityPolicy.between(0, 1)).launcher(launches));
        assertThat(isAccepting(dispatcher)).as("before it has read the ledger").isFalse();
        Await.until(
                "the slot of the worker is known",
                () -> dispatcher.fleet().functions().stream().anyMatch(of -> of.workers() == 1));
        assertThat(isAccepting(dispatcher)).as("while the others have a worker").isFalse();
        assertThat(dispatcher.isReady()).as("for a load balancer").isTrue();

        try (ScriptedWorker worker = new ScriptedWorker(loops, owner.workerAddress(), token)) {
            worker.ready(2, 1, true);
            AtomicReference<ScriptedWorker> same = new AtomicReference<>();
            Await.until("the worker is admitted here, too", () -> {
                same.set(dial(dispatcher, token));
                return same.get() != null;
            });
            Await.until("it accepts clients", () -> isAccepting(dispatcher));
            same.get().close();
        }
    }

    /** A dispatcher without a ledger is one that does not know of others. */
    @Test
    void should_be_ready_and_accept_clients_although_the_ledger_fails_from_the_start() throws Exception {
        CutLedger unreachable = new CutLedger(Ledger.inMemory(entries));
        unreachable.setCutOff(true);

        Dispatcher dispatcher = startHeld(
                builder(CapacityPolicy.between(0, 1)).ledger(unreachable).launcher(launches));

        assertThat(dispatcher.isReady()).as("at the start").isTrue();
        Await.until("it accepts clients", () -> isAccepting(dispatcher));
    }
}
