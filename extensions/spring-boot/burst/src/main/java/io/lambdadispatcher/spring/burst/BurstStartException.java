package io.lambdadispatcher.spring.burst;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Thrown if a property does not allow the application to burst. */
final class BurstStartException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String action;

    /**
     * @param message names the property, its value and what was expected
     * @param action what to do
     */
    BurstStartException(String message, String action) {
        super(message);
        this.action = action;
    }

    /** Makes Spring Boot print the description and the action instead of a stack trace. */
    static final class Analyzer extends AbstractFailureAnalyzer<BurstStartException> {
        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, BurstStartException cause) {
            return new FailureAnalysis(cause.getMessage(), cause.action, cause);
        }
    }
}
