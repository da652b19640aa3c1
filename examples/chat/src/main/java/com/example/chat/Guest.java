package com.example.chat;

import io.lambdadispatcher.worker.websocket.WebSocketListener;
import io.lambdadispatcher.worker.websocket.WebSocketSession;
import java.time.Duration;
import java.time.Instant;

/** One browser in one room. */
final class Guest implements WebSocketListener {
    private final String name;
    private final Room room;
    private final WebSocketSession session;

    private Guest(String name, Room room, WebSocketSession session) {
        this.name = name;
        this.room = room;
        this.session = session;
    }

    static Guest enter(String name, Room room, WebSocketSession session) {
        Guest guest = new Guest(name, room, session);
        room.enter(guest);
        return guest;
    }

    String name() {
        return name;
    }

    /**
     * Sends a message. If the guest does not read, it is disconnected and may return later, because
     * unread messages would stay in memory. Any thread.
     */
    void send(String json) {
        if (session.isWritable()) {
            session.sendText(json);
        } else {
            session.close(WebSocketSession.TRY_LATER, "you read too slowly");
        }
    }

    @Override
    public void onText(WebSocketSession session, String text) {
        String trimmed = text.strip();
        if (!trimmed.isEmpty()) {
            room.say(this, trimmed);
        }
    }

    /** Tells the page, which shows a note and later connects to the next worker. */
    @Override
    public void onDrain(WebSocketSession session, Duration grace) {
        session.sendText(
                Message.of(Message.Kind.GOING, "", "this worker is going, you are connected again soon", Instant.now())
                        .json());
        session.close(WebSocketSession.SERVICE_RESTART, "connect again");
    }

    @Override
    public void onClose(WebSocketSession session, int code, String reason) {
        room.leave(this);
    }
}
