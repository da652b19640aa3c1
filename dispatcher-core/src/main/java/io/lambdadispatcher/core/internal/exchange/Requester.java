package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** Who has sent a request. Client's event loop only. */
public interface Requester {
    /** Key of all requests of the embedding program that name no client. */
    Object EMBEDDER = new Object();

    Requester EMBEDDING_PROGRAM = new Known(EMBEDDER, null, ClientProtocol.EMBEDDED);

    /**
     * Returns a key that is equal for all requests of one client, and only for those. Called only
     * if the request is queued, if its body does not arrive together with its headers, or if it
     * passes a filter of the program.
     *
     * @param head request headers, as in {@link ExchangeOpener#open}
     */
    Object key(Http2Headers head);

    /**
     * Returns the client's address, which a load balancer may have named; {@code null} for the
     * embedding program.
     */
    @Nullable
    SocketAddress remoteAddress();

    ClientProtocol protocol();

    /** Tells which function gets the request, before all calls of its {@link ResponseSink}. */
    default void onRouted(String function) {}

    /**
     * Hands over the exchange of the previous request, which has ended and can serve this one;
     * {@code null} if there is none.
     */
    default @Nullable Exchange takeEndedExchange() {
        return null;
    }

    /** Returns what is known now. The client's side may serve another request later. */
    default Requester copy(Http2Headers head) {
        return new Known(key(head), remoteAddress(), protocol());
    }

    /** Returns a client that the embedding program has named with this key. */
    static Requester named(Object key) {
        return new Known(key, null, ClientProtocol.EMBEDDED);
    }

    /** A requester that does not change. */
    record Known(Object key, @Nullable SocketAddress remoteAddress, ClientProtocol protocol) implements Requester {
        @Override
        public Object key(Http2Headers head) {
            return key;
        }
    }
}
