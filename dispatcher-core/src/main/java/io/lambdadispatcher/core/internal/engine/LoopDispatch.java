package io.lambdadispatcher.core.internal.engine;

import io.lambdadispatcher.core.internal.embed.EmbeddedExchange;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.ExchangeOwner;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.UnsentExchange;
import io.lambdadispatcher.core.internal.filter.FilterLoop;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.AmbiguousPathException;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the function for a request. There is one for each event loop. Confined to it, except the
 * methods that say otherwise.
 */
final class LoopDispatch implements ExchangeOpener {
    private static final Logger log = LoggerFactory.getLogger(LoopDispatch.class);
    private static final RequestSink NOWHERE = new DiscardingSink();
    private static final long LOOK_MILLIS = 20;

    /** Of responses to filters. */
    private static final Duration UNREAD_TIMEOUT = Duration.ofSeconds(30);

    private static final String NOT_THE_WORKER_PORT = "this is not the worker port. Workers must dial the worker port";

    private final EventLoop loop;
    private volatile RequestRouter router;
    private final Map<String, FunctionOpener> unfiltered;
    private final Map<String, FunctionOpener> functions;
    private final Map<String, FunctionOpener> filtered;
    private final List<ExchangeOwner> owners;
    private final FilterLoop filters;
    private final DispatcherObserver observer;

    /** Exchanges of the embedding program whose owners have forgotten them, but that are unread. */
    private final DeadlineQueue<EmbeddedExchange> undelivered;

    private @Nullable Failure closed;

    /**
     * @param unfiltered the functions themselves
     * @param functions the same functions behind the program's filters
     * @param filtered the same functions behind all filters
     * @param owners owners of all exchanges that {@code unfiltered} open
     */
    LoopDispatch(
            EventLoop loop,
            RequestRouter router,
            Map<String, FunctionOpener> unfiltered,
            Map<String, FunctionOpener> functions,
            Map<String, FunctionOpener> filtered,
            List<ExchangeOwner> owners,
            FilterLoop filters,
            DispatcherObserver observer) {
        this.loop = loop;
        this.router = router;
        this.unfiltered = unfiltered;
        this.functions = functions;
        this.filtered = filtered;
        this.owners = owners;
        this.filters = filters;
        this.observer = observer;
        // They expire by the timer of an unread body, or not at all.
        this.undelivered = new DeadlineQueue<>(loop, 0, exchange -> {});
    }

    /**
     * Sends a request of the embedding program, see {@link EmbeddedExchange#start}. Any thread.
     *
     * @param first this, or the filters before it
     */
    CompletionStage<DispatchResponse> dispatch(ExchangeOpener first, DispatchRequest request, Duration unreadTimeout) {
        return EmbeddedExchange.start(loop, first, request, null, unreadTimeout, undelivered);
    }

    /**
     * Sends a request of a filter to a function, past the router and all filters. Any thread.
     *
     * @param client whose request it is, if it names no client
     */
    CompletionStage<DispatchResponse> send(String function, DispatchRequest request, Object client) {
        ExchangeOpener first = (head, end, response) -> openUnfiltered(function, head, end, response);
        return EmbeddedExchange.start(loop, first, request, client, UNREAD_TIMEOUT, undelivered);
    }

    private RequestSink openUnfiltered(String function, Http2Headers head, boolean end, ResponseSink response) {
        FunctionOpener opener = unfiltered.get(function);
        if (closed != null) {
            return fail(function, head, response, closed);
        }
        return opener == null
                ? fail(null, head, response, new Failure(Failure.Kind.NO_FUNCTION, "no function " + function))
                : opener.open(head, end, response, opener.policy().withoutFilters());
    }

    /** Replaces the router of later requests. Any thread. */
    void setRouter(RequestRouter value) {
        router = value;
    }

    /**
     * Replaces the options of a function for later requests. Any thread.
     *
     * @param then runs on the event loop, when it uses the options
     */
    void setOptions(FunctionOptions options) {
        Loops.execute(
                loop,
                () -> owners.stream()
                        .filter(owner -> owner.function().equals(options.name()))
                        .forEach(owner -> owner.setOptions(options)));
    }

    /**
     * Completes when no exchange except tunnels is left, and the embedding program has read its
     * responses, or when it has ended the event loop. Any thread.
     */
    CompletableFuture<Void> quiet() {
        CompletableFuture<Void> quiet = new CompletableFuture<>();
        if (!Loops.execute(loop, () -> awaitQuiet(quiet))) {
            quiet.complete(null);
        }
        return quiet;
    }

