package io.lambdadispatcher.it;

import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.testkit.Await;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Chromium without a window, which the Chrome DevTools Protocol controls. */
final class Browser implements AutoCloseable {
    private static final List<String> PROGRAMS = List.of("chromium", "chromium-browser", "google-chrome");

    private static final Map<String, Integer> KEY_CODES =
            Map.of("Tab", 9, "Enter", 13, "Escape", 27, "Space", 32, "ArrowDown", 40);

    private final HttpClient http = HttpClient.newHttpClient();
    private final Path directory = Files.createTempDirectory("browser");
    private final Process process;
    private final WebSocket socket;
    private final AtomicInteger ids = new AtomicInteger();
    private final Map<Integer, CompletableFuture<Map<String, ?>>> calls = new ConcurrentHashMap<>();

    /** Errors of the page's console, and exceptions of its code. */
    final Queue<String> problems = new ConcurrentLinkedQueue<>();

    /** The hosts that the page has sent requests to. */
    final Set<String> hosts = ConcurrentHashMap.newKeySet();

    private Browser(Path program) throws IOException {
        process = new ProcessBuilder(
                        program.toString(),
                        "--headless=new",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--no-first-run",
                        "--user-data-dir=" + directory,
                        "--remote-debugging-port=0",
                        "about:blank")
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("log").toFile())
                .start();
        try {
            socket = connect();
        } catch (RuntimeException e) {
            close();
            throw e;
        }
        for (String domain : List.of("Page", "Runtime", "Log", "Network")) {
            call(domain + ".enable", Map.of());
        }
    }

    /** Returns the installed browser; empty if there is none. */
    static Optional<Path> installed() {
        return Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .flatMap(place -> PROGRAMS.stream().map(name -> Path.of(place, name)))
                .filter(Files::isExecutable)
                .findFirst();
    }

    static Browser start() throws IOException {
        return new Browser(installed().orElseThrow());
    }

    private WebSocket connect() {
        Path portFile = directory.resolve("DevToolsActivePort");
        Await.until(
                "the browser listens",
                () -> Files.exists(portFile) && Files.readAllLines(portFile).size() == 2);
        try {
            String port = Files.readAllLines(portFile).get(0);
            byte[] targets = http.send(
                            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/json/list"))
                                    .build(),
                            BodyHandlers.ofByteArray())
                    .body();
            String page = ((List<?>) Json.read(targets))
                    .stream()
                            .map(Map.class::cast)
                            .filter(target -> "page".equals(target.get("type")))
                            .map(target -> (String) target.get("webSocketDebuggerUrl"))
                            .findFirst()
                            .orElseThrow();
            return http.newWebSocketBuilder()
                    .buildAsync(URI.create(page), new Messages())
                    .join();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private final class Messages implements WebSocket.Listener {
        private final StringBuilder text = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
            text.append(data);
            if (last) {
                onMessage(Json.readObject(text.toString().getBytes(StandardCharsets.UTF_8)));
                text.setLength(0);
            }
            from.request(1);
            return null;
        }
    }

    private void onMessage(Map<String, ?> message) {
        if (message.get("id") instanceof BigDecimal id) {
            calls.remove(id.intValue()).complete(message);
            return;
        }
        Map<?, ?> parameters = (Map<?, ?>) message.get("params");
        switch (String.valueOf(message.get("method"))) {
            case "Runtime.exceptionThrown", "Log.entryAdded" -> problems.add(parameters.toString());
            case "Network.requestWillBeSent" ->
                hosts.add(URI.create(String.valueOf(((Map<?, ?>) parameters.get("request")).get("url")))
                        .getAuthority());
            default -> {}
        }
    }

    private Map<?, ?> call(String method, Map<String, ?> parameters) {
        int id = ids.incrementAndGet();
        CompletableFuture<Map<String, ?>> answer = new CompletableFuture<>();
        calls.put(id, answer);
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("id", id);
        message.put("method", method);
        message.put("params", parameters);
        socket.sendText(new String(Json.bytes(message), StandardCharsets.US_ASCII), true)
                .join();
        try {
            return (Map<?, ?>) answer.get(30, TimeUnit.SECONDS).get("result");
        } catch (Exception e) {
            throw new IllegalStateException(method, e);
        }
    }

    /** Sets the size of the window in pixels, and the user's preference of colours. */
    void look(int width, int height, boolean dark) {
        call(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", width < 500));
        Map<String, String> scheme = Map.of("name", "prefers-color-scheme", "value", dark ? "dark" : "light");
        call("Emulation.setEmulatedMedia", Map.of("features", List.of(scheme)));
    }

    void open(String url) {
        call("Page.navigate", Map.of("url", url));
    }

    /** Evaluates an expression whose value is a string. */
    String evaluate(String expression) {
        Map<?, ?> answer = call("Runtime.evaluate", Map.of("expression", expression));
        return String.valueOf(((Map<?, ?>) answer.get("result")).get("value"));
    }

    /** Waits until an element's text contains all of these. */
    void awaitText(String selector, String... expected) {
        Await.until(selector + " contains " + Arrays.toString(expected), () -> {
            String text = evaluate("document.querySelector('" + selector + "')?.innerText");
            return Stream.of(expected).allMatch(text::contains);
        });
    }

    /** Presses a key, or types a character, where the focus is. */
    void press(String key) {
        boolean character = key.length() == 1;
        String text = character ? key : key.equals("Enter") ? "\r" : key.equals("Space") ? " " : "";
        Map<String, Object> event = new LinkedHashMap<>();
        event.put("type", "keyDown");
        event.put("key", key.equals("Space") ? " " : key);
        event.put("text", text);
        event.put("windowsVirtualKeyCode", KEY_CODES.getOrDefault(key, 0));
        call("Input.dispatchKeyEvent", event);
        event.put("type", "keyUp");
        event.remove("text");
        call("Input.dispatchKeyEvent", event);
    }

    /** Presses Tab until the focus is on an element that the selector matches. */
    void tabTo(String selector) {
        for (int i = 0; i < 100; i++) {
            if (evaluate("String(document.activeElement.matches('" + selector + "'))")
                    .equals("true")) {
                return;
            }
            press("Tab");
        }
        throw new AssertionError(selector + " cannot be reached with the Tab key");
    }

    void type(String text) {
        text.chars().forEach(each -> press(Character.toString(each)));
    }

    /**
     * Returns the role and the name of the focused element and of what describes it, as a screen
     * reader gets them.
     */
    String focused() {
        Map<?, ?> tree = call("Accessibility.getFullAXTree", Map.of());
        return ((List<?>) tree.get("nodes"))
                .stream()
                        .map(Map.class::cast)
                        .filter(node -> isFocused((List<?>) node.get("properties")))
                        .map(node -> value(node.get("role")) + " " + value(node.get("name")))
                        .reduce("none", (outer, inner) -> inner);
    }

    private static boolean isFocused(List<?> properties) {
        return properties != null
                && properties.stream()
                        .map(Map.class::cast)
                        .anyMatch(each -> "focused".equals(each.get("name"))
                                && Boolean.TRUE.equals(((Map<?, ?>) each.get("value")).get("value")));
    }

    private static String value(Object of) {
        return of == null ? "" : String.valueOf(((Map<?, ?>) of).get("value"));
    }

    void screenshot(Path file) {
        String data =
                (String) call("Page.captureScreenshot", Map.of("format", "png")).get("data");
        try {
            Files.write(file, Base64.getDecoder().decode(data));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws IOException {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        process.onExit().join();
        try (Stream<Path> files = Files.walk(directory)) {
            files.sorted((a, b) -> b.compareTo(a)).forEach(file -> file.toFile().delete());
        }
    }
}
