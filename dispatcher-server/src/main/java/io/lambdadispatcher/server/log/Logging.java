package io.lambdadispatcher.server.log;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.FileAppender;
import ch.qos.logback.core.OutputStreamAppender;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/** Applies the settings of the log. Main thread, at startup. */
public final class Logging {
    private Logging() {}

    /**
     * Sets the level of the dispatcher's loggers. Loggers of libraries never log more than INFO.
     */
    public static void setLevel(org.slf4j.event.Level level) {
        Level wanted = Level.valueOf(level.name());
        logger("io.lambdadispatcher").setLevel(wanted);
        logger(org.slf4j.Logger.ROOT_LOGGER_NAME).setLevel(wanted.isGreaterOrEqual(Level.INFO) ? wanted : Level.INFO);
    }

    /**
     * Sends the messages of one logger to a file or to standard output, without time and level.
     *
     * @param file appended to; {@code null} = standard output
     * @throws IllegalArgumentException if the file cannot be opened
     */
    public static void sendLinesTo(String loggerName, @Nullable Path file) {
        Logger logger = logger(loggerName);
        LoggerContext context = logger.getLoggerContext();
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setPattern("%msg%n");
        encoder.start();
        OutputStreamAppender<ILoggingEvent> appender = file == null ? toStandardOutput() : toFile(file);
        appender.setContext(context);
        appender.setName(loggerName);
        appender.setEncoder(encoder);
        appender.start();
        if (!appender.isStarted()) {
            throw new IllegalArgumentException("access-log.file: expected a writable file, got \"" + file + "\"");
        }
        logger.detachAndStopAllAppenders();
        logger.setAdditive(false);
        logger.setLevel(Level.INFO);
        logger.addAppender(appender);
    }

    private static OutputStreamAppender<ILoggingEvent> toStandardOutput() {
        ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
        appender.setTarget("System.out");
        return appender;
    }

    private static OutputStreamAppender<ILoggingEvent> toFile(Path file) {
        FileAppender<ILoggingEvent> appender = new FileAppender<>();
        appender.setFile(file.toString());
        appender.setAppend(true);
        return appender;
    }

    private static Logger logger(String name) {
        return (Logger) LoggerFactory.getLogger(name);
    }
}
