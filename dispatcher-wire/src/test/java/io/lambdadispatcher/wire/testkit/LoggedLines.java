package io.lambdadispatcher.wire.testkit;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * Records what a logger writes, instead of writing it to the console. After {@link #close}, the
 * logger is as before, and the lines can still be read.
 *
 * <p><b>Threading.</b> Any thread.
 */
public final class LoggedLines implements AutoCloseable {
    private final Logger logger;
    private final @Nullable Level levelBefore;
    private final boolean additiveBefore;
    private final List<ILoggingEvent> events = new CopyOnWriteArrayList<>();

    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            events.add(event);
        }
    };

    private LoggedLines(String name, Level level) {
        logger = (Logger) LoggerFactory.getLogger(name);
        levelBefore = logger.getLevel();
        additiveBefore = logger.isAdditive();
        logger.setLevel(level);
        logger.setAdditive(false);
        appender.start();
        logger.addAppender(appender);
    }

    /** Records lines of a class that have at least this level. */
    public static LoggedLines of(Class<?> logger, Level level) {
        return of(logger.getName(), level);
    }

    /** Records lines of a logger, and of those below it, that have at least this level. */
    public static LoggedLines of(String logger, Level level) {
        return new LoggedLines(logger, level);
    }

    /** Returns the lines so far. */
    public List<ILoggingEvent> events() {
        return List.copyOf(events);
    }

    /** Returns the messages so far, without levels and exceptions. */
    public List<String> messages() {
        return events.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Override
    public void close() {
        logger.detachAppender(appender);
        logger.setAdditive(additiveBefore);
        logger.setLevel(levelBefore);
    }
}
