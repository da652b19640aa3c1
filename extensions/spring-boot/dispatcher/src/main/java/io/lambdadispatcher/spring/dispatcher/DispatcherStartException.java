package io.lambdadispatcher.spring.dispatcher;

import java.io.UncheckedIOException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Thrown if the dispatcher cannot start for a reason that the application's owners can remove. */
final class DispatcherStartException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String action;

    /**
     * @param message what is wrong
     * @param action what to do
     */
    private DispatcherStartException(String message, String action, @Nullable Throwable cause) {
        super(message, cause);
        this.action = action;
    }

    /** @param message names the property, its value and what was expected */
    static DispatcherStartException property(String message) {
        return new DispatcherStartException(message, "Correct this property in the application's configuration.", null);
    }

    /** @param cause names the artifacts of Netty that were found */
    static DispatcherStartException netty(IllegalStateException cause) {
        return new DispatcherStartException(
                String.valueOf(cause.getMessage()),
                "If the parent of your pom.xml is spring-boot-starter-parent, set its property netty.version to 4.2.18.Final."
                        + " Otherwise, import io.netty:netty-bom of that version before Spring Boot's BOM.",
                cause);
    }

    /** @param cause names the address that the dispatcher cannot listen on, or the file */
    static DispatcherStartException portOrFile(UncheckedIOException cause) {
        String message = String.valueOf(Objects.requireNonNull(cause.getCause()).getMessage());
        String action = message.startsWith("cannot listen")
                ? "Stop the program that uses the port, or set another port with lambda-dispatcher.public.plain.port,"
                        + " lambda-dispatcher.public.tls.port or lambda-dispatcher.workers.port."
                : "Let the application read this file, or set another file in the application's configuration.";
        return new DispatcherStartException(message, action, cause);
    }

    /** Makes Spring Boot print the description and the action instead of a stack trace. */
    static final class Analyzer extends AbstractFailureAnalyzer<DispatcherStartException> {
        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, DispatcherStartException cause) {
            return new FailureAnalysis(cause.getMessage(), cause.action, cause);
        }
    }
}
