package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.ResponseFilter;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a client gets instead of the response or the failure of a request that a filter has passed
 * on. The filter is asked once. Confined to the client's event loop.
 */
final class Replacement {
    /** {@code null} = the filter was not asked. */
    private @Nullable Decision instead;

    boolean isAsked() {
        return instead != null;
    }

    Decision decision() {
        return Objects.requireNonNull(instead, "instead");
    }

    /**
     * Returns whether the client gets something instead of a failure.
     *
     * @param filter {@code null} = nobody can be asked any more
     */
    boolean isOf(Failure failure, @Nullable ResponseFilter filter, FilterStage stage) {
        if (instead == null) {
            instead = Decision.pass();
            if (filter != null) {
                try {
                    instead = ask(failure, filter);
                } catch (Throwable e) {
                    stage.warn(e);
                }
            }
        }
        return !(instead instanceof Decision.Pass);
    }

    private static Decision ask(Failure failure, ResponseFilter filter) {
        Failure.Kind kind = failure.kind();
        Decision.Answer answer = filter.replace(kind.status().code(), kind.token());
        if (answer != null) {
            return answer;
        }
        return isRefusal(failure)
                ? Objects.requireNonNull(filter.onRefused(kind.token()), "the filter's decision")
                : Decision.pass();
    }

    /** A dispatcher that shuts down can answer nothing else. */
    private static boolean isRefusal(Failure failure) {
        return failure.wasNotTried() && failure.kind() != Failure.Kind.SHUTTING_DOWN;
    }

    /** Returns what the client gets instead of a response; {@code null} = nothing. */
    Decision.@Nullable Answer of(int status, ResponseFilter filter) {
        Decision.Answer answer = filter.replace(status, null);
        if (answer != null) {
            instead = answer;
        }
        return answer;
    }

    /**
     * Returns what answers in place of the function; {@code null} = nothing does. A decision that
     * is not known yet counts as an answer, because the report does not wait for it.
     */
    @Nullable
    Substitute substitute() {
        boolean open = instead instanceof Decision.Later || instead instanceof Decision.Resume;
        return instead instanceof Decision.Answer answer ? answer.by() : open ? Substitute.FILTER : null;
    }
}
