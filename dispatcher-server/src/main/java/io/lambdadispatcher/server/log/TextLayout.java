package io.lambdadispatcher.server.log;

import ch.qos.logback.classic.PatternLayout;
import ch.qos.logback.classic.pattern.ThrowableProxyConverter;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.StackTraceElementProxy;
import ch.qos.logback.core.Context;
import io.lambdadispatcher.wire.http.PrintableText;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes each event in one line for people, followed by the lines of its stack trace. Whatever a
 * message, a name or an exception contains, it cannot begin a line or control a terminal, see
 * {@link PrintableText}. Any thread.
 */
final class TextLayout extends PatternLayout {
    /** Of each exception. The causes say more than further frames. */
    private static final String FRAMES = "6";

    private final ThrowableProxyConverter stackTraces = new ThrowableProxyConverter() {
        @Override
        protected String throwableProxyToString(IThrowableProxy thrown) {
            return super.throwableProxyToString(new PrintableThrowable(thrown));
        }
    };

    /** @param pattern a pattern of Logback for the line, without its end and exceptions */
    TextLayout(Context context, String pattern) {
        setContext(context);
        setPattern(pattern + "%nopex");
        stackTraces.setContext(context);
        stackTraces.setOptionList(List.of(FRAMES));
    }

    @Override
    public void start() {
        stackTraces.start();
        super.start();
    }

    @Override
    public String doLayout(ILoggingEvent event) {
        return PrintableText.of(super.doLayout(event)) + System.lineSeparator() + stackTraces.convert(event);
    }

    /** An exception whose message, like those of its causes, cannot add lines to a stack trace. */
    private record PrintableThrowable(IThrowableProxy thrown) implements IThrowableProxy {
        private static @Nullable IThrowableProxy of(@Nullable IThrowableProxy thrown) {
            return thrown == null ? null : new PrintableThrowable(thrown);
        }

        @Override
        public String getMessage() {
            return PrintableText.of(String.valueOf(thrown.getMessage()));
        }

        @Override
        public @Nullable String getOverridingMessage() {
            String message = thrown.getOverridingMessage();
            return message == null ? null : PrintableText.of(message);
        }

        @Override
        public String getClassName() {
            return PrintableText.of(thrown.getClassName());
        }

        @Override
        public StackTraceElementProxy[] getStackTraceElementProxyArray() {
            return thrown.getStackTraceElementProxyArray();
        }

        @Override
        public int getCommonFrames() {
            return thrown.getCommonFrames();
        }

        @Override
        public @Nullable IThrowableProxy getCause() {
            return of(thrown.getCause());
        }

        @Override
        public IThrowableProxy[] getSuppressed() {
            return Arrays.stream(thrown.getSuppressed())
                    .map(PrintableThrowable::of)
                    .toArray(IThrowableProxy[]::new);
        }

        @Override
        public boolean isCyclic() {
            return thrown.isCyclic();
        }
    }
}
