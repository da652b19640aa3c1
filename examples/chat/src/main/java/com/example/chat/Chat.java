package com.example.chat;

import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.websocket.WebSocketHandler;
import io.lambdadispatcher.worker.websocket.WebSocketOptions;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The handler of the chat. {@code GET /} returns the page. {@code /rooms/NAME?name=GUEST} opens a
 * WebSocket in a room. One instance serves all requests. Rooms are kept in memory, so all guests of
 * a room must be on the same worker.
 */
public final class Chat implements Handler {
    private static final String ROOMS = "/rooms/";
    private static final Pattern ROOM_NAME = Pattern.compile("[a-z0-9-]{1,30}");
    private static final int LONGEST_NAME = 30;
    private static final int MOST_MESSAGE_BYTES = 8 * 1024;

    private final Map<String, Page> pages =
            Map.of("/", Page.load("index.html", "text/html"), "/chat.js", Page.load("chat.js", "text/javascript"));
    private final Rooms rooms = new Rooms();

    @Override
    public boolean servesTunnels() {
        return true;
    }

    @Override
    public void handle(Request request, Response response) throws Exception {
        QueryStringDecoder target = new QueryStringDecoder(request.path());
        Page page = pages.get(target.path());
        // A WebSocket must not open on a page. A 2xx response to CONNECT would open it.
        if (page != null && !request.method().toString().equals("CONNECT")) {
            page.send(request, response);
        } else if (target.path().startsWith(ROOMS)) {
            enter(target, request, response);
        } else {
            Page.refuse(response, 404, "there is / and " + ROOMS + "NAME");
        }
    }

    /** Enters a room. A guest that is not allowed gets an error before the WebSocket opens. */
    private void enter(QueryStringDecoder target, Request request, Response response) throws Exception {
        String roomName = target.path().substring(ROOMS.length());
        String guest = String.join("", target.parameters().getOrDefault("name", List.of()))
                .strip();
        if (!ROOM_NAME.matcher(roomName).matches()) {
            Page.refuse(response, 404, "a room's name has 1 to 30 of a-z, 0-9 and -");
        } else if (guest.isEmpty() || guest.length() > LONGEST_NAME) {
            Page.refuse(response, 400, "name: '" + guest + "', expected 1 to " + LONGEST_NAME + " letters");
        } else {
            if (rooms.find(roomName) == null) {
                Page.refuse(response, 503, "there are rooms enough");
            } else {
                WebSocketOptions options = WebSocketOptions.usual().withMostMessageBytes(MOST_MESSAGE_BYTES);
                WebSocketHandler entrance = session -> rooms.enter(roomName, guest, session);
                entrance.asHandler(options).handle(request, response);
            }
        }
    }
}
