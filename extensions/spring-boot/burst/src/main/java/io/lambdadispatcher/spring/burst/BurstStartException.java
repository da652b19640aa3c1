package io.lambdadispatcher.spring.burst;

import java.time.Duration;
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

    static BurstStartException notConnected(Duration waited) {
        return new BurstStartException(
                "the worker of this process has not connected to the dispatcher of this process within "
                        + waited.toSeconds() + " s",
                "The log of io.lambdadispatcher.worker says why. It connects to lambda-dispatcher.worker.addresses.");
    }

    /** Makes Spring Boot print the description and the action instead of a stack trace. */
    static final class Analyzer extends AbstractFailureAnalyzer<BurstStartException> {
        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, BurstStartException cause) {
            return new FailureAnalysis(cause.getMessage(), cause.action, cause);
        }
    }
}
