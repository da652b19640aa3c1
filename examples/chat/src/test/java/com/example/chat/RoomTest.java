package com.example.chat;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.websocket.WebSocketSession;
import io.netty.buffer.ByteBuf;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RoomTest {
    private static final String NOON = "2026-11-21T12:00:00Z";

    private final Room room = new Room("lobby", Clock.fixed(Instant.parse(NOON), ZoneOffset.UTC));
    private final Session ann = new Session();
    private final Session bob = new Session();

    private static String said(String who, String text) {
        return "{\"kind\":\"said\",\"who\":\"" + who + "\",\"text\":\"" + text + "\",\"at\":\"" + NOON + "\"}";
    }

    @Test
    void should_tell_everybody_in_the_room_what_is_said() {
        Guest first = Guest.enter("Ann", room, ann);
        Guest.enter("Bob", room, bob);
        ann.sent.clear();
        bob.sent.clear();
        first.onText(ann, " hello \n");

        assertThat(ann.sent).containsExactly(said("Ann", "hello"));
        assertThat(bob.sent).isEqualTo(ann.sent);
    }

    @Test
    void should_not_pass_on_nothing() {
        Guest first = Guest.enter("Ann", room, ann);
        ann.sent.clear();
        first.onText(ann, " \t ");
        assertThat(ann.sent).isEmpty();
    }

    @Test
    void should_tell_who_comes_and_who_goes() {
        Guest first = Guest.enter("Ann", room, ann);
        Guest second = Guest.enter("Bob", room, bob);
        assertThat(ann.sent).last().asString().contains("\"kind\":\"joined\"", "\"who\":\"Bob\"");
        second.onClose(bob, 1000, "");
        second.onClose(bob, 1000, "");
        assertThat(ann.sent).filteredOn(sent -> sent.contains("\"left\"")).hasSize(1);
        assertThat(room.isEmpty()).isFalse();
        first.onClose(ann, 1006, "");
        assertThat(room.isEmpty()).isTrue();
    }

    @Test
    void should_tell_a_guest_what_was_said_last() {
        Guest first = Guest.enter("Ann", room, ann);
        for (int i = 0; i < Room.HISTORY + 5; i++) {
            first.onText(ann, "message " + i);
        }
        Guest.enter("Bob", room, bob);
        assertThat(bob.sent.get(0))
                .contains("\"kind\":\"welcome\"", "\"guests\":2", said("Ann", "message 54"), said("Ann", "message 5"))
                .doesNotContain("message 4\"");
    }

    @Test
    void should_send_a_guest_away_that_does_not_read() {
        Guest first = Guest.enter("Ann", room, ann);
        Guest.enter("Bob", room, bob);
        bob.sent.clear();
        bob.writable = false;
        first.onText(ann, "hello");
        assertThat(bob.sent).containsExactly("close 1013");
        assertThat(ann.sent).last().isEqualTo(said("Ann", "hello"));
    }

    @Test
    void should_ask_a_guest_to_connect_again_when_the_worker_goes() {
        Guest first = Guest.enter("Ann", room, ann);
        ann.sent.clear();
        first.onDrain(ann, Duration.ofSeconds(10));
        assertThat(ann.sent.get(0)).contains("\"kind\":\"going\"");
        assertThat(ann.sent.get(1)).isEqualTo("close 1012");
    }

    @Test
    void should_make_place_for_rooms_by_dropping_empty_ones() {
        Rooms rooms = new Rooms();
        Room kept = rooms.find("kept");
        Guest.enter("Ann", kept, ann);
        for (int i = 1; i < Rooms.MOST; i++) {
            Guest.enter("Bob", rooms.find("room-" + i), bob);
        }
        assertThat(rooms.find("one-more")).isNull();
        assertThat(rooms.find("kept")).isSameAs(kept);

        Rooms empty = new Rooms();
        for (int i = 0; i < 3 * Rooms.MOST; i++) {
            assertThat(empty.find("room-" + i)).isNotNull();
        }
    }

    @Test
    void should_bring_guests_together_whose_room_was_dropped_before_they_entered() {
        Rooms rooms = new Rooms();
        Room dropped = rooms.find("lobby");
        for (int i = 0; i < Rooms.MOST; i++) {
            rooms.find("room-" + i);
        }
        rooms.enter("lobby", "Ann", ann);
        rooms.enter("lobby", "Bob", bob);
        assertThat(rooms.find("lobby")).isNotSameAs(dropped);
        assertThat(ann.sent).last().asString().contains("\"kind\":\"joined\"", "\"who\":\"Bob\"");
    }

    private static final class Session implements WebSocketSession {
        final List<String> sent = new ArrayList<>();
        boolean writable = true;

        @Override
        public boolean sendText(String text) {
            sent.add(text);
            return writable;
        }

        @Override
        public boolean isWritable() {
            return writable;
        }

        @Override
        public void close(int code, String reason) {
            sent.add("close " + code);
        }

        @Override
        public Request request() {
            throw new UnsupportedOperationException();
        }

        @Override
        public String subprotocol() {
            return "";
        }

        @Override
        public boolean sendBinary(ByteBuf bytes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void pause() {}

        @Override
        public void resume() {}
    }
}
