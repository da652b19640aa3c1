package com.example.chat;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The rooms that there are. An empty one is kept, with what was said, until its place is needed.
 * Any thread.
 */
final class Rooms {
    static final int MOST = 100;

    private final Map<String, Room> byName = new HashMap<>();

    /** @return {@code null} where there is no place for another */
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
}
