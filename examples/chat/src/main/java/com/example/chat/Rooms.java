package com.example.chat;

import io.lambdadispatcher.worker.websocket.WebSocketSession;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All rooms by name. An empty room keeps its messages until its place is needed for another room.
 * Any thread.
 */
final class Rooms {
    static final int MOST = 100;

    private final Map<String, Room> byName = new HashMap<>();

    /** @return {@code null} if there are already too many rooms with guests */
    synchronized @Nullable Room find(String name) {
        Room room = byName.get(name);
        if (room == null) {
            if (byName.size() >= MOST) {
                byName.values().removeIf(Room::isEmpty);
            }
            if (byName.size() < MOST) {
                room = new Room(name);
                byName.put(name, room);
            }
        }
        return room;
    }

    /**
     * Enters a room. It is looked up again under the lock, because another thread can have removed
     * it while it was empty. Two guests would then be in two rooms of one name.
     *
     * @throws IllegalStateException if there are already too many rooms with guests
     */
    synchronized Guest enter(String name, String guest, WebSocketSession session) {
        Room room = find(name);
        if (room == null) {
            throw new IllegalStateException("there are rooms enough");
        }
        return Guest.enter(guest, room, session);
    }
}
