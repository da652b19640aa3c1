package io.lambdadispatcher.spring.worker;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Thrown if the worker cannot start for a reason that the application's owners can remove. */
final class WorkerStartException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String action;

    /**
     * @param message what is wrong
     * @param action what to do
     */
    private WorkerStartException(String message, String action, @Nullable Throwable cause) {
        super(message, cause);
        this.action = action;
    }

    /** @param message names the property, its value and what was expected */
    static WorkerStartException property(String message) {
        return new WorkerStartException(message, "Correct this property in the application's configuration.", null);
    }

    /** @param cause names the artifacts of Netty that were found */
    static WorkerStartException netty(IllegalStateException cause) {
        return new WorkerStartException(
                String.valueOf(cause.getMessage()),
                "If the parent of your pom.xml is spring-boot-starter-parent, set its property netty.version to 4.2.18.Final."
                        + " Otherwise, import io.netty:netty-bom of that version before Spring Boot's BOM.",
                cause);
    }

    /** Makes Spring Boot print the description and the action instead of a stack trace. */
    static final class Analyzer extends AbstractFailureAnalyzer<WorkerStartException> {
        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, WorkerStartException cause) {
            return new FailureAnalysis(cause.getMessage(), cause.action, cause);
        }
    }
}
