package io.lambdadispatcher.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.blocking.BlockingRequest;
import io.lambdadispatcher.worker.blocking.BlockingResponse;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("each-release")
@LambdaDispatcherTest(LambdaDispatcherTestTest.Greeter.class)
class LambdaDispatcherTestTest {
    static final class Greeter implements BlockingHandler {
        @Override
        public void handle(BlockingRequest request, BlockingResponse response) throws IOException {
            response.header("x-path", request.path()).respond(200, "hello");
        }
    }

    @Test
    void should_give_a_dispatcher_with_a_worker_that_serves_the_handler(TestDispatcher dispatcher) throws Exception {
        TestAnswer answer = dispatcher.get("/world");
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.text()).isEqualTo("hello");
        assertThat(answer.header("x-path")).isEqualTo("/world");
        HttpResponse<String> overHttp = HttpClient.newHttpClient()
                .send(HttpRequest.newBuilder(dispatcher.uri("/x")).build(), HttpResponse.BodyHandlers.ofString());
        assertThat(overHttp.body()).isEqualTo("hello");
    }

    static final class Farewell implements BlockingHandler {
        @Override
        public void handle(BlockingRequest request, BlockingResponse response) throws IOException {
            response.respond(200, "bye");
        }
    }

    @LambdaDispatcherTest(Farewell.class)
    abstract static class Base {}

    @Nested
    class OfBase extends Base {
        @Test
        void should_serve_the_handler_of_a_superclass(TestDispatcher dispatcher) {
            assertThat(dispatcher.get("/").text()).isEqualTo("bye");
        }
    }

    @Nested
    class Inner {
        @Test
        void should_give_nested_classes_the_same_dispatcher(TestDispatcher dispatcher) {
            assertThat(dispatcher.get("/").text()).isEqualTo("hello");
        }
    }
}
