package io.lambdadispatcher.server.status;

import io.lambdadispatcher.wire.event.Json;
import java.io.PrintWriter;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/** Prints what one dispatcher does now. One thread. */
public final class Status {
    /** The dispatcher can be without each of them, except for the first one. */
    private static final List<String> DOCUMENTS =
            List.of("functions", "fleet", "workers", "requests", "failures", "launches");

    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("HH:mm:ss 'UTC'").withZone(ZoneOffset.UTC);
    private static final String HOME_AND_CLEAR = "\u001b[H\u001b[2J";
    /** Each of the six tables gets this part of a terminal. */
    private static final int TABLES = 6;

    private static final int FEWEST_ROWS = 3;
    private static final int MOST_SAID = 200;

    private final URI adminUrl;
    private final AdminRequest port;
    private final Supplier<TerminalSize> size;
    private final Clock clock;
    private final PrintWriter out;

    /** Waits until the next time. */
    public interface Pause {
        /** Returns whether to print again. */
        boolean goesOn() throws InterruptedException;
    }

    /**
     * @param adminUrl the admin port of the dispatcher, without a slash at the end
     * @param port sends requests to it
     * @param size of the terminal, which is asked each time
     */
    public Status(URI adminUrl, AdminRequest port, Supplier<TerminalSize> size, Clock clock, PrintWriter out) {
        this.adminUrl = adminUrl;
        this.port = port;
        this.size = size;
        this.clock = clock;
        this.out = out;
    }

    /**
     * Prints the state.
     *
     * @throws AdminException if the dispatcher does not say it
     */
    public void print() throws AdminException, InterruptedException {
        out.print(text(size.get().columns(), Integer.MAX_VALUE));
        out.flush();
    }

    /**
     * Prints the state again and again. A terminal shows the latest one, as much as fits. If the
     * dispatcher does not answer, says so in one line until it does.
     *
     * @throws AdminException if the dispatcher does not say its state the first time
     */
    public void watch(Pause pause) throws AdminException, InterruptedException {
        String answered = null;
        boolean silent = false;
        do {
            TerminalSize now = size.get();
            try {
                if (now.isTerminal()) {
                    String text = text(now.columns(), Math.max(FEWEST_ROWS, now.rows() / TABLES));
                    // In one write, so that the terminal does not flicker.
                    out.print(HOME_AND_CLEAR + firstLines(text, now.rows() - 1));
                } else {
                    out.print(text(now.columns(), Integer.MAX_VALUE) + '\n');
                }
                answered = TIME.format(clock.instant());
                silent = false;
            } catch (AdminException e) {
                if (answered == null) {
                    throw e;
                }
                if (!silent) {
                    String line = "No status since " + answered + ": " + e.reason();
                    out.println(Table.cut(Table.ascii(line), now.columns()));
                    silent = true;
                }
            }
            out.flush();
        } while (pause.goesOn());
    }

    private static String firstLines(String text, int most) {
        int end = 0;
        for (int i = 0; i < most && end < text.length(); i++) {
            end = text.indexOf('\n', end) + 1;
        }
        return text.substring(0, end);
    }

    private String text(int columns, int maxRows) throws AdminException, InterruptedException {
        Map<String, @Nullable Object> documents = new HashMap<>();
        List<String> problems = new ArrayList<>();
        for (String name : DOCUMENTS) {
            String path = "/api/" + name;
            URI uri = URI.create(adminUrl + path);
            HttpResponse<byte[]> answer = port.send(HttpRequest.newBuilder(uri));
            Object json = answer.statusCode() == 200 ? json(answer.body()) : null;
            if (json == null || documents.isEmpty() && !(json instanceof List)) {
                String problem = "expected 200 with a document of a dispatcher, got " + said(answer);
                if (documents.isEmpty()) {
                    throw new AdminException(uri, problem, advice(answer.statusCode()), null);
                }
                problems.add(path + ": " + problem);
            }
            documents.put(name, json);
        }
        String title = "Lambda Dispatcher at " + adminUrl + ", " + TIME.format(clock.instant());
        return StatusText.of(title, new Members(documents), problems, columns, maxRows);
    }

    private static @Nullable Object json(byte[] text) {
        try {
            return Json.read(text);
        } catch (JacksonException e) {
            return null;
        }
    }

    private static String said(HttpResponse<byte[]> answer) {
        String type = answer.headers().firstValue("content-type").orElse("no content-type");
        String line = new String(answer.body(), StandardCharsets.UTF_8)
                .lines()
                .findFirst()
                .orElse("");
        return answer.statusCode()
                + (type.startsWith("text/plain")
                        ? ", \"" + line.substring(0, Math.min(line.length(), MOST_SAID)) + "\""
                        : " with " + type);
    }

    private static String advice(int status) {
        return switch (status) {
            case 401 -> "Name the file that holds a token of admin.read-token or admin.token with --token-file.";
            case 403 -> "Use an IP address, localhost or one of admin.allowed-hosts in --admin-url.";
            case 503 -> "Try again later.";
            default -> AdminRequest.ADVICE;
        };
    }
}