    /**
     * Checks every 20 ms until no exchange is left, except tunnels. Exchanges do not notify it,
     * because this happens only once in the dispatcher's life.
     */
    private void awaitQuiet(CompletableFuture<Void> quiet) {
        if (undelivered.size() == 0 && filters.isQuiet() && owners.stream().allMatch(ExchangeOwner::isQuiet)) {
            quiet.complete(null);
        } else {
            loop.schedule(() -> awaitQuiet(quiet), LOOK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /**
     * Fails every exchange that is queued, and every later request. Any thread.
     *
     * @return whether one was queued
     */
    CompletableFuture<Boolean> failQueued(Failure failure) {
        return onLoop(() -> {
            closed = failure;
            return owners.stream().filter(owner -> owner.failQueued(failure)).count() > 0;
        });
    }

    /**
     * Fails every exchange that has not ended, every response that the embedding program has not
     * read, and every later request. Runs after the tasks that
     * other event loops have already submitted. Any thread.
     *
     * @return whether an exchange failed, except tunnels
     */
    CompletableFuture<Boolean> failAll(Failure failure) {
        return onLoop(() -> {
            closed = failure;
            boolean any = !filters.isQuiet() || !owners.stream().allMatch(ExchangeOwner::isQuiet);
            filters.failAll(failure);
            owners.forEach(owner -> owner.failAll(failure));
            for (EmbeddedExchange left = undelivered.poll(); left != null; left = undelivered.poll()) {
                left.failUndelivered(failure);
            }
            return any;
        });
    }

    private <T> CompletableFuture<T> onLoop(Supplier<T> action) {
        try {
            return CompletableFuture.supplyAsync(action, loop);
        } catch (RejectedExecutionException e) {
            // The embedding program has ended the event loop.
            return CompletableFuture.failedFuture(e);
        }
    }

    /**
     * Returns the oldest requests of this event loop, at most {@code limit} of each function and
     * state. Any thread.
     */
    CompletableFuture<List<RequestSnapshot>> requests(int limit) {
        return onLoop(() -> {
            List<RequestSnapshot> found = new ArrayList<>();
            owners.forEach(owner -> owner.inspect(limit, found::add));
            return found;
        });
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response) {
        assert loop.inEventLoop();
        if (AsciiString.contentEquals(head.path(), Endpoints.CONTROL_PATH)) {
            return fail(null, head, response, new Failure(Failure.Kind.NO_FUNCTION, NOT_THE_WORKER_PORT));
        }
        RouteTarget target;
        try {
            target = router.route(head);
        } catch (AmbiguousPathException e) {
            return fail(null, head, response, new Failure(Failure.Kind.BAD_REQUEST, String.valueOf(e.getMessage())));
        } catch (Throwable e) {
            log.error("the router threw an exception for {} {}", head.method(), head.path(), e);
            return fail(null, head, response, new Failure(Failure.Kind.ROUTER_FAILED, "the router failed"));
        }
        String function = target == null ? null : target.function();
        FunctionOpener opener = function == null ? null : functions.get(function);
        if (function != null) {
            response.requester().onRouted(function);
        }
        if (closed != null) {
            return fail(function, head, response, closed);
        }
        if (target == null || opener == null) {
            return fail(
                    function,
                    head,
                    response,
                    new Failure(Failure.Kind.NO_FUNCTION, "no function matches " + HeaderText.decode(head.path())));
        }
        TrafficPolicy ofRoute = target.policy();
        TrafficPolicy policy = ofRoute == null ? opener.policy() : ofRoute;
        FunctionOpener first = policy.isFiltered() ? Objects.requireNonNull(filtered.get(function), function) : opener;
        return first.open(head, end, response, policy);
    }

    @Override
    public RequestSink refuse(Http2Headers head, ResponseSink response, Failure failure) {
        return fail(null, head, response, failure);
    }

    private RequestSink fail(@Nullable String function, Http2Headers head, ResponseSink response, Failure failure) {
        if (observer != DispatcherObserver.NONE) {
            new UnsentExchange(function, head, response).reportFailed(observer, failure);
        }
        response.onFailure(failure);
        return NOWHERE;
    }
}
