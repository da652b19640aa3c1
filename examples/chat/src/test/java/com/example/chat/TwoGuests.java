package com.example.chat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The test that {@code check} runs: two guests talk to each other over the JDK's WebSocket client.
 * Argument: the address of the demo.
 */
public final class TwoGuests {
    private static final String LONG = "ü".repeat(3000);

    private TwoGuests() {}

    public static void main(String[] args) throws Exception {
        URI rooms = URI.create(args[0].replaceFirst("^http", "ws") + "/rooms/check-" + System.nanoTime());
        HttpClient client = HttpClient.newHttpClient();
        Guest ann = new Guest(client, rooms, "Ann");
        ann.expect("\"welcome\"");
        ann.expect("\"joined\",\"who\":\"Ann\"");
        ann.socket.sendText("first", true).join();
        ann.expect("\"first\"");

        Guest bob = new Guest(client, rooms, "Bob");
        bob.expect("\"text\":\"first\""); // the history
        bob.expect("\"joined\",\"who\":\"Bob\"");
        ann.expect("\"joined\",\"who\":\"Bob\"");
        bob.socket.sendText(LONG.substring(0, 1000), false).join();
        bob.socket.sendText(LONG.substring(1000), true).join();
        ann.expect(LONG);
        bob.expect(LONG);
        bob.socket.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
        bob.expect("closed 1000");
        ann.expect("\"left\",\"who\":\"Bob\"");
        ann.socket.sendText("x".repeat(9000), true).join();
        ann.expect("closed 1009");
    }

    private static final class Guest implements WebSocket.Listener {
        private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        private final StringBuilder text = new StringBuilder();
        private final WebSocket socket;

        Guest(HttpClient client, URI room, String name) {
            socket = client.newWebSocketBuilder()
                    .buildAsync(URI.create(room + "?name=" + name), this)
                    .join();
        }

        void expect(String part) throws InterruptedException {
            String next = heard.poll(30, TimeUnit.SECONDS);
            if (next == null || !next.contains(part)) {
                throw new AssertionError("heard " + next + ", expected " + part);
            }
        }

        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence part, boolean last) {
            text.append(part);
            if (last) {
                heard.add(text.toString());
                text.setLength(0);
            }
            socket.request(1);
            return null;
        }

        @Override
        public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
            heard.add("closed " + code);
            return null;
        }
    }
}
