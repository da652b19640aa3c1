package com.example.notes;

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Opens sessions, each with a client of the SDK, and makes notes in them while workers join and
 * drain. {@code NotesClient URL}. Exits with 1 if a session that could survive has lost a note.
 */
public final class NotesClient {
    private static final int FIRST_SESSIONS = 8;
    private static final int BUSY_SESSIONS = 24;
    private static final int MAX_SESSIONS = 80;
    private static final int PROCESSES = 3;

    /** One session, with what its notes should be. */
    private static final class Session implements AutoCloseable {
        private final McpSyncClient client;
        private final List<String> notes = new ArrayList<>();
        private String process = "";
        private int begunAgain;

        Session(String url) {
            client = McpClient.sync(HttpClientStreamableHttpTransport.builder(url).build())
                    .requestTimeout(Duration.ofSeconds(60))
                    .initializationTimeout(Duration.ofSeconds(60))
                    .build();
            client.initialize();
        }

        /** Makes a note, and checks that the session still has all earlier ones. */
        void note(String text) {
            String said;
            try {
                said = call(text);
            } catch (RuntimeException e) {
                // The worker of the session is gone. The SDK's client begins a new session but does
                // not repeat the call. Its exceptions for this differ, so the notes prove it below.
                begunAgain++;
                notes.clear();
                process = "";
                said = call(text);
            }
            notes.add(text);
            String processSaid = said.substring(0, said.indexOf(':'));
            check(process.isEmpty() || process.equals(processSaid), "a session moved: " + process + ", " + said);
            process = processSaid;
            check(said.equals(process + ": " + String.join(", ", notes)), "notes " + notes + ", but " + said);
        }

        private String call(String text) {
            CallToolRequest request =
                    CallToolRequest.builder("note").arguments(Map.of("text", text)).build();
            return ((TextContent) client.callTool(request).content().get(0)).text();
        }

        @Override
        public void close() {
            client.closeGracefully();
        }
    }

    private final String url;
    private final List<Session> sessions = new ArrayList<>();

    private NotesClient(String url) {
        this.url = url;
    }

    public static void main(String[] args) throws Exception {
        new NotesClient(args[0]).run();
        System.exit(0); // threads of the SDK would delay the exit
    }

    private static void check(boolean holds, String message) {
        if (!holds) {
            System.out.println(message);
            System.exit(1);
        }
    }

    private void open(int count) {
        for (int i = 0; i < count; i++) {
            Session session = new Session(url);
            session.note("first");
            sessions.add(session);
        }
    }

    private Set<String> processes() {
        return sessions.stream().map(session -> session.process).collect(Collectors.toSet());
    }

    private void run() throws Exception {
        open(FIRST_SESSIONS);
        System.out.println(sessions.size() + " sessions on " + processes().size() + " workers");

        while (processes().size() < PROCESSES && sessions.size() < MAX_SESSIONS) {
            open(1);
            // Two workers are nearly full from here on, and the next one needs time to start.
            Thread.sleep(sessions.size() < BUSY_SESSIONS ? 100 : 3_000);
        }
        check(processes().size() >= PROCESSES, "no worker joined: " + processes());
        sessions.forEach(session -> session.note("after scale-out"));
        check(sessions.stream().allMatch(session -> session.begunAgain == 0), "a session was lost when workers joined");
        System.out.println(sessions.size() + " sessions on " + processes().size() + " workers, no session has moved");

        String drained = sessions.get(0).process;
        long itsSessions =
                sessions.stream().filter(session -> session.process.equals(drained)).count();
        drain(Long.parseLong(drained.substring("process ".length())));
        sessions.forEach(session -> session.note("after the drain"));
        sessions.forEach(session -> session.note("at the end"));
        long begunAgain = sessions.stream().mapToLong(session -> session.begunAgain).sum();
        check(!processes().contains(drained), "a session is still on the worker that drains");
        check(begunAgain == itsSessions, begunAgain + " sessions have begun again, expected " + itsSessions);
        System.out.println(begunAgain + " sessions of the worker that drains have begun again, each once, and "
                + (sessions.size() - begunAgain) + " sessions have kept their notes");
    }

    /** Tells the worker, which is the parent of the server's process, to drain. */
    private static void drain(long server) throws Exception {
        ProcessHandle worker =
                ProcessHandle.of(server).flatMap(ProcessHandle::parent).orElseThrow();
        check(worker.destroy(), "worker " + worker.pid() + " was not told to drain");
        Thread.sleep(3_000); // the worker tells the dispatcher
    }
}
