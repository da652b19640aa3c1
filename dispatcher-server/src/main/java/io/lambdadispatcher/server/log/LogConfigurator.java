package io.lambdadispatcher.server.log;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.LayoutWrappingEncoder;
import ch.qos.logback.core.spi.ContextAwareBase;

/**
 * Writes the log to standard error, in a format for people. Logback finds this class as a service,
 * in the dispatcher and in local workers with the same class path. {@code
 * -Dlogback.configurationFile} replaces it.
 */
public final class LogConfigurator extends ContextAwareBase implements Configurator {
    static final String APPENDER = "stderr";

    private static final String FOR_DISPATCHER = "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5level %logger{0}: %msg";
    /** Has no time, because the dispatcher copies these lines into its own log. */
    private static final String FOR_WORKER = "%-5level %logger{0}: %msg";

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        if (System.getProperty("logback.configurationFile") != null) {
            return ExecutionStatus.INVOKE_NEXT_IF_ANY;
        }
        boolean worker = System.getenv("LAMBDA_DISPATCHER_PAYLOAD") != null;
        TextLayout layout = new TextLayout(context, worker ? FOR_WORKER : FOR_DISPATCHER);
        layout.start();
        LayoutWrappingEncoder<ILoggingEvent> encoder = new LayoutWrappingEncoder<>();
        encoder.setContext(context);
        encoder.setLayout(layout);
        encoder.start();
        ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
        console.setContext(context);
        console.setName(APPENDER);
        console.setTarget("System.err");
        console.setEncoder(encoder);
        console.start();
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.INFO);
        root.addAppender(console);
        // Whatever log.level is, each attempted change is logged.
        context.getLogger("audit").setLevel(Level.INFO);
        // On INFO, Netty logs each frame that it ignores, so a peer could flood the log.
        context.getLogger("io.netty.handler.codec.http2").setLevel(Level.WARN);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }
}
