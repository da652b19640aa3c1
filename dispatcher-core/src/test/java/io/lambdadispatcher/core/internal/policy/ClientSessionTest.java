package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClientSessionTest {
    private static final Affinity MCP = Affinity.sessionHeader("Mcp-Session-Id");
    private static final Affinity COOKIE = Affinity.ownCookie("lb");

    private final SimulatedMember[] workers = {
        new SimulatedMember("a"), new SimulatedMember("b"), new SimulatedMember("c"), new SimulatedMember("d")
    };

    private static Http2Headers head(String... fields) {
        Http2Headers head = new FlatHeaders().method("GET").scheme("https").path("/");
        for (int i = 0; i < fields.length; i += 2) {
            head.add(AsciiString.of(fields[i]), AsciiString.of(fields[i + 1]));
        }
        return head;
    }

    private static ClientSession read(Affinity affinity, Http2Headers head) {
        ClientSession session = ClientSession.of(affinity, head);
        assertThat(session).isNotNull();
        return session;
    }

    private static @Nullable CharSequence marked(
            ClientSession session, String name, Http2Headers response, String workerId) {
        session.mark(response, workerId);
        return response.get(name);
    }

    @Test
    void should_have_no_session_without_affinity_or_without_a_key() {
        assertThat(ClientSession.of(Affinity.NONE, head("x-user", "ann"))).isNull();
        assertThat(ClientSession.of(Affinity.header("x-user"), head())).isNull();
        assertThat(ClientSession.of(Affinity.header("x-user"), head("x-user", "")))
                .isNull();
        assertThat(ClientSession.of(Affinity.cookie("user"), head("cookie", "users=ann")))
                .isNull();
    }

    @Test
    void should_choose_the_same_worker_for_the_same_header_or_cookie() {
        ClientSession byHeader = read(Affinity.header("X-User"), head("x-user", "ann"));
        ClientSession byCookie = read(Affinity.cookie("user"), head("cookie", "a=b; user=ann; c=d"));
        assertThat(byHeader.choose(workers, List.of()))
                .isSameAs(byCookie.choose(workers, List.of()))
                .isNotNull();
        assertThat(byHeader.result()).isEqualTo(SessionResult.KEPT);
        Http2Headers response = head();
        byHeader.mark(response, "a");
        byCookie.mark(response, "a");
        assertThat(response).isEqualTo(head());
    }

    @Test
    void should_choose_the_next_worker_for_a_key_if_the_first_is_full_or_failed() {
        ClientSession session = read(Affinity.header("x-user"), head("x-user", "ann"));
        SimulatedMember first = session.choose(workers, List.of());
        first.streams = 0;
        SimulatedMember second = session.choose(workers, List.of());
        assertThat(second).isNotNull().isNotSameAs(first);
        assertThat(session.result()).isEqualTo(SessionResult.WORKER_FULL);
        first.streams = 1;
        assertThat(session.choose(workers, List.of(first.workerId))).isSameAs(second);
    }

    @Test
    void should_append_the_worker_to_a_session_id_and_remove_it_again() {
        ClientSession created = read(MCP, head());
        workers[0].load = 2;
        workers[1].streams = 0;
        workers[3].load = 1;
        assertThat(created.choose(workers, List.of("c"))).isSameAs(workers[3]);
        assertThat(created.choose(workers, List.of())).isSameAs(workers[2]);
        assertThat(created.result()).isEqualTo(SessionResult.NEW);
        CharSequence id = marked(created, "mcp-session-id", head("mcp-session-id", "4f-2~x"), "c");
        assertThat(id.toString()).matches("4f-2~x~w[0-9a-z]{13}");

        Http2Headers next = head("mcp-session-id", id.toString());
        ClientSession session = read(MCP, next);
        assertThat(next.get("mcp-session-id")).hasToString("4f-2~x");
        assertThat(session.choose(workers, List.of())).isSameAs(workers[2]);
        assertThat(session.result()).isEqualTo(SessionResult.KEPT);
        assertThat(marked(session, "mcp-session-id", head(), "c")).isNull();
        // A worker that repeats the id in each response.
        assertThat(marked(session, "mcp-session-id", head("mcp-session-id", "4f-2~x"), "c"))
                .hasToString(id.toString());
    }

    @Test
    void should_spread_new_sessions_over_idle_workers() {
        Set<SimulatedMember> chosen = new HashSet<>();
        for (int i = 0; i < 200; i++) {
            chosen.add(read(MCP, head()).choose(workers, List.of()));
        }
        assertThat(chosen).hasSize(4);
    }

    @Test
    void should_move_all_requests_of_a_session_to_one_worker_if_its_worker_is_gone() {
        String id = WorkerTag.append("session", WorkerTag.of("gone"));
        SimulatedMember moved = read(MCP, head("mcp-session-id", id)).choose(workers, List.of());
        for (int i = 0; i < 10; i++) {
            ClientSession session = read(MCP, head("mcp-session-id", id));
            assertThat(session.choose(workers, List.of())).isSameAs(moved);
            assertThat(session.result()).isEqualTo(SessionResult.WORKER_GONE);
        }
    }

    @Test
    void should_leave_ids_alone_that_name_no_worker() {
        String[] others = {
            "", "~w", "4f2", "~w000000000000", "id~w00000000000_0", "id~x0000000000000", "id~wzzzzzzzzzzzzz"
        };
        for (String id : others) {
            Http2Headers head = head("mcp-session-id", id);
            ClientSession session = read(MCP, head);
            assertThat(head.get("mcp-session-id")).hasToString(id);
            assertThat(session.choose(workers, List.of())).isNotNull();
            assertThat(session.result()).isEqualTo(SessionResult.WORKER_GONE);
        }
    }

    /** Decoded headers reject a value that ends with a blank, and so does the worker. */
    @ParameterizedTest
    @ValueSource(strings = {"x ~w0000000000001", "x\t~w0000000000001"})
    void should_leave_an_id_alone_that_ends_with_a_blank_without_its_worker(String id) throws Exception {
        ByteBuf block = Unpooled.buffer();
        new DefaultHttp2HeadersEncoder().encodeHeaders(1, head("mcp-session-id", id), block);
        Http2Headers decoded = new FlatHeadersDecoder(1_000, 0).decodeHeaders(1, block);
        assertThat(read(MCP, decoded).worker()).isEqualTo(WorkerTag.NONE);
        assertThat(decoded.get("mcp-session-id")).hasToString(id);
    }

    @Test
    void should_set_a_cookie_that_names_the_worker() {
        ClientSession created = read(COOKIE, head("cookie", "lb=of-another-program"));
        assertThat(created.choose(workers, List.of())).isNotNull();
        String set = marked(created, "set-cookie", head(), "b").toString();
        assertThat(set).matches("lb=[0-9a-z]+~w[0-9a-z]{13}; Path=/; HttpOnly; SameSite=Lax; Secure");

        ClientSession session = read(COOKIE, head("cookie", "x=1; " + set.split(";")[0]));
        assertThat(session.choose(workers, List.of())).isSameAs(workers[1]);
        assertThat(marked(session, "set-cookie", head(), "b")).isNull();
    }

    @Test
    void should_not_restrict_a_cookie_to_tls_if_the_request_came_without() {
        ClientSession created = read(COOKIE, head().scheme("http"));
        created.choose(workers, List.of());
        assertThat(marked(created, "set-cookie", head(), "b").toString()).endsWith("SameSite=Lax");
    }

    @Test
    void should_keep_the_cookie_of_a_full_worker_and_replace_that_of_a_lost_one() {
        String cookie = "lb=" + WorkerTag.append("k", WorkerTag.of("b"));
        workers[1].streams = 0;
        ClientSession full = read(COOKIE, head("cookie", cookie));
        assertThat(full.choose(workers, List.of())).isNotNull().isNotSameAs(workers[1]);
        assertThat(full.result()).isEqualTo(SessionResult.WORKER_FULL);
        assertThat(marked(full, "set-cookie", head(), "a")).isNull();

        workers[1].streams = 1;
        ClientSession failed = read(COOKIE, head("cookie", cookie));
        assertThat(failed.choose(workers, List.of("b"))).isNotNull().isNotSameAs(workers[1]);
        assertThat(failed.result()).isEqualTo(SessionResult.WORKER_GONE);
        assertThat(marked(failed, "set-cookie", head(), "a").toString())
                .startsWith("lb=" + WorkerTag.append("k", WorkerTag.of("a")) + ";");
    }

    @Test
    void should_use_the_connection_of_the_worker_that_has_room() {
        SimulatedMember[] connections = {new SimulatedMember("a"), new SimulatedMember("a"), new SimulatedMember("b")};
        connections[0].streams = 0;
        ClientSession session = read(MCP, head("mcp-session-id", WorkerTag.append("id", WorkerTag.of("a"))));
        assertThat(session.choose(connections, List.of())).isSameAs(connections[1]);
        assertThat(session.result()).isEqualTo(SessionResult.KEPT);
        connections[0].streams = 9;
        connections[1].streams = 0;
        assertThat(session.choose(connections, List.of())).isSameAs(connections[0]);
        assertThat(session.result()).isEqualTo(SessionResult.KEPT);
    }

    @Test
    void should_wait_only_for_a_connected_worker_without_room() {
        ClientSession session = read(MCP, head("mcp-session-id", WorkerTag.append("id", WorkerTag.of("b"))));
        assertThat(session.waitsFor(workers, List.of())).isFalse();
        workers[1].streams = 0;
        assertThat(session.waitsFor(workers, List.of())).isTrue();
        assertThat(session.isWaiting()).isTrue();
        assertThat(session.waitsFor(workers, List.of("b"))).isFalse();
        assertThat(session.waitsFor(new SimulatedMember[] {workers[0]}, List.of()))
                .isFalse();
        assertThat(session.waitsFor(workers, List.of())).isTrue();
        session.stopWaiting();
        assertThat(session.isWaiting()).isFalse();
        assertThat(session.waitsFor(workers, List.of())).isFalse();

        workers[0].streams = 0;
        workers[2].streams = 0;
        workers[3].streams = 0;
        assertThat(read(Affinity.header("x-user"), head("x-user", "ann")).waitsFor(workers, List.of()))
                .isFalse();
        assertThat(read(MCP, head()).waitsFor(workers, List.of())).isFalse();
    }

    /** It may be ejected for minutes. */
    @Test
    void should_begin_again_elsewhere_if_its_worker_is_ejected_and_serves_no_probe() {
        String cookie = "lb=" + WorkerTag.append("k", WorkerTag.of("b"));
        workers[1].streams = 0;
        workers[1].ejected = true;
        ClientSession session = read(COOKIE, head("cookie", cookie));
        assertThat(session.waitsFor(workers, List.of())).isFalse();
        assertThat(session.isBound(workers, List.of())).isFalse();
        assertThat(session.choose(workers, List.of())).isNotNull().isNotSameAs(workers[1]);
        assertThat(session.result()).isEqualTo(SessionResult.WORKER_GONE);
        assertThat(marked(session, "set-cookie", head(), "a")).isNotNull();

        workers[1].streams = 1;
        assertThat(session.isBound(workers, List.of())).isTrue();
        assertThat(session.choose(workers, List.of())).isSameAs(workers[1]);
        assertThat(session.result()).isEqualTo(SessionResult.KEPT);
    }
}
