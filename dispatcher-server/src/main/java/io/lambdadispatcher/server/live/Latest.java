package io.lambdadispatcher.server.live;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** The latest events of one kind, at most a fixed number. Any thread. */
final class Latest<E> {
    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<E> events = new ArrayDeque<>();
    private final int size;

    Latest(int size) {
        this.size = size;
    }

    void add(E event) {
        lock.lock();
        try {
            append(event);
        } finally {
            lock.unlock();
        }
    }

    /** Drops the event if another thread is here, because event loops must not wait. */
    void tryAdd(Supplier<E> event) {
        if (lock.tryLock()) {
            try {
                append(event.get());
            } finally {
                lock.unlock();
            }
        }
    }

    private void append(E event) {
        if (events.size() == size) {
            events.removeFirst();
        }
        events.addLast(event);
    }

    /** Replaces each event to which the condition applies. */
    void replace(Predicate<E> condition, E replacement) {
        lock.lock();
        try {
            List<E> all = new ArrayList<>(events);
            all.replaceAll(event -> condition.test(event) ? replacement : event);
            events.clear();
            events.addAll(all);
        } finally {
            lock.unlock();
        }
    }

    void remove(Predicate<E> condition) {
        lock.lock();
        try {
            events.removeIf(condition);
        } finally {
            lock.unlock();
        }
    }

    /** Returns a copy, the latest event first. */
    List<E> list() {
        lock.lock();
        try {
            List<E> all = new ArrayList<>(events);
            Collections.reverse(all);
            return all;
        } finally {
            lock.unlock();
        }
    }
}
