package io.lambdadispatcher.server.top;

import io.lambdadispatcher.wire.event.Json;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/**
 * The server-sent events of an admin port, each with the state of the dispatcher.
 *
 * <p><b>Threading.</b> One thread, except for {@link #close}.
 */
final class StateEvents implements AutoCloseable {
    /** Much more than the state of 500 functions. */
    private static final int MAX_EVENT_BYTES = 64 << 20;

    private static final int MAX_REASON_BYTES = 200;

    /**
     * What the dispatcher says.
     *
     * @param state {@code null} if nothing is known
     * @param problem why the state is incomplete or {@code null}; {@code null} = it is complete
     */
    record Event(@Nullable Members state, @Nullable String problem) {}

    private final URI uri;
    private final InputStream body;

    private StateEvents(URI uri, InputStream body) {
        this.uri = uri;
        this.body = new BufferedInputStream(body);
    }

    /**
     * Connects.
     *
     * @throws TopException if the server cannot be reached, or answers differently than an admin
     *     port
     */
    static StateEvents open(URI uri, AdminRequest port) throws TopException, InterruptedException {
        HttpResponse<InputStream> answer = port.send(
                HttpRequest.newBuilder(uri).header("accept", "text/event-stream"), BodyHandlers.ofInputStream());
        StateEvents events = new StateEvents(uri, answer.body());
        String type = answer.headers().firstValue("content-type").orElse("no content-type");
        if (answer.statusCode() != 200 || !type.startsWith("text/event-stream")) {
            try (events) {
                throw events.refused(answer.statusCode(), type);
            }
        }
        return events;
    }

    private TopException refused(int status, String type) {
        String text = type.startsWith("text/plain") ? ", \"" + firstLine() + "\"" : " with " + type;
        String advice = switch (status) {
            case 401 ->
                "Name the file that holds a token of admin.read-token-file or admin.token-file with --token-file.";
            case 403 -> "Use an IP address, localhost or one of admin.hosts in --admin-url.";
            case 503 -> "Close another viewer, or try again later.";
            default -> AdminRequest.ADVICE;
        };
        return new TopException(uri + ": expected 200 with text/event-stream, got " + status + text + ". " + advice);
    }

    private String firstLine() {
        try {
            return new String(body.readNBytes(MAX_REASON_BYTES), StandardCharsets.UTF_8)
                    .lines()
                    .findFirst()
                    .orElse("");
        } catch (IOException e) {
            return "";
        }
    }

    /**
     * Waits for the next event.
     *
     * @throws IOException if the connection is lost
     * @throws TopException if the event is not the state of a dispatcher
     */
    Event next() throws IOException, TopException {
        String type = "";
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        while (true) {
            String line = line();
            if (line.isEmpty() && data.size() > 0) {
                if (type.equals("problem")) {
                    return new Event(null, data.toString(StandardCharsets.UTF_8));
                }
                Members state = state(data.toByteArray());
                return new Event(state, state.has("problem") ? state.text("problem") : null);
            }
            if (line.startsWith("event:")) {
                type = line.substring("event:".length()).trim();
            } else if (line.startsWith("data:")) {
                data.writeBytes(line.substring("data:".length()).trim().getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private String line() throws IOException, TopException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = body.read(); next != '\n'; next = body.read()) {
            if (next < 0) {
                throw new IOException("the stream of events has ended");
            }
            if (line.size() == MAX_EVENT_BYTES) {
                throw wrongEvent();
            }
            line.write(next);
        }
        return line.toString(StandardCharsets.UTF_8).stripTrailing();
    }

    private Members state(byte[] data) throws TopException {
        try {
            if (Json.read(data) instanceof Map<?, ?> all && new Members(all).has("functions")) {
                return new Members(all);
            }
        } catch (JacksonException e) {
            // Not JSON.
        }
        throw wrongEvent();
    }

    private TopException wrongEvent() {
        return new TopException(
                uri + ": expected events with the state of a dispatcher, got something else. " + AdminRequest.ADVICE);
    }

    /** Makes {@link #next} fail. Any thread. */
    @Override
    public void close() {
        try {
            body.close();
        } catch (IOException e) {
            // The connection is lost already.
        }
    }
}
