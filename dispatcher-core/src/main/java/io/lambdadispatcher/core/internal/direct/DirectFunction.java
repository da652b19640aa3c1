package io.lambdadispatcher.core.internal.direct;

import io.lambdadispatcher.core.internal.exchange.ClientShares;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestAdmission;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.InvokeException;
import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.wire.http.PrintableText;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The state that all direct calls of one function share. Any thread. */
public final class DirectFunction {
    private static final Logger log = LoggerFactory.getLogger(DirectFunction.class);

    private final String name;
    private final DirectOptions options;
    private final FunctionInvoker invoker;
    private final EventWriter events;
    private final ResponseReader responses;
    private final AtomicInteger calls = new AtomicInteger();
    private final LongAdder invokedNanos = new LongAdder();
    private volatile boolean permitsOverflow = true;
    private final ClientShares shares = new ClientShares();
    private final RequestAdmission admission;
    private final AtomicInteger openBodies = new AtomicInteger();
    private final AtomicReference<InvokeException.@Nullable Reason> lastProblem = new AtomicReference<>();

    public DirectFunction(String name, DirectOptions options, FunctionInvoker invoker) {
        this.name = name;
        this.admission = new RequestAdmission(name);
        this.options = options;
        this.invoker = invoker;
        this.events = EventWriter.of(format(options.format()), name);
        this.responses = new ResponseReader(
                format(options.format()),
                loss -> log.warn(
                        "function {}: {}. Set function.event-format to the format of the responses. Further losses"
                                + " are not logged.",
                        name,
                        loss));
    }

    private static EventFormat format(DirectEventFormat format) {
        return switch (format) {
            case ALB -> EventFormat.ALB;
            case ALB_MULTI_VALUE -> EventFormat.ALB_MULTI_VALUE;
            case HTTP_API_V2 -> EventFormat.HTTP_API_V2;
            case REST_API -> EventFormat.REST_API;
            case FUNCTION_URL -> EventFormat.FUNCTION_URL;
        };
    }

    String name() {
        return name;
    }

    RequestAdmission admission() {
        return admission;
    }

    public DirectOptions options() {
        return options;
    }

    FunctionInvoker invoker() {
        return invoker;
    }

    EventWriter events() {
        return events;
    }

    ResponseReader responses() {
        return responses;
    }

    /**
     * Counts a request whose body is incomplete. Such a request does not count as a call yet. There
     * may be as many open bodies as calls. One client may have at most about half of them, so that
     * it cannot block others with bodies that it does not end.
     *
     * @return false if the client must not open another body; otherwise, {@link #onBodyEnded} must
     *     be called once
     */
    boolean tryBeginBody(Exchange exchange) {
        int others = openBodies.getAndIncrement();
        int free = options.maxConcurrentInvocations() - others;
        boolean begun = free > 0 && exchange.place().hold(exchange.place().share(shares), free);
        if (!begun) {
            openBodies.decrementAndGet();
        }
        return begun;
    }

    /**
     * Ends a body that is complete or whose exchange has ended. Does nothing if it is not counted.
     */
    void onBodyEnded(Exchange exchange) {
        if (exchange.place().release()) {
            openBodies.decrementAndGet();
        }
    }

    void onEnded(Exchange exchange) {
        onBodyEnded(exchange);
        exchange.place().releaseShare(shares);
    }

    /**
     * Counts a call.
     *
     * @return false if the maximum is reached; otherwise, {@link #onCallEnded} must be called once
     */
    boolean tryBeginCall() {
        int now = calls.incrementAndGet();
        if (now > options.maxConcurrentInvocations()) {
            calls.decrementAndGet();
            return false;
        }
        return true;
    }

    void onCallEnded() {
        calls.decrementAndGet();
    }

    /** Returns the number of counted calls, which hold a body, an event or a response. */
    int calls() {
        return calls.get();
    }

    void onInvocationEnd(long nanos) {
        invokedNanos.add(nanos);
    }

    public long invokedNanos() {
        return invokedNanos.sum();
    }

    /**
     * Sets whether requests that wait too long for a worker may be sent directly. Default: {@code
     * true}.
     */
    public void permitOverflow(boolean value) {
        if (permitsOverflow != value) {
            permitsOverflow = value;
        }
    }

    public boolean permitsOverflow() {
        return permitsOverflow;
    }

    void onInvoked() {
        if (lastProblem.get() != null) {
            lastProblem.set(null);
        }
    }

    /**
     * Returns the failure for the client. Logs a warning only if the previous problem was
     * different.
     */
    Failure failure(Throwable error) {
        Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        InvokeException.Reason reason =
                cause instanceof InvokeException problem ? problem.reason() : InvokeException.Reason.UNAVAILABLE;
        boolean ofTheRequest = reason == InvokeException.Reason.TOO_LARGE;
        if (!ofTheRequest && lastProblem.getAndSet(reason) != reason) {
            log.warn("function {} cannot be invoked directly, {}: {}", name, reason, PrintableText.ofFailure(cause));
        } else {
            log.debug("function {} cannot be invoked directly, {}", name, reason, cause);
        }
        return switch (reason) {
            case THROTTLED -> new Failure(Failure.Kind.THROTTLED, "function " + name + " is throttled");
            case NOT_READY ->
                new Failure(Failure.Kind.QUEUE_TIMEOUT, "function " + name + " is still being prepared by AWS");
            case TOO_LARGE -> new Failure(Failure.Kind.TOO_LARGE, "the request is too large for function " + name);
            case TIMED_OUT -> new Failure(Failure.Kind.TIMEOUT, "function " + name + " did not answer in time");
            case NOT_FOUND, REFUSED, UNAVAILABLE ->
                new Failure(Failure.Kind.INVOKE_FAILED, "function " + name + " could not be invoked");
        };
    }
}
