package io.lambdadispatcher.worker.internal.relay;

import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.FailureReason;

/** Translates between the reasons that handlers see and the codes of the worker protocol. */
public final class WireCodes {
    private WireCodes() {}

    static FailureReason reason(ErrorCode code) {
        return switch (code) {
            case INTERNAL -> FailureReason.INTERNAL;
            case REFUSED, BUSY -> FailureReason.REFUSED;
            case CANCELLED -> FailureReason.CANCELLED;
            case TIMEOUT -> FailureReason.TIMEOUT;
            case HANDLER_FAILED -> FailureReason.HANDLER_FAILED;
            case BAD_MESSAGE -> FailureReason.BAD_MESSAGE;
            case GOING_AWAY -> FailureReason.GOING_AWAY;
            case NOT_NEEDED -> FailureReason.NOT_NEEDED;
        };
    }

    static ErrorCode code(FailureReason reason) {
        return switch (reason) {
            case INTERNAL -> ErrorCode.INTERNAL;
            case REFUSED -> ErrorCode.REFUSED;
            case CANCELLED -> ErrorCode.CANCELLED;
            case TIMEOUT -> ErrorCode.TIMEOUT;
            case HANDLER_FAILED -> ErrorCode.HANDLER_FAILED;
            case BAD_MESSAGE -> ErrorCode.BAD_MESSAGE;
            case GOING_AWAY -> ErrorCode.GOING_AWAY;
            case NOT_NEEDED -> ErrorCode.NOT_NEEDED;
        };
    }

    public static DrainReason reason(DrainCode code) {
        return switch (code) {
            case SHUTDOWN -> DrainReason.SHUTDOWN;
            case SCALE_IN -> DrainReason.SCALE_IN;
            case DEADLINE -> DrainReason.DEADLINE;
            case IDLE -> DrainReason.IDLE;
            case REQUESTED, LEAVING -> DrainReason.REQUESTED;
        };
    }

    public static DrainCode code(DrainReason reason) {
        return switch (reason) {
            case SHUTDOWN -> DrainCode.SHUTDOWN;
            case SCALE_IN -> DrainCode.SCALE_IN;
            case DEADLINE -> DrainCode.DEADLINE;
            case IDLE -> DrainCode.IDLE;
            case REQUESTED -> DrainCode.REQUESTED;
        };
    }
}
