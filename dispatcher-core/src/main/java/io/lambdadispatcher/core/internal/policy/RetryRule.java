package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.options.AttemptPolicy;
import io.lambdadispatcher.core.options.RetryCondition;
import org.jspecify.annotations.Nullable;

/** Decides whether a request may be sent again, apart from the budget. */
public final class RetryRule {
    private RetryRule() {}

    /**
     * Decides about another attempt after one that has ended or is given up.
     *
     * @param attempts number of attempts so far
     * @param idempotent whether sending the request twice has the effect of sending it once
     * @param held whether the complete request is at hand, and the client has nothing of a response
     * @return {@code null} = the request may be sent again
     */
    public static @Nullable RetryDenial denial(
            AttemptPolicy policy, RetryCondition condition, int attempts, boolean idempotent, boolean held) {
        if (!policy.retryOn().contains(condition)) {
            return RetryDenial.NOT_ENABLED;
        }
        // A refusal says that no user code has seen the request.
        return denial(policy, attempts, idempotent || condition == RetryCondition.REFUSED, held);
    }

    /**
     * Decides about another attempt beside those that continue.
     *
     * @return {@code null} = the request may be sent again
     */
    public static @Nullable RetryDenial denial(AttemptPolicy policy, int attempts, boolean idempotent, boolean held) {
        if (!idempotent) {
            return RetryDenial.NOT_IDEMPOTENT;
        }
        if (!held) {
            return RetryDenial.BODY_NOT_HELD;
        }
        return attempts < policy.maxAttempts() ? null : RetryDenial.MAX_ATTEMPTS;
    }

    /** Returns the condition that a response's status is, or {@code null} if it is none. */
    public static @Nullable RetryCondition ofStatus(int status) {
        return switch (status) {
            case 500 -> RetryCondition.STATUS_500;
            case 502 -> RetryCondition.STATUS_502;
            case 503 -> RetryCondition.STATUS_503;
            case 504 -> RetryCondition.STATUS_504;
            default -> null;
        };
    }
}
