package io.lambdadispatcher.core.internal.fleet;

/** Another dispatcher, as this one has seen it. Confined to the member's executor. */
final class Peer {
    MemberEntry entry;
    long version;
    long beatNanos;
    /** The time without a new beat, while this dispatcher was able to read. */
    long silentNanos;
    /** Whether this dispatcher has seen a new beat. An entry can be that of a former fleet. */
    boolean hasBeaten;

    Peer(MemberEntry entry, long version, long nowNanos) {
        this.entry = entry;
        this.version = version;
        this.beatNanos = nowNanos;
    }

    boolean isAlive() {
        return silentNanos < FleetMember.GONE_NANOS;
    }
}
