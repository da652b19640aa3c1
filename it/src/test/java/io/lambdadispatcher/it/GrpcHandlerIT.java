package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.lambdadispatcher.wire.testkit.Await;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests how gRPC calls end, with grpc-java's client and a handler without a gRPC library. */
@Timeout(180)
class GrpcHandlerIT {
    private static Rig rig;
    private static ManagedChannel channel;
    private static HttpClient pages;

    @BeforeAll
    static void start() {
        rig = Rig.start();
        pages = rig.client(HttpClient.Version.HTTP_1_1);
        rig.worker(1, 20, Map.of("LAMBDA_DISPATCHER_HANDLER", GrpcHandler.class.getName()));
        channel = NettyChannelBuilder.forAddress("127.0.0.1", rig.plainPort())
                .usePlaintext()
                .build();
    }

    @AfterAll
    static void stop() throws Exception {
        channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
        rig.close();
    }

    @AfterEach
    void should_leave_nothing_behind() {
        rig.awaitAllFree();
    }

    private static final class Text implements MethodDescriptor.Marshaller<String> {
        @Override
        public InputStream stream(String value) {
            return new ByteArrayInputStream(value.getBytes(StandardCharsets.US_ASCII));
        }

        @Override
        public String parse(InputStream stream) {
            try {
                return new String(stream.readAllBytes(), StandardCharsets.US_ASCII);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** A call of any kind. Both sides may send any number of messages. */
    private static final class Call extends ClientCall.Listener<String> {
        final ClientCall<String, String> call;
        final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
        final CompletableFuture<Status> status = new CompletableFuture<>();
        Metadata trailers = new Metadata();

        Call(String method, CallOptions options, Metadata metadata) {
            call = channel.newCall(
                    MethodDescriptor.<String, String>newBuilder()
                            .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                            .setFullMethodName("it.Calls/" + method)
                            .setRequestMarshaller(new Text())
                            .setResponseMarshaller(new Text())
                            .build(),
                    options);
            call.start(this, metadata);
            call.request(1000);
        }

        Call(String method) {
            this(method, CallOptions.DEFAULT, new Metadata());
        }

        @Override
        public void onMessage(String message) {
            messages.add(message);
        }

        @Override
        public void onClose(Status end, Metadata fields) {
            trailers = fields;
            status.complete(end);
        }

        Status status() throws Exception {
            return status.get(60, TimeUnit.SECONDS);
        }

        String next() throws Exception {
            return messages.poll(60, TimeUnit.SECONDS);
        }
    }

    /** Client and handler send messages alternately. Then one half ends, and then the other. */
    @Test
    void should_talk_both_ways_and_end_each_half() throws Exception {
        Call call = new Call("Echo");
        for (int i = 0; i < 10; i++) {
            call.call.sendMessage("message " + i);
            assertThat(call.next()).isEqualTo("message " + i);
        }
        call.call.halfClose();
        assertThat(call.status().getCode()).isEqualTo(Status.Code.OK);
    }

    @Test
    void should_pass_a_response_of_trailers_only() throws Exception {
        Call call = new Call("TrailersOnly");
        assertThat(call.status().getCode()).isEqualTo(Status.Code.NOT_FOUND);
        assertThat(call.status().getDescription()).isEqualTo("not here");
        assertThat(call.messages).isEmpty();
    }

    @Test
    void should_pass_te_timeout_and_binary_metadata() throws Exception {
        Metadata metadata = new Metadata();
        Metadata.Key<byte[]> key = Metadata.Key.of("x-bin-bin", Metadata.BINARY_BYTE_MARSHALLER);
        byte[] value = {0, -1, 127, -128, 10, 13};
        metadata.put(key, value);
        Call call = new Call("Metadata", CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.HOURS), metadata);
        call.call.halfClose();
        assertThat(call.next()).startsWith("trailers ").containsPattern(" \\d+[Hmnu MS]* ");
        assertThat(call.status().getCode()).isEqualTo(Status.Code.OK);
        assertThat(call.trailers.get(key)).isEqualTo(value);
    }

    /** RFC 9113 section 8.1: RST_STREAM (NO_ERROR) after a complete response is no failure. */
    @Test
    void should_take_a_response_that_ends_before_the_request() throws Exception {
        Call call = new Call("Early");
        call.call.sendMessage("first");
        assertThat(call.next()).isEqualTo("enough");
        assertThat(call.status().getCode()).isEqualTo(Status.Code.FAILED_PRECONDITION);
        assertThat(call.status().getDescription()).isEqualTo("no more");
    }

    @ParameterizedTest
    @CsvSource({"CANCELLED, CANCELLED", "HANDLER_FAILED, INTERNAL", "INTERNAL, INTERNAL"})
    void should_tell_the_client_why_a_call_broke_off(String reset, Status.Code seen) throws Exception {
        Call call = new Call("Reset-" + reset);
        call.call.sendMessage("first");
        assertThat(call.status().getCode()).isEqualTo(seen);
    }

    /** The client sees HTTP's 500, which gRPC maps to UNKNOWN. */
    @Test
    void should_tell_the_client_of_a_handler_that_fails_before_its_head() throws Exception {
        assertThat(new Call("Throw").status().getCode()).isEqualTo(Status.Code.UNKNOWN);
    }

    @Test
    void should_tell_the_handler_of_a_cancelled_call() throws Exception {
        Call call = new Call("Cancelled");
        call.call.sendMessage("first");
        Await.until(
                "the call is in flight", () -> rig.pool().free() < rig.pool().streams());
        call.call.cancel("enough", null);
        Await.until("the handler knows", () -> ends().contains("Cancelled=CANCELLED"));
    }

    /** An earlier call has opened the connection, so this call reaches the handler in time. */
    @Test
    void should_tell_the_handler_of_a_deadline_that_the_client_keeps() throws Exception {
        new Call("TrailersOnly").status();
        Call call = new Call("Late", CallOptions.DEFAULT.withDeadlineAfter(3, TimeUnit.SECONDS), new Metadata());
        call.call.sendMessage("first");
        assertThat(call.status().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
        Await.until("the handler knows", () -> ends().contains("Late=CANCELLED"));
    }

    private static String ends() {
        try {
            return pages.send(HttpRequest.newBuilder(rig.http("/it.Calls/Ends")).build(), BodyHandlers.ofString())
                    .body();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
