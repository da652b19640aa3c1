package com.example.chat;

import java.time.Clock;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The guests of a room, and its latest messages. Guests are on several event loops; the lock gives
 * all of them the same order of messages. Sending does not block, so the lock is held only briefly.
 * Any thread.
 */
final class Room {
    static final int HISTORY = 50;

    private final String name;
    private final Clock clock;
    private final Set<Guest> guests = new LinkedHashSet<>();
    private final ArrayDeque<Message> said = new ArrayDeque<>();

    Room(String name) {
        this(name, Clock.systemUTC());
    }

    Room(String name, Clock clock) {
        this.name = name;
        this.clock = clock;
    }

    /** Sends the latest messages to the guest, and tells all guests that the guest has joined. */
    synchronized void enter(Guest guest) {
        guests.add(guest);
        guest.send(Message.welcome(name, clock.instant(), guests.size(), said));
        toAll(Message.of(Message.Kind.JOINED, guest.name(), "", clock.instant()));
    }

    synchronized void say(Guest guest, String text) {
        Message message = Message.of(Message.Kind.SAID, guest.name(), text, clock.instant());
        said.add(message);
        if (said.size() > HISTORY) {
            said.remove();
        }
        toAll(message);
    }

    /** Removes the guest. Further calls have no effect. */
    synchronized void leave(Guest guest) {
        if (guests.remove(guest)) {
            toAll(Message.of(Message.Kind.LEFT, guest.name(), "", clock.instant()));
        }
    }

    private void toAll(Message message) {
        String json = message.json();
        // A copy, because sending may remove a guest.
        List.copyOf(guests).forEach(guest -> guest.send(json));
    }

    synchronized boolean isEmpty() {
        return guests.isEmpty();
    }
}
