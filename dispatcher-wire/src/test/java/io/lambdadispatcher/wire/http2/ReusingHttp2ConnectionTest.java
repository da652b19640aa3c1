package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReusingHttp2ConnectionTest {
    private final ReusingHttp2Connection connection =
            new ReusingHttp2Connection(new EagerFrameReader(new DefaultHttp2HeadersDecoder()), 10);
    private final Http2Connection.PropertyKey key = connection.newKey();
    private final List<String> events = new ArrayList<>();

    private Http2Stream open(int id) throws Http2Exception {
        return connection.remote().createStream(id, false);
    }

    private void listen() {
        connection.addListener(new Http2ConnectionAdapter() {
            @Override
            public void onStreamAdded(Http2Stream stream) {
                events.add("added " + stream.id());
            }

            @Override
            public void onStreamActive(Http2Stream stream) {
                events.add("active " + stream.id());
            }

            @Override
            public void onStreamHalfClosed(Http2Stream stream) {
                events.add("half closed " + stream.id());
            }

            @Override
            public void onStreamClosed(Http2Stream stream) {
                assertThat(connection.stream(stream.id())).isSameAs(stream);
                events.add("closed " + stream.id() + ", active: " + connection.numActiveStreams());
            }

            @Override
            public void onStreamRemoved(Http2Stream stream) {
                assertThat(connection.stream(stream.id())).isNull();
                events.add("removed " + stream.id());
            }
        });
    }

    @Test
    void should_tell_listeners_of_the_life_of_a_stream() throws Exception {
        listen();
        Http2Stream stream = open(1);
        stream.closeRemoteSide().closeRemoteSide().closeLocalSide().close();
        assertThat(stream.state()).isEqualTo(Http2Stream.State.CLOSED);
        assertThat(events).containsExactly("added 1", "active 1", "half closed 1", "closed 1, active: 0", "removed 1");
    }

    @Test
    void should_reuse_a_stream_without_anything_of_its_past() throws Exception {
        Http2Stream stream = open(1);
        stream.setProperty(key, "mine");
        stream.headersReceived(false).headersReceived(false).headersSent(false).headersSent(false);
        assertThat(stream.isTrailersReceived() && stream.isTrailersSent()).isTrue();
        stream.close();

        Http2Stream next = connection.remote().createStream(5, true);
        assertThat(next).isSameAs(stream);
        assertThat(next.id()).isEqualTo(5);
        assertThat(next.state()).isEqualTo(Http2Stream.State.HALF_CLOSED_REMOTE);
        assertThat(next.<Object>getProperty(key)).isNull();
        assertThat(next.isHeadersSent() || next.isTrailersSent() || next.isTrailersReceived())
                .isFalse();
        assertThat(next.isHeadersReceived()).isTrue();
        next.close();
        assertThat(open(7).isHeadersReceived()).isFalse();
    }

    @Test
    void should_not_reuse_a_stream_that_is_reset_or_that_a_listener_refers_to() throws Exception {
        Http2Stream reset = open(1);
        reset.resetSent().close();
        assertThat(open(3)).isNotSameAs(reset);

        ReusingHttp2Connection.Stream kept = (ReusingHttp2Connection.Stream) open(5);
        kept.keep();
        kept.close();
        assertThat(open(7)).isNotSameAs(kept);
        assertThat(connection.numActiveStreams()).isEqualTo(2);
    }

    @Test
    void should_remove_streams_that_close_during_a_visit_after_it() throws Exception {
        open(1);
        open(3);
        open(5);
        listen();
        List<Integer> visited = new ArrayList<>();
        connection.forEachActiveStream(stream -> {
            visited.add(stream.id());
            connection.stream(3).close();
            connection.stream(5).close();
            assertThat(events).isEmpty();
            return true;
        });
        assertThat(visited).containsExactly(1, 3, 5);
        assertThat(events).containsExactly("closed 3, active: 2", "removed 3", "closed 5, active: 1", "removed 5");

        assertThat(connection.forEachActiveStream(stream -> false).id()).isEqualTo(1);
        assertThat(connection.forEachActiveStream(stream -> true)).isNull();
    }

    @Test
    void should_go_on_when_a_listener_fails() throws Exception {
        connection.addListener(new Http2ConnectionAdapter() {
            @Override
            public void onStreamClosed(Http2Stream stream) {
                throw new IllegalStateException("of the test");
            }
        });
        listen();
        open(1).close();
        assertThat(events).endsWith("closed 1, active: 0", "removed 1");
    }

    @Test
    void should_refuse_streams_that_the_client_must_not_open() throws Exception {
        open(5);
        assertThat(error(2).error()).isEqualTo(Http2Error.PROTOCOL_ERROR);
        assertThat(Http2Exception.isStreamError(error(2))).isFalse();
        assertThat(error(3)).isInstanceOf(Http2Exception.ClosedStreamCreationException.class);
        assertThat(error(5)).isInstanceOf(Http2Exception.ClosedStreamCreationException.class);

        connection.remote().maxActiveStreams(1);
        assertThat(connection.remote().canOpenStream()).isFalse();
        assertThat(error(7).error()).isEqualTo(Http2Error.REFUSED_STREAM);
        assertThat(Http2Exception.isStreamError(error(7))).isTrue();
        connection.remote().maxActiveStreams(2);
        open(7).close();
        open(Integer.MAX_VALUE).close();
        assertThat(error(9).shutdownHint()).isEqualTo(Http2Exception.ShutdownHint.GRACEFUL_SHUTDOWN);
        assertThat(connection.remote().lastStreamCreated()).isEqualTo(Integer.MAX_VALUE);
    }

    private Http2Exception error(int id) {
        return catchThrowableOfType(Http2Exception.class, () -> open(id));
    }

    @Test
    void should_open_and_push_no_stream_itself() {
        assertThatThrownBy(() -> connection.local().createStream(2, false)).isInstanceOf(Http2Exception.class);
        assertThatThrownBy(() -> connection.local().reservePushStream(2, connection.connectionStream()))
                .isInstanceOf(Http2Exception.class);
        assertThat(connection.local().isValidStreamId(2)).isTrue();
        assertThat(connection.local().isValidStreamId(1)).isFalse();
        assertThat(connection.local().mayHaveCreatedStream(2)).isFalse();
        assertThat(connection.streamMayHaveExisted(1)).isFalse();
    }

    @Test
    void should_close_and_refuse_the_streams_above_the_last_one_of_a_goaway() throws Exception {
        Http2Stream first = open(1);
        Http2Stream second = open(3);
        assertThat(connection.goAwaySent(Integer.MAX_VALUE, 0, Unpooled.EMPTY_BUFFER))
                .isTrue();
        assertThat(connection.goAwaySent(1, 0, Unpooled.EMPTY_BUFFER)).isTrue();
        assertThat(connection.goAwaySent(1, 0, Unpooled.EMPTY_BUFFER)).isFalse();
        assertThat(first.state()).isEqualTo(Http2Stream.State.OPEN);
        assertThat(second.state()).isEqualTo(Http2Stream.State.CLOSED);
        assertThat(error(5).error()).isEqualTo(Http2Error.REFUSED_STREAM);
        assertThatThrownBy(() -> connection.goAwaySent(3, 0, Unpooled.EMPTY_BUFFER))
                .isInstanceOf(Http2Exception.class);

        connection.goAwayReceived(4, 0, Unpooled.EMPTY_BUFFER);
        assertThat(connection.goAwayReceived()).isTrue();
        assertThatThrownBy(() -> connection.goAwayReceived(6, 0, Unpooled.EMPTY_BUFFER))
                .isInstanceOf(Http2Exception.class);
    }

    @Test
    void should_close_all_streams_with_the_connection() throws Exception {
        open(1);
        open(3);
        Promise<Void> closed = ImmediateEventExecutor.INSTANCE.newPromise();
        connection.close(closed);
        assertThat(closed.isSuccess()).isTrue();
        assertThat(connection.numActiveStreams()).isZero();
        assertThat(error(5).error()).isEqualTo(Http2Error.INTERNAL_ERROR);

        Promise<Void> again = ImmediateEventExecutor.INSTANCE.newPromise();
        connection.close(again);
        assertThat(again.isSuccess()).isTrue();
    }

    @Test
    void should_close_all_streams_with_the_connection_during_a_visit() throws Exception {
        open(1);
        open(3);
        Promise<Void> closed = ImmediateEventExecutor.INSTANCE.newPromise();
        connection.forEachActiveStream(stream -> {
            connection.close(closed);
            assertThat(closed.isDone()).isFalse();
            return true;
        });
        assertThat(closed.isSuccess()).isTrue();
    }
}
