package io.lambdadispatcher.it.fleet;

import io.lambdadispatcher.it.fleet.FleetProcesses.Member;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Three dispatchers under load, to which something happens, as a fleet or each alone. {@code
 * .ci/long fleet} prints a table of all events.
 */
final class FleetDrill {
    static final int MAX_WORKERS = 6;
    /** Keeps 6 worker streams busy, so 2 workers of 4 streams with the usual headroom. */
    private static final int REQUESTS_PER_SECOND = 60;

    /**
     * What happened.
     *
     * @param workersBefore workers when it began
     * @param launches workers launched since
     * @param mostWorkers most workers at a time
     * @param mostLasting those of them that were not being replaced; 0 without a fleet
     * @param inFlight requests without an answer when the event began
     * @param losses how each lost request was lost
     * @param reads requests of all dispatchers to the ledger for each second; 0 without a fleet
     * @param writes as {@code reads}
     */
    record Result(
            int answered,
            Map<String, Integer> lost,
            int workersBefore,
            int launches,
            int mostWorkers,
            int mostLasting,
            int inFlight,
            List<String> losses,
            double reads,
            double writes) {}

    enum Event {
        KILL("kill -9 of one of three"),
        STOP("one of three stands still for 20 s (SIGSTOP)"),
        ROLL("all three are replaced, one after the other"),
        LEDGER("the ledger cannot be reached for 2 minutes");

        final String title;

        Event(String title) {
            this.title = title;
        }
    }

    private FleetDrill() {}

    /** @param full whether the drill has its full length, or only what shows its faults */
    static Result run(Event event, boolean fleet, boolean full) throws Exception {
        try (FleetProcesses rig = new FleetProcesses(3, MAX_WORKERS, fleet)) {
            if (event == Event.ROLL) {
                // HAProxy must know the new ones, too.
                return roll(rig, full);
            }
            rig.balance();
            rig.load(REQUESTS_PER_SECOND);
            settle(rig, full);
            int before = rig.launches();
            int inFlight = rig.inFlight();
            switch (event) {
                case KILL -> {
                    rig.members.get(0).kill();
                    FleetProcesses.pass(full ? 30 : 18);
                }
                case STOP -> {
                    rig.members.get(0).signal("STOP");
                    FleetProcesses.pass(20);
                    rig.members.get(0).signal("CONT");
                    FleetProcesses.pass(20);
                }
                case LEDGER -> {
                    rig.members.forEach(FleetDrill::cut);
                    FleetProcesses.pass(120);
                    rig.members.forEach(FleetDrill::mend);
                    FleetProcesses.pass(10);
                }
                case ROLL -> throw new IllegalStateException();
            }
            return result(rig, before, inFlight);
        }
    }

    private static void cut(Member member) {
        if (member.ledger != null) {
            member.ledger.cut();
        }
    }

    private static void mend(Member member) {
        if (member.ledger != null) {
            member.ledger.mend();
        }
    }

    private static Result roll(FleetProcesses rig, boolean full) throws Exception {
        List<Member> old = List.copyOf(rig.members);
        List<Member> next = new ArrayList<>();
        for (int i = 0; i < old.size(); i++) {
            next.add(rig.prepare());
        }
        rig.balance();
        rig.load(REQUESTS_PER_SECOND);
        settle(rig, full);
        int before = rig.launches();
        for (int i = 0; i < old.size(); i++) {
            next.get(i).start();
            next.get(i).awaitReady();
            FleetProcesses.pass(full ? 3 : 1);
            old.get(i).stop();
            FleetProcesses.pass(full ? 5 : 2);
        }
        return result(rig, before, 0);
    }

    /**
     * Waits until the number of workers does not change any more, no request is lost, and requests
     * are served as they come. On a busy machine, workers need some time until they can do that.
     */
    private static void settle(FleetProcesses rig, boolean full) throws InterruptedException {
        int launches;
        int rounds = 0;
        do {
            if (rounds++ == 20) {
                throw new IllegalStateException("the load has not settled, lost: " + rig.losses);
            }
            launches = rig.launches();
            rig.startCounting();
            FleetProcesses.pass(full ? 8 : 4);
        } while (launches != rig.launches() || launches == 0 || rig.lost() > 0 || rig.inFlight() > REQUESTS_PER_SECOND);
        rig.startCounting();
    }

    private static Result result(FleetProcesses rig, int before, int inFlight) {
        return new Result(
                rig.answered(),
                rig.lostByMethod(),
                before,
                rig.launches() - before,
                rig.mostWorkers(),
                rig.mostLasting(),
                inFlight,
                List.copyOf(rig.losses),
                rig.ledgerRate("Query"),
                rig.ledgerRate("PutItem"));
    }

    /** Runs everything, which takes about 15 minutes. */
    static void printTable() throws Exception {
        System.out.println(
                "| event | fleet | requests answered | lost | workers before | launched | most workers | not being replaced |"
                        + " ledger: reads/s, writes/s |");
        System.out.println("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for (Event event : Event.values()) {
            for (boolean fleet : event == Event.LEDGER ? new boolean[] {true} : new boolean[] {true, false}) {
                Result result = run(event, fleet, true);
                System.out.printf(
                        "| %s | %s | %d | %s | %d | %d | %d | %s | %.2f, %.2f |%n",
                        event.title,
                        fleet ? "yes" : "no",
                        result.answered(),
                        result.lost().isEmpty() ? "0" : result.lost(),
                        result.workersBefore(),
                        result.launches(),
                        result.mostWorkers(),
                        fleet ? result.mostLasting() : "-",
                        result.reads(),
                        result.writes());
                result.losses().stream().limit(5).forEach(System.err::println);
            }
        }
    }
}
