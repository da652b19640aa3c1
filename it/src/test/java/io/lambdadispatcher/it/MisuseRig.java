package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.AppenderBase;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;
import org.slf4j.LoggerFactory;

/** A dispatcher with a worker that are used incorrectly, and the errors that the program gets. */
final class MisuseRig implements AutoCloseable {
    static final String SECRET = "sixteen bytes at least";
    static final ListenerOptions ANY_PORT = ListenerOptions.plain("127.0.0.1", 0);
    private static final int NEIGHBOURS = 10;
    private static final int WAIT_SECONDS = 20;

    /** The dispatcher's and the worker's lines of the log, see {@link Log}. */
    final Queue<String> logged = new ConcurrentLinkedQueue<>();

    final Dispatcher dispatcher;
    private final Log log = new Log();
    private final Worker worker;
    private volatile Handler wrong = (request, response) -> {};

    MisuseRig() {
        Logger root = (Logger) LoggerFactory.getLogger("io.lambdadispatcher");
        log.setContext(root.getLoggerContext());
        log.start();
        root.addAppender(log);
        ((Logger) LoggerFactory.getLogger("io.lambdadispatcher.worker.internal.exchange.FailureLog"))
                .setLevel(Level.TRACE);
        dispatcher = dispatcher(with -> with);
        worker = worker(dispatcher, this::serve);
    }

    @Override
    public void close() {
        ((Logger) LoggerFactory.getLogger("io.lambdadispatcher")).detachAppender(log);
        worker.close();
        dispatcher.close();
    }

    /**
     * Keeps log lines at WARN and above, and all failures of handlers. The dispatcher logs only one
     * such failure per second as a warning.
     */
    private final class Log extends AppenderBase<ILoggingEvent> {
        @Override
        protected void append(ILoggingEvent event) {
            boolean failure = event.getLoggerName().endsWith("FailureLog");
            if (event.getLevel().isGreaterOrEqual(Level.WARN) || failure) {
                IThrowableProxy cause = event.getThrowableProxy();
                String text =
                        event.getFormattedMessage().replace(". Further failures within 1 s are logged at TRACE.", "");
                logged.add(
                        text + (cause == null ? "" : ": " + simple(cause.getClassName()) + ": " + cause.getMessage()));
            }
        }
    }

    private void serve(Request request, Response response) throws Exception {
        switch (request.path()) {
            case "/ok" -> response.respond(200, "fine");
            case "/slow" -> request.body().readAll(1 << 20, body -> response.respond(200, body.length + " bytes"));
            case "/long" -> {
                response.head(200);
                response.write(bytes(100_000));
            }
            case "/wrong" -> wrong.handle(request, response);
            default -> throw new IllegalStateException("no handler " + request.path());
        }
    }

    static Dispatcher dispatcher(UnaryOperator<DispatcherBuilder> change) {
        return change.apply(Dispatcher.builder()
                        .function(FunctionOptions.builder("f")
                                .workerTimeout(Duration.ofSeconds(2))
                                .queue(100, Duration.ofMillis(500))
                                .build())
                        .workerListener(ANY_PORT)
                        .eventLoops(1)
                        .limits(HttpLimits.builder()
                                .writeTimeout(Duration.ofMillis(500))
                                .build())
                        .secret(SECRET))
                .start();
    }

    static WorkerConfig.Builder config(String function, String secret, InetSocketAddress... dispatchers) {
        return WorkerConfig.builder(function, new Credential.Secret(secret), List.of(dispatchers))
                .plain();
    }

    static Worker worker(Dispatcher to, Handler handler) {
        WorkerConfig config =
                config("f", SECRET, to.workerAddress()).streams(50).build();
        Worker started = new Worker(config, handler).start();
        started.ready()
                .toCompletableFuture()
                .orTimeout(WAIT_SECONDS, TimeUnit.SECONDS)
                .join();
        return started;
    }

    static ByteBuf bytes(int count) {
        return ByteBufAllocator.DEFAULT.directBuffer(Math.max(1, count)).writeZero(count);
    }

    static <T> T fail(String message) {
        throw new IllegalStateException(message);
    }

    // The error that the caller gets.

    private static String simple(String className) {
        return className.substring(className.lastIndexOf('.') + 1);
    }

    private static String told(Throwable thrown) {
        Throwable cause = thrown instanceof CompletionException || thrown instanceof ExecutionException
                ? thrown.getCause()
                : thrown;
        return simple(cause.getClass().getName()) + ": " + cause.getMessage();
    }

    /** Returns what the call throws. */
    static String thrown(Callable<?> wrong) {
        try {
            Object result = wrong.call();
            if (result instanceof AutoCloseable open) {
                open.close();
            }
            throw new AssertionError("nothing was thrown, but " + result);
        } catch (Exception e) {
            return told(e);
        }
    }

    static <T> T await(CompletionStage<T> stage) throws Exception {
        return stage.toCompletableFuture().get(WAIT_SECONDS, TimeUnit.SECONDS);
    }

    static String failure(CompletionStage<?> stage) throws Exception {
        return told(await(stage.handle((value, error) -> error)));
    }

    static String answer(CompletionStage<DispatchResponse> response) throws Exception {
        try {
            DispatchResponse head = await(response);
            String body = await(head.bodyAsString());
            return head.status() + (body.isEmpty() ? "" : " \"" + body.strip() + "\"");
        } catch (ExecutionException e) {
            return told(e);
        } catch (TimeoutException e) {
            throw new AssertionError("it hangs", e);
        }
    }

    CompletionStage<DispatchResponse> send(DispatchRequest.Builder request) {
        return dispatcher.dispatch(request.build());
    }

    private void addNeighbours(List<CompletionStage<String>> neighbours) {
        for (int i = 0; i < NEIGHBOURS / 2; i++) {
            neighbours.add(send(DispatchRequest.post("/ok")).thenCompose(DispatchResponse::bodyAsString));
        }
    }

    /** Returns the response to a request, while other requests are served concurrently. */
    String beside(Callable<CompletionStage<DispatchResponse>> request) throws Exception {
        List<CompletionStage<String>> neighbours = new ArrayList<>();
        addNeighbours(neighbours);
        String told;
        try {
            CompletionStage<DispatchResponse> response = request.call();
            addNeighbours(neighbours);
            told = answer(response);
        } catch (RuntimeException e) {
            told = "thrown by the call: " + told(e);
        }
        for (CompletionStage<String> neighbour : neighbours) {
            assertThat(await(neighbour)).isEqualTo("fine");
        }
        assertThat(answer(send(DispatchRequest.post("/ok")))).isEqualTo("200 \"fine\"");
        return told;
    }

    /**
     * Returns the response to a request for {@code /wrong}, and what the handler's failure logs.
     *
     * @param expected number of lines of the log that can arrive after the response, because
     *     another thread writes them
     */
    String handled(DispatchRequest.Builder request, Handler handler, int expected) throws Exception {
        wrong = handler;
        String told = beside(() -> send(request));
        Await.until("lines of the log", () -> logged.size() >= expected);
        String lines = String.join("; ", logged.stream().distinct().toList());
        return "client: " + told + (lines.isEmpty() ? "" : "<br>log: " + lines);
    }
}
