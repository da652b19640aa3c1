package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.policy.DeadlineHeaders;
import io.lambdadispatcher.core.internal.policy.DeadlineRule;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HeaderText;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A request as its filters see it. The client's side may still read the headers that it has passed
 * on, so the first change makes a copy. Confined to the client's event loop, except {@link
 * #send} and {@link #report}.
 */
final class FilterContext implements RequestContext {
    private final FilterLoop home;

    /** A copy: when a filter sends, the client's side may serve its next request. */
    private final Requester requester;

    private Http2Headers head;
    private boolean copied;
    private @Nullable String function;
    private @Nullable FilteredRequest current;
    private TrafficPolicy policy = TrafficPolicy.NEUTRAL;
    private boolean body;

    /** How long filters before the router have waited. */
    private long unroutedNanos;

    private @Nullable Map<String, Object> attributes;

    FilterContext(Http2Headers head, ResponseSink client, FilterLoop home) {
        this.head = head;
        this.home = home;
        requester = client.requester().copy(head);
    }

    /** The router has chosen. It may have replaced the path. */
    void setFunction(@Nullable String value) {
        function = value;
    }

    /** The request is at this filter. */
    void enter(FilteredRequest request, TrafficPolicy its, boolean hasBody) {
        current = request;
        policy = its;
        body = hasBody;
    }

    Requester requester() {
        return requester;
    }

    /** Returns the policy with less time, because a filter has waited. Its headers say so, too. */
    TrafficPolicy rest(TrafficPolicy policy, long waitedNanos) {
        if (function == null) {
            // No policy is known yet.
            unroutedNanos += waitedNanos;
            return policy;
        }
        return shortened(policy, waitedNanos);
    }

    /** Returns the policy that the router has chosen, with the time that is left. */
    TrafficPolicy routed(TrafficPolicy policy) {
        long waited = unroutedNanos;
        unroutedNanos = 0;
        return waited == 0 ? policy : shortened(policy, waited);
    }

    /** Returns how long the request may take; {@code Long.MAX_VALUE} = nothing limits it. */
    long budgetNanos(TrafficPolicy policy) {
        return policy.isTimed() ? DeadlineHeaders.budgetNanos(policy.deadline(), head) : Long.MAX_VALUE;
    }

    private TrafficPolicy shortened(TrafficPolicy policy, long waitedNanos) {
        DeadlinePolicy deadline = policy.deadline();
        long budget = budgetNanos(policy);
        if (budget == Long.MAX_VALUE) {
            return policy;
        }
        DeadlineHeaders.writeLeft(deadline, ownHead(), Math.max(0, budget - waitedNanos));
        return policy.toBuilder()
                .deadline(DeadlineRule.rest(deadline, deadline, waitedNanos))
                .build();
    }

    /** The headers are passed on. What gets them may keep them, so a later change is not theirs. */
    Http2Headers passOn() {
        copied = false;
        return head;
    }

    Http2Headers head() {
        return head;
    }

    /** Returns the headers for a change. */
    Http2Headers ownHead() {
        if (!copied) {
            head = new FlatHeaders().add(head);
            copied = true;
        }
        return head;
    }

    private static String text(@Nullable CharSequence value) {
        return value == null ? "" : HeaderText.decode(value);
    }

    @Override
    public String method() {
        return text(head.method());
    }

    @Override
    public String scheme() {
        return text(head.scheme());
    }

    @Override
    public boolean hasBody() {
        return body;
    }

    @Override
    public String path() {
        return text(head.path());
    }

    @Override
    public void setPath(String path) {
        CharSequence bytes = HeaderText.bytesOf(path);
        if (!HeaderSyntax.isPath(bytes, method())) {
            throw new IllegalArgumentException("path " + HeaderSyntax.printable(path)
                    + ", expected visible characters that begin with '/' and have no '#', or '*' with OPTIONS");
        }
        ownHead().path(bytes);
    }

    @Override
    public String authority() {
        return text(head.authority());
    }

    @Override
    public HeaderFields headers() {
        return new NettyFields(() -> head, this::ownHead);
    }

    @Override
    public @Nullable SocketAddress remoteAddress() {
        return requester.remoteAddress();
    }

    @Override
    public ClientProtocol protocol() {
        return requester.protocol();
    }

    @Override
    public @Nullable String function() {
        return function;
    }

    @Override
    public <T> @Nullable T policy(Class<T> type) {
        return policy.extension(type);
    }

    @Override
    public List<String> distinguishingHeaders() {
        CharSequence tenant = policy.admission().tenantHeader();
        Affinity affinity = policy.affinity();
        boolean chooses = affinity.kind() == Affinity.Kind.HEADER;
        if (tenant == null) {
            return chooses ? List.of(affinity.name()) : List.of();
        }
        return chooses ? List.of(tenant.toString(), affinity.name()) : List.of(tenant.toString());
    }

    @Override
    public @Nullable String sessionHeader() {
        Affinity affinity = policy.affinity();
        return affinity.kind() == Affinity.Kind.SESSION_HEADER ? affinity.name() : null;
    }

    @Override
    public boolean isBreakerOpen() {
        return current != null && current.stage.isBreakerOpen(policy);
    }

    @Override
    public @Nullable Duration timeLeft() {
        long left = current == null ? Long.MAX_VALUE : current.leftNanos();
        return left == Long.MAX_VALUE ? null : Duration.ofNanos(left);
    }

    @Override
    public Map<String, Object> attributes() {
        if (attributes == null) {
            attributes = new HashMap<>();
        }
        return attributes;
    }

    @Override
    public void report(FilterEvent event) {
        home.observer().onFilterEvent(function, event);
    }

    @Override
    public DispatchRequest.Builder copy() {
        DispatchRequest.Builder copy =
                DispatchRequest.builder(method(), AsciiString.of(head.path())).scheme(scheme());
        if (head.authority() != null) {
            copy.authority(authority());
        }
        head.forEach(field -> {
            if (field.getKey().charAt(0) != ':' && !HttpHeaderNames.CONTENT_LENGTH.contentEquals(field.getKey())) {
                copy.header(field.getKey(), field.getValue());
            }
        });
        return copy;
    }

    @Override
    public CompletionStage<DispatchResponse> send(String to, DispatchRequest request) {
        try {
            return home.send(to, request, requester.key(head));
        } catch (IllegalArgumentException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    @Override
    public void fork(String method, Function<RequestContext, ResponseFilter> follower) {
        FilterStage stage = Objects.requireNonNull(current, "the filter that decides").stage;
        TrafficPolicy its = policy;
        Http2Headers own = new FlatHeaders().add(head);
        own.method(AsciiString.of(method)).remove(HttpHeaderNames.CONTENT_LENGTH);
        home.loop().execute(() -> {
            GoneClient none = new GoneClient(Requester.named(requester.key(own)), null);
            FilterContext copy = new FilterContext(own, none, home);
            stage.fork(copy, none, its, () -> Decision.pass(follower.apply(copy)));
        });
    }
}
