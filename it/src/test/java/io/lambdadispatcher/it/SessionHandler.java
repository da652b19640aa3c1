package io.lambdadispatcher.it;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.blocking.BlockingRequest;
import io.lambdadispatcher.worker.blocking.BlockingResponse;
import java.io.IOException;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs in the workers of {@link SessionsIT}. Keeps sessions in memory, as an MCP server does:
 * {@code /sessions} creates one and returns its id in {@code mcp-session-id}, and {@code /calls}
 * counts the calls of a session. An unknown session gets 404. {@code /process} returns the id of
 * the process.
 */
public final class SessionHandler implements BlockingHandler {
    private static final String ID = "mcp-session-id";

    private final Map<String, AtomicInteger> sessions = new ConcurrentHashMap<>();

    public SessionHandler() {}

    @Override
    public void handle(BlockingRequest request, BlockingResponse response) throws IOException {
        switch (request.path()) {
            case "/sessions" -> {
                String id = UUID.randomUUID().toString();
                sessions.put(id, new AtomicInteger());
                response.header(ID, id).respond(200, process());
            }
            case "/calls" -> {
                String id = request.header(ID);
                AtomicInteger calls = id == null ? null : sessions.get(id);
                if (calls == null) {
                    response.respond(404, "no session " + id);
                } else {
                    response.respond(200, process() + " " + calls.incrementAndGet());
                }
            }
            default -> response.respond(200, process());
        }
    }

    private static String process() {
        return Long.toString(ProcessHandle.current().pid());
    }
}
