package io.lambdadispatcher.it;

import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import io.grpc.ManagedChannelBuilder;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.testing.integration.AbstractInteropTest;
import io.grpc.testing.integration.TestServiceImpl;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/**
 * Runs the interoperability cases of grpc-java. Its client connects to the dispatcher. Its server
 * is an h2c application, to which the worker relays. Cases that need access to the transport, that
 * use credentials, or that check census metrics are left out.
 */
@Timeout(300)
class GrpcIT {
    /** For the very large cases. gRPC's default is 4 MiB. */
    private static final int MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

    private static final ScheduledExecutorService threads = Executors.newScheduledThreadPool(4);

    private static Rig rig;
    private static Server server;

    @BeforeAll
    static void start() throws Exception {
        server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
                .maxInboundMessageSize(MAX_MESSAGE_BYTES)
                .addService(ServerInterceptors.intercept(new TestServiceImpl(threads), TestServiceImpl.interceptors()))
                .build()
                .start();
        rig = Rig.start();
        rig.worker(
                2,
                25,
                Map.of(
                        "LAMBDA_DISPATCHER_WEB_PORT",
                        Integer.toString(server.getPort()),
                        "LAMBDA_DISPATCHER_WEB_PROTOCOL",
                        "h2c"));
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
        server.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
        threads.shutdownNow();
    }

    @AfterEach
    void should_leave_nothing_behind() {
        rig.awaitAllFree();
    }

    /** The cases. Each uses its own channel. */
    private static final class Cases extends AbstractInteropTest {
        private final boolean tls;

        Cases(boolean tls) {
            this.tls = tls;
        }

        @Override
        protected ManagedChannelBuilder<?> createChannelBuilder() {
            return builder().maxInboundMessageSize(MAX_MESSAGE_BYTES);
        }

        private NettyChannelBuilder builder() {
            try {
                if (tls) {
                    return NettyChannelBuilder.forAddress(
                                    "localhost", rig.https("/").getPort())
                            .sslContext(GrpcSslContexts.forClient()
                                    .trustManager(rig.certificateFile().toFile())
                                    .build());
                }
                return NettyChannelBuilder.forAddress("127.0.0.1", rig.plainPort())
                        .usePlaintext();
            } catch (Exception e) {
                throw new IllegalStateException("no channel", e);
            }
        }

        /** gRPC's default is a few seconds. */
        @Override
        protected int operationTimeoutMillis() {
            return 60_000;
        }

        @Override
        protected boolean metricsExpected() {
            return false;
        }
    }

    private interface Case {
        void run(Cases cases) throws Exception;
    }

    private static DynamicTest test(String name, boolean tls, Case of) {
        Executable run = () -> {
            Cases cases = new Cases(tls);
            cases.setUp();
            try {
                of.run(cases);
            } finally {
                cases.tearDown();
            }
        };
        return dynamicTest(name + (tls ? " over TLS" : ""), run);
    }

    @TestFactory
    Stream<DynamicTest> should_pass_the_interoperability_cases() {
        return Stream.of(false, true).flatMap(GrpcIT::all);
    }

    private static Stream<DynamicTest> all(boolean tls) {
        return Stream.of(
                test("empty_unary", tls, AbstractInteropTest::emptyUnary),
                test("large_unary", tls, AbstractInteropTest::largeUnary),
                test("server_compressed_unary", tls, AbstractInteropTest::serverCompressedUnary),
                test("server_compressed_streaming", tls, AbstractInteropTest::serverCompressedStreaming),
                test("exchange_metadata_unary", tls, AbstractInteropTest::exchangeMetadataUnaryCall),
                test("exchange_metadata_streaming", tls, AbstractInteropTest::exchangeMetadataStreamingCall),
                test("graceful_shutdown", tls, AbstractInteropTest::gracefulShutdown),
                test("very_large_request", tls, AbstractInteropTest::veryLargeRequest),
                test("very_large_response", tls, AbstractInteropTest::veryLargeResponse),
                test("client_streaming", tls, AbstractInteropTest::clientStreaming),
                test("server_streaming", tls, AbstractInteropTest::serverStreaming),
                test("flow_controlled", tls, AbstractInteropTest::serverStreamingShouldBeFlowControlled),
                test("ping_pong", tls, AbstractInteropTest::pingPong),
                test("empty_stream", tls, AbstractInteropTest::emptyStream),
                test("full_duplex", tls, AbstractInteropTest::fullDuplexCallShouldSucceed),
                test("half_duplex", tls, AbstractInteropTest::halfDuplexCallShouldSucceed),
                test("cancel_after_begin", tls, AbstractInteropTest::cancelAfterBegin),
                test("cancel_after_first_response", tls, AbstractInteropTest::cancelAfterFirstResponse),
                test("timeout_on_sleeping_server", tls, AbstractInteropTest::timeoutOnSleepingServer),
                test("deadline_not_exceeded", tls, AbstractInteropTest::deadlineNotExceeded),
                test("deadline_exceeded", tls, AbstractInteropTest::deadlineExceeded),
                test("deadline_exceeded_server_streaming", tls, AbstractInteropTest::deadlineExceededServerStreaming),
                test("custom_metadata", tls, AbstractInteropTest::customMetadata),
                test("status_code_and_message", tls, AbstractInteropTest::statusCodeAndMessage),
                test("special_status_message", tls, AbstractInteropTest::specialStatusMessage),
                test("unimplemented_method", tls, AbstractInteropTest::unimplementedMethod),
                test("unimplemented_service", tls, AbstractInteropTest::unimplementedService));
    }
}
