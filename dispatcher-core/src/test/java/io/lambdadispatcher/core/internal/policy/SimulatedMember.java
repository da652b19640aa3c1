package io.lambdadispatcher.core.internal.policy;

/** A worker in tests of affinity. */
final class SimulatedMember implements Rendezvous.Candidate {
    final String workerId;
    private final long tag;
    int load;
    int streams = Integer.MAX_VALUE;
    boolean ejected;

    SimulatedMember(String workerId) {
        this.workerId = workerId;
        this.tag = WorkerTag.of(workerId);
    }

    @Override
    public long tag() {
        return tag;
    }

    @Override
    public int load() {
        return load;
    }

    @Override
    public boolean hasRoom() {
        return load < streams;
    }

    @Override
    public boolean isEjected() {
        return ejected;
    }

    @Override
    public String toString() {
        return workerId;
    }
}
