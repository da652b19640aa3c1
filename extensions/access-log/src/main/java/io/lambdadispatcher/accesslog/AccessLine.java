package io.lambdadispatcher.accesslog;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http.TraceParent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * Formats exchanges as JSON objects, each in one line of printable ASCII. Other characters are
 * escaped, so that a client's path can neither start a new line, nor end its string, nor control a
 * terminal. Confined to one thread.
 */
final class AccessLine {
    /**
     * The maximum length of a text, in characters. A longer one is cut off and ends with three
     * dots.
     */
    static final int MAX_TEXT_CHARS = 4096;

    private static final AsciiString X_FORWARDED_FOR = AsciiString.cached("x-forwarded-for");

    private static final AsciiString X_FORWARDED_CLIENT_CERT = AsciiString.cached("x-forwarded-client-cert");

    private final List<AccessField> fields;
    private final @Nullable CharSequence requestIdHeader;
    private final StringBuilder line = new StringBuilder(512);

    /** @param requestIdHeader the header with the id of a request; {@code null} = no ids */
    AccessLine(List<AccessField> fields, @Nullable CharSequence requestIdHeader) {
        this.fields = fields;
        this.requestIdHeader = requestIdHeader;
    }

    String of(ExchangeEnd end, long epochMillis) {
        line.setLength(0);
        for (AccessField field : fields) {
            append(field, end, epochMillis);
        }
        return line.length() == 0 ? "{}" : line.append('}').toString();
    }

    private void append(AccessField field, ExchangeEnd end, long epochMillis) {
        switch (field) {
            case TIME -> text(field, Instant.ofEpochMilli(epochMillis).toString());
            case FUNCTION -> text(field, end.function());
            case WORKER -> text(field, end.workerId());
            case WORKER_KIND -> {
                WorkerKind kind = end.workerKind();
                text(field, kind == null ? null : kind.token());
            }
            case CLIENT -> text(field, address(end.remoteAddress()));
            case CLIENT_CERTIFICATE -> text(field, end.headers().get(X_FORWARDED_CLIENT_CERT));
            case FORWARDED_FOR -> text(field, end.headers().get(X_FORWARDED_FOR));
            case PROTOCOL -> text(field, protocol(end.protocol()));
            case METHOD -> text(field, end.method());
            case HOST -> text(field, end.headers().authority());
            case PATH -> text(field, end.path());
            case USER_AGENT -> text(field, end.headers().get(HttpHeaderNames.USER_AGENT));
            case STATUS -> number(field, end.status());
            case OUTCOME -> text(field, end.outcome().name().toLowerCase(Locale.ROOT));
            case FAILURE -> text(field, end.failure());
            case FAILURE_DETAIL -> text(field, end.failureDetail());
            case WAIT_REASON -> {
                WaitReason reason = end.waitReason();
                text(field, reason == null ? null : reason.token());
            }
            case SESSION -> {
                SessionResult result = end.sessionResult();
                text(field, result == null ? null : result.token());
            }
            case SUBSTITUTE -> {
                Substitute substitute = end.substitute();
                text(field, substitute == null ? null : substitute.token());
            }
            case SHADOW_OF -> text(field, end.shadowOf());
            case CONTENT_ENCODING -> text(field, end.contentEncoding());
            case REQUEST_ID ->
                text(field, requestIdHeader == null ? null : end.headers().get(requestIdHeader));
            case TRACE_ID -> text(field, TraceParent.traceId(end.headers()));
            case REQUEST_BYTES -> number(field, end.requestBytes());
            case RESPONSE_BYTES -> number(field, end.responseBytes());
            case QUEUE_US -> micros(field, end.queueNanos());
            case FIRST_BYTE_US -> micros(field, end.firstByteNanos());
            case WORKER_US -> micros(field, end.attempts() == 0 ? -1 : end.totalNanos() - end.queueNanos());
            case HANDLER_US -> micros(field, end.handlerNanos());
            case TOTAL_US -> micros(field, end.totalNanos());
            case ATTEMPTS -> number(field, end.attempts());
            case EXTRA_ATTEMPTS -> text(field, end.attempts() > 1 ? extraAttempts(end) : null);
            case RETRY_DENIAL -> {
                RetryDenial denial = end.retryDenial();
                text(field, denial == null ? null : denial.token());
            }
        }
    }

    private static @Nullable String extraAttempts(ExchangeEnd end) {
        StringJoiner reasons = new StringJoiner(",");
        for (ExtraAttempt reason : ExtraAttempt.values()) {
            for (int i = end.extraAttempts(reason); i > 0; i--) {
                reasons.add(reason.token());
            }
        }
        return reasons.length() == 0 ? null : reasons.toString();
    }

    private static @Nullable String address(@Nullable SocketAddress remote) {
        return remote instanceof InetSocketAddress inet && inet.getAddress() != null
                ? NetUtil.toAddressString(inet.getAddress())
                : null;
    }

    private static String protocol(ClientProtocol protocol) {
        return switch (protocol) {
            case HTTP_1 -> "http/1.1";
            case HTTP_2 -> "h2";
            case EMBEDDED -> "embedded";
        };
    }

    /** Appends a time, or nothing if it is negative. */
    private void micros(AccessField field, long nanos) {
        if (nanos >= 0) {
            number(field, nanos / 1000);
        }
    }

    private void number(AccessField field, long value) {
        key(field);
        line.append(value);
    }

    /** Appends a text, or nothing if it is {@code null}. */
    private void text(AccessField field, @Nullable CharSequence bytes) {
        if (bytes == null) {
            return;
        }
        key(field);
        line.append('"');
        String value = HeaderText.decode(bytes);
        int length = Math.min(value.length(), MAX_TEXT_CHARS);
        for (int i = 0; i < length; i++) {
            escape(value.charAt(i));
        }
        line.append(length < value.length() ? "...\"" : "\"");
    }

    private void key(AccessField field) {
        line.append(line.length() == 0 ? '{' : ',')
                .append('"')
                .append(field.key())
                .append("\":");
    }

    private void escape(char c) {
        if (c == '"' || c == '\\') {
            line.append('\\').append(c);
        } else if (c >= ' ' && c < 0x7f) {
            line.append(c);
        } else {
            PrintableText.appendEscape(line, c);
        }
    }
}
