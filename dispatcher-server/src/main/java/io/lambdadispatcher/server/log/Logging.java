package io.lambdadispatcher.server.log;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.OutputStreamAppender;
import io.lambdadispatcher.server.config.LogFormat;
import io.lambdadispatcher.wire.http.PrintableText;
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
        root().setLevel(wanted.isGreaterOrEqual(Level.INFO) ? wanted : Level.INFO);
    }

    /**
     * Sets the form of the lines that {@link LogConfigurator} has set up. Has no effect on the
     * user's own Logback configuration.
     */
    public static void setFormat(LogFormat format) {
        Appender<ILoggingEvent> appender = root().getAppender(LogConfigurator.APPENDER);
        if (format == LogFormat.JSON && appender instanceof OutputStreamAppender<ILoggingEvent> console) {
            JsonEncoder encoder = new JsonEncoder() {
                // Logback itself escapes only control characters below the space, except in names.
                @Override
                protected void appenderMember(StringBuilder json, String key, String value) {
                    super.appenderMember(json, PrintableText.of(key), PrintableText.of(value));
                }
            };
            encoder.setContext(console.getContext());
            encoder.setWithSequenceNumber(false);
            encoder.setWithNanoseconds(false);
            encoder.setWithContext(false);
            encoder.setWithMDC(false);
            encoder.setWithMessage(false);
            encoder.setWithArguments(false);
            encoder.setWithFormattedMessage(true);
            encoder.start();
            console.setEncoder(encoder);
        }
    }

    private static Logger root() {
        return logger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    }

    private static Logger logger(String name) {
        return (Logger) LoggerFactory.getLogger(name);
    }
}
