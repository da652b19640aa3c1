package com.example.chat;

import java.time.Clock;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Who is in a room, and what was said last. Guests are on several event loops; a lock makes the
 * order of messages the same for all of them. Sending does not wait, so the lock is held for a
 * moment only. Any thread.
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

    /** Tells the guest what was said lately, and everybody that there is a guest. */
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

    /** Harmless when called again. */
    synchronized void leave(Guest guest) {
        if (guests.remove(guest)) {
            toAll(Message.of(Message.Kind.LEFT, guest.name(), "", clock.instant()));
        }
    }

    private void toAll(Message message) {
        String json = message.json();
        // A copy: sending may find that a guest has gone.
        List.copyOf(guests).forEach(guest -> guest.send(json));
    }

    synchronized boolean isEmpty() {
        return guests.isEmpty();
    }
}
