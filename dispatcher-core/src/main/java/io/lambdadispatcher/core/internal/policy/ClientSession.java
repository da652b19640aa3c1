package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.internal.policy.Rendezvous.Candidate;
import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.Affinity.Kind;
import io.lambdadispatcher.wire.http.Cookies;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The session of one request. It is read from the request's headers, chooses the worker, and adds
 * the worker to the response's headers if the client must remember it.
 *
 * <p>No dispatcher remembers sessions. The client brings the name of the worker, or a key that all
 * event loops and all dispatchers of a fleet hash in the same way. If the worker of a session is
 * gone, the rest of the session's name is the key. So all requests of the session move to the same
 * worker, and the sessions of one worker spread over the others. Confined to the client's event
 * loop.
 */
public final class ClientSession {
    private static final long[] NO_TAGS = {};

    private final Affinity affinity;

    /** What names the session, without the worker; {@code null} = the session is new. */
    private final @Nullable CharSequence own;

    /** The tag of the worker that the request names; {@link WorkerTag#NONE} = it names none. */
    private final long worker;

    /** Whether the request came over TLS. Only of interest to cookies that are set. */
    private final boolean secure;

    private boolean waiting;
    private boolean impatient;
    private @Nullable SessionResult result;

    private ClientSession(Affinity affinity, @Nullable CharSequence own, long worker, boolean secure) {
        this.affinity = affinity;
        this.own = own;
        this.worker = worker;
        this.secure = secure;
    }

    /**
     * Reads the session of a request. Removes the name of the worker from a session id, because the
     * worker must receive its id as it has sent it.
     *
     * @return {@code null} if affinity has no effect on the request
     */
    public static @Nullable ClientSession of(Affinity affinity, Http2Headers head) {
        return switch (affinity.kind()) {
            case NONE -> null;
            case HEADER -> ofKey(affinity, head.get(affinity.name()));
            case COOKIE -> ofKey(affinity, cookie(affinity, head));
            case OWN_COOKIE -> ofOwnCookie(affinity, cookie(affinity, head), isSecure(head));
            case SESSION_HEADER -> ofId(affinity, head);
        };
    }

    private static @Nullable CharSequence cookie(Affinity affinity, Http2Headers head) {
        CharSequence cookies = head.get(HttpHeaderNames.COOKIE);
        return cookies == null ? null : Cookies.find(cookies, affinity.name());
    }

    private static boolean isSecure(Http2Headers head) {
        CharSequence scheme = head.scheme();
        return scheme != null && AsciiString.contentEquals(HttpScheme.HTTPS.name(), scheme);
    }

    private static @Nullable ClientSession ofKey(Affinity affinity, @Nullable CharSequence value) {
        return value == null || value.length() == 0 ? null : new ClientSession(affinity, value, WorkerTag.NONE, false);
    }

    private static ClientSession ofOwnCookie(Affinity affinity, @Nullable CharSequence value, boolean secure) {
        long worker = value == null ? WorkerTag.NONE : WorkerTag.read(value);
        return value == null || worker == WorkerTag.NONE
                ? new ClientSession(affinity, null, WorkerTag.NONE, secure)
                : new ClientSession(affinity, WorkerTag.withoutTag(value), worker, secure);
    }

    private static ClientSession ofId(Affinity affinity, Http2Headers head) {
        CharSequence id = head.get(affinity.name());
        if (id == null) {
            return new ClientSession(affinity, null, WorkerTag.NONE, false);
        }
        long worker = WorkerTag.read(id);
        CharSequence own = WorkerTag.withoutTag(id);
        if (worker != WorkerTag.NONE) {
            head.set(affinity.name(), own);
        }
        return new ClientSession(affinity, own, worker, false);
    }

    /**
     * Returns whether the request should wait, because the worker that it names has no room. No
     * other worker has the state of the session.
     *
     * @param tried the workers of failed attempts
     */
    public <C extends Candidate> boolean waitsFor(C[] candidates, List<String> tried) {
        waiting = worker != WorkerTag.NONE
                && !impatient
                && isFull(candidates)
                && !Rendezvous.contains(tags(tried), worker);
        return waiting;
    }

    private <C extends Candidate> boolean isFull(C[] candidates) {
        boolean connected = false;
        for (C candidate : candidates) {
            if (candidate.tag() == worker) {
                if (candidate.hasRoom()) {
                    return false;
                }
                connected |= !candidate.isEjected();
            }
        }
        return connected;
    }

