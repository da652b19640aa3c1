package io.lambdadispatcher.core.internal.fleet;

/** Whether a worker that the fleet has launched may connect. */
public enum SlotState {
    /** The worker has a slot. */
    GRANTED,
    /**
     * The fleet may have granted the slot since the ledger was last read. The worker may try again.
     */
    NOT_KNOWN,
    /** The worker's slot has ended, so another worker may run in its place. */
    ENDED
}
