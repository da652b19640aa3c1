package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.options.Affinity;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Compares ways to choose a worker for requests with sessions, in virtual time. 1,000 requests per
 * second of 200 ms arrive at ten workers. They belong to 5,000 sessions of very different sizes:
 * the largest has a tenth of all requests (Zipf). After 30 s a worker joins, and after 60 s one
 * leaves. {@link #main} prints the table that {@code docs/guides/sessions.md} shows.
 */
class AffinitySimulationTest {
    private static final int WORKERS = 10;
    private static final int SESSIONS = 5_000;
    private static final double PER_MILLI = 1;
    private static final double SERVICE_MILLIS = 200;
    private static final int WARM = 5_000;
    private static final int JOIN = 30_000;
    private static final int LEAVE = 60_000;
    private static final int END = 90_000;

    private enum Rule {
        LEAST_BUSY,
        HASH_WITHOUT_BOUND,
        HASH_WITH_BOUND,
        OWN_COOKIE
    }

    private record Served(double endMillis, SimulatedMember by) {}

    private static final class Run {
        private final Rule rule;
        private final Random random = new Random(7);
        private final List<SimulatedMember> workers = new ArrayList<>();
        private final double[] upTo = new double[SESSIONS];
        private final PriorityQueue<Served> served =
                new PriorityQueue<>((one, other) -> Double.compare(one.endMillis, other.endMillis));
        private final SimulatedMember[] last = new SimulatedMember[SESSIONS];
        private final CharSequence[] cookies = new CharSequence[SESSIONS];
        private final int[] moves = new int[SESSIONS];
        private int inFlight;
        private long requests;
        private long returned;
        private long repeated;
        private double maxRatio;
        /** The largest excess of a worker's load over 1.25 times the mean, rounded up. */
        private double maxExcess;

        private int movedAtJoin;
        private int movedAtLeave;
        private SimulatedMember left;

        Run(Rule rule) {
            this.rule = rule;
            for (int i = 0; i < WORKERS; i++) {
                workers.add(new SimulatedMember("worker-" + i));
            }
            double sum = 0;
            for (int i = 0; i < SESSIONS; i++) {
                sum += 1.0 / (i + 1);
                upTo[i] = sum;
            }
            run();
        }

        private void run() {
            boolean joined = false;
            boolean hasLeft = false;
            for (double now = gap(); now < END; now += gap()) {
                while (!served.isEmpty() && served.peek().endMillis <= now) {
                    SimulatedMember by = served.remove().by;
                    by.load--;
                    inFlight -= by == left ? 0 : 1;
                }
                if (now >= JOIN && !joined) {
                    joined = true;
                    List<SimulatedMember> before = firsts();
                    workers.add(new SimulatedMember("worker-new"));
                    movedAtJoin = differences(before, firsts());
                }
                if (now >= LEAVE && !hasLeft) {
                    hasLeft = true;
                    List<SimulatedMember> before = firsts();
                    left = workers.remove(3);
                    inFlight -= left.load; // it drains
                    movedAtLeave = differences(before, firsts());
                }
                arrive(now);
            }
        }

        private double gap() {
            return -Math.log(1 - random.nextDouble()) / PER_MILLI;
        }

        private int session() {
            int found = Arrays.binarySearch(upTo, random.nextDouble() * upTo[SESSIONS - 1]);
            return found < 0 ? -found - 1 : found;
        }

        private void arrive(double now) {
            int session = session();
            SimulatedMember chosen = choose(session);
            chosen.load++;
            inFlight++;
            double millis = -SERVICE_MILLIS * Math.log(1 - random.nextDouble());
            served.add(new Served(now + millis, chosen));
            if (now > WARM) {
                double mean = (double) inFlight / workers.size();
                maxRatio = Math.max(maxRatio, chosen.load / mean);
                maxExcess = Math.max(maxExcess, chosen.load - Math.ceil(Rendezvous.BOUND * mean));
                requests++;
                repeated += last[session] == null ? 0 : 1;
                returned += last[session] == chosen ? 1 : 0;
            }
            moves[session] += last[session] != null && last[session] != chosen ? 1 : 0;
            last[session] = chosen;
        }

        private SimulatedMember choose(int session) {
            SimulatedMember[] all = workers.toArray(SimulatedMember[]::new);
            return switch (rule) {
                case LEAST_BUSY -> least();
                case HASH_WITHOUT_BOUND -> first(session);
                case HASH_WITH_BOUND -> {
                    ClientSession read = ClientSession.of(Affinity.header("x-user"), head("x-user", "user-" + session));
                    yield read.choose(all, List.of());
                }
                case OWN_COOKIE -> {
                    ClientSession read = ClientSession.of(Affinity.ownCookie("w"), head("cookie", cookies[session]));
                    SimulatedMember chosen = read.choose(all, List.of());
                    SimulatedMember by = chosen == null ? least() : chosen;
                    Http2Headers response = new DefaultHttp2Headers();
                    read.mark(response, by.workerId);
                    CharSequence set = response.get("set-cookie");
                    assertThat(set == null).isEqualTo(read.result() == SessionResult.KEPT);
                    cookies[session] =
                            set == null ? cookies[session] : set.toString().split(";")[0];
                    yield by;
                }
            };
        }

        private static Http2Headers head(String name, CharSequence value) {
            Http2Headers head = new DefaultHttp2Headers();
            return value == null ? head : head.add(name, value);
        }

        private SimulatedMember least() {
            return workers.stream()
                    .min((one, other) -> Integer.compare(one.load, other.load))
                    .orElseThrow();
        }

        private SimulatedMember first(int session) {
            SimulatedMember[] idle = workers.stream()
                    .map(worker -> new SimulatedMember(worker.workerId))
                    .toArray(SimulatedMember[]::new);
            SimulatedMember first = Rendezvous.choose(Rendezvous.hash("user-" + session), idle, new long[0]);
            return workers.stream()
                    .filter(worker -> worker.tag() == first.tag())
                    .findFirst()
                    .orElseThrow();
        }

        private List<SimulatedMember> firsts() {
            List<SimulatedMember> firsts = new ArrayList<>();
            for (int i = 0; i < SESSIONS; i++) {
                firsts.add(first(i));
            }
            return firsts;
        }

        private static int differences(List<SimulatedMember> before, List<SimulatedMember> after) {
            int count = 0;
            for (int i = 0; i < before.size(); i++) {
                count += before.get(i) == after.get(i) ? 0 : 1;
            }
            return count;
        }

        double returnedShare() {
            return (double) returned / repeated;
        }

        String row(String name) {
            return String.format(
                    Locale.ROOT, "| %s | %.0f %% | %.2f times the mean |", name, 100 * returnedShare(), maxRatio);
        }
    }

    public static void main(String[] args) {
        System.out.println(new Run(Rule.LEAST_BUSY).row("least busy worker, no affinity"));
        System.out.println(new Run(Rule.HASH_WITHOUT_BOUND).row("hash of the session, no bound"));
        System.out.println(
                new Run(Rule.HASH_WITH_BOUND).row("hash of the session, bound of 1.25 (`header`, `cookie`)"));
        System.out.println(new Run(Rule.OWN_COOKIE).row("worker named by the client (`own-cookie`, `session-header`)"));
    }

    @Test
    void should_return_sessions_to_their_worker_within_the_bound() {
        Run without = new Run(Rule.HASH_WITHOUT_BOUND);
        Run with = new Run(Rule.HASH_WITH_BOUND);
        Run least = new Run(Rule.LEAST_BUSY);
        assertThat(without.maxRatio).isGreaterThan(1.8);
        assertThat(with.maxExcess).isLessThanOrEqualTo(0);
        assertThat(least.returnedShare()).isLessThan(0.2);
        assertThat(with.returnedShare()).isGreaterThan(0.7);
    }

    @Test
    void should_move_only_the_share_of_a_worker_that_joins_or_leaves() {
        Run run = new Run(Rule.HASH_WITH_BOUND);
        assertThat(run.movedAtJoin).isBetween(SESSIONS / 11 * 8 / 10, SESSIONS / 11 * 12 / 10);
        assertThat(run.movedAtLeave).isBetween(SESSIONS / 11 * 8 / 10, SESSIONS / 11 * 12 / 10);
    }

    @Test
    void should_move_named_sessions_only_once_and_only_those_of_the_worker_that_leaves() {
        Run run = new Run(Rule.OWN_COOKIE);
        int moved = 0;
        for (int moves : run.moves) {
            assertThat(moves).isLessThanOrEqualTo(1);
            moved += moves;
        }
        // Sessions without a later request have not noticed.
        assertThat(moved).isBetween(1, SESSIONS / 5);
        for (int i = 0; i < SESSIONS; i++) {
            assertThat(run.moves[i] == 0 || run.last[i] != run.left).isTrue();
        }
    }
}