    /** Returns what {@link #waitsFor} has returned last. */
    public boolean isWaiting() {
        return waiting;
    }

    /** The request has waited long enough and takes any worker. */
    public void stopWaiting() {
        impatient = true;
        waiting = false;
    }

    /**
     * Returns whether the request names one of the workers, which has the state of its session.
     *
     * @param tried the workers of failed attempts, where the session is lost
     */
    public <C extends Candidate> boolean isBound(C[] candidates, List<String> tried) {
        if (worker == WorkerTag.NONE || Rendezvous.contains(tags(tried), worker)) {
            return false;
        }
        for (C candidate : candidates) {
            if (candidate.tag() == worker && (candidate.hasRoom() || !candidate.isEjected())) {
                return true;
            }
        }
        return false;
    }

    /** Returns what stands for the worker that the request names. */
    public Long worker() {
        return worker;
    }

    /**
     * Chooses a worker connection. Called for each attempt.
     *
     * @param candidates all connections that are open for requests
     * @param tried the workers of failed attempts
     * @return {@code null} = any worker should serve the request
     */
    public <C extends Candidate> @Nullable C choose(C[] candidates, List<String> tried) {
        long[] avoided = tried.isEmpty() ? NO_TAGS : tags(tried);
        if (own == null) {
            // An ordinary request prefers workers of its own event loop. A session stays, so it
            // begins on the least busy worker of all, at random among idle ones.
            result = SessionResult.NEW;
            return Rendezvous.least(ThreadLocalRandom.current().nextLong(), candidates, avoided);
        }
        return namesWorker() ? chooseNamed(own, candidates, avoided) : chooseByKey(own, candidates, avoided);
    }

    private static long[] tags(List<String> workers) {
        return workers.stream().mapToLong(WorkerTag::of).toArray();
    }

    /**
     * Returns whether sessions of this kind name a worker, which has what no other worker has. So a
     * second attempt elsewhere is no help while the first one lasts.
     */
    public boolean namesWorker() {
        return affinity.kind() == Kind.OWN_COOKIE || affinity.kind() == Kind.SESSION_HEADER;
    }

    private <C extends Candidate> @Nullable C chooseByKey(CharSequence name, C[] candidates, long[] avoided) {
        long key = Rendezvous.hash(name);
        C chosen = Rendezvous.choose(key, candidates, avoided);
        boolean first = chosen != null && Rendezvous.isFirst(key, candidates, chosen);
        result = first ? SessionResult.KEPT : SessionResult.WORKER_FULL;
        return chosen;
    }

    private <C extends Candidate> @Nullable C chooseNamed(CharSequence name, C[] candidates, long[] avoided) {
        result = SessionResult.WORKER_GONE;
        C least = null;
        for (C candidate : candidates) {
            if (candidate.tag() != worker || Rendezvous.contains(avoided, worker)) {
                continue;
            }
            if (candidate.hasRoom() && (least == null || candidate.load() < least.load())) {
                least = candidate;
            }
            result = least != null
                    ? SessionResult.KEPT
                    : candidate.isEjected() ? SessionResult.WORKER_GONE : SessionResult.WORKER_FULL;
        }
        return least != null ? least : Rendezvous.choose(Rendezvous.hash(name), candidates, avoided);
    }

    /**
     * Adds the worker to the headers of the final response, unless the client already names it.
     *
     * @param workerId the worker that has sent the response
     */
    public void mark(Http2Headers response, String workerId) {
        if (affinity.kind() == Kind.SESSION_HEADER) {
            CharSequence id = response.get(affinity.name());
            if (id != null) {
                response.set(affinity.name(), WorkerTag.append(id, WorkerTag.of(workerId)));
            }
        } else if (affinity.kind() == Kind.OWN_COOKIE
                && (result == SessionResult.NEW || result == SessionResult.WORKER_GONE)) {
            // A session whose worker is only full keeps its cookie, so that it returns later.
            response.add(HttpHeaderNames.SET_COOKIE, AsciiString.of(cookie(WorkerTag.of(workerId))));
        }
    }

    private String cookie(long tag) {
        CharSequence name = own != null
                ? own
                : Long.toUnsignedString(ThreadLocalRandom.current().nextLong(), Character.MAX_RADIX);
        return affinity.name() + "=" + WorkerTag.append(name, tag) + "; Path=/; HttpOnly; SameSite=Lax"
                + (secure ? "; Secure" : "");
    }

    /** Returns which worker was chosen; {@code null} if none was. */
    public @Nullable SessionResult result() {
        return result;
    }
}
