package io.lambdadispatcher.core.request;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A request of an embedder. The rules that hold for clients' requests hold here, too: hop-by-hop
 * headers, {@code host} and {@code expect} are not passed on, and the body must be as long as its
 * {@code content-length} says, or the response fails with {@code BAD_REQUEST}. Forwarding headers
 * are the embedder's business.
 *
 * @param head with {@code :method}, {@code :scheme}, {@code :authority}, {@code :path} and
 *     lower-case field names; not changed afterwards
 * @param body {@code null} = none. Subscribed to once, at once; asked for more as the worker takes
 *     what came. Each buffer is owned by the dispatcher from {@code onNext} on. {@code onError}
 *     breaks the request off
 * @param trailers sent after the body if the stage is complete by then with fields; {@code null} =
 *     none
 * @param client names the client for whom the request is made, for fairness between clients. {@code
 *     null} = it is made for the embedding program itself, which is trusted: its requests take
 *     turns with those of other clients, and no share limits them
 */
public record DispatchRequest(
        Http2Headers head,
        Flow.@Nullable Publisher<ByteBuf> body,
        @Nullable CompletionStage<Http2Headers> trailers,
        @Nullable String client) {

    /** Without a body. */
    public static DispatchRequest of(String method, String authority, String path) {
        return new DispatchRequest(
                new DefaultHttp2Headers(false)
                        .method(method)
                        .scheme("http")
                        .authority(authority)
                        .path(path),
                null,
                null,
                null);
    }

    public DispatchRequest withBody(Flow.Publisher<ByteBuf> publisher) {
        return new DispatchRequest(head, publisher, trailers, client);
    }

    public DispatchRequest withClient(String name) {
        return new DispatchRequest(head, body, trailers, name);
    }

    /** Changes the head in place. */
    public DispatchRequest header(CharSequence name, CharSequence value) {
        head.add(name, value);
        return this;
    }
}
