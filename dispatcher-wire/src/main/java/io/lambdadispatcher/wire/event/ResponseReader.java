package io.lambdadispatcher.wire.event;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.util.CharsetUtil;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.json.JsonFactory;

/**
 * Reads the result of a function. Members that the format does not have are ignored, as AWS does:
 * {@code headers} of a target group with multi-value headers, and {@code cookies} of one without.
 * The first loss of a header by this is reported. Any thread.
 */
public final class ResponseReader {
    /**
     * Maximum nesting depth. Each level takes memory beside the payload, and a payload of a few MiB
     * could have millions of levels.
     */
    private static final int MAX_LEVELS = 10_000;

    /** Maximum number of headers that are checked for a loss. */
    private static final int MAX_NOTED = 100;

    private static final String SET_COOKIE = "set-cookie";

    /** Without other limits, because the payload is in memory already. */
    private static final JsonFactory JSON = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_LEVELS)
                    .maxNameLength(Integer.MAX_VALUE)
                    .maxNumberLength(Integer.MAX_VALUE)
                    .maxStringLength(Integer.MAX_VALUE)
                    .build())
            .build();

    private final EventFormat format;
    private final Consumer<String> onLoss;
    private final AtomicBoolean lossReported = new AtomicBoolean();

    public ResponseReader(EventFormat format) {
        this(format, loss -> {});
    }

    /**
     * @param onLoss receives a text for logs when a response loses a header for the first time,
     *     because it is in a member that the format does not have; called on the thread that reads
     */
    public ResponseReader(EventFormat format, Consumer<String> onLoss) {
        this.format = format;
        this.onLoss = onLoss;
    }

    /** @param method method of the request */
    public FunctionResponse read(byte[] payload, CharSequence method) throws BadResponseException {
        try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), payload)) {
            Members members = new Members();
            String text = readValue(json, members);
            if (json.nextToken() != null) {
                throw new BadResponseException("JSON continues after its end");
            }
            if (!members.hasStatus) {
                return inferred(payload, text, method);
            }
            FunctionResponse response = explicit(members, method);
            reportLoss(members);
            return response;
        } catch (StreamConstraintsException e) {
            throw new BadResponseException("JSON of more than " + MAX_LEVELS + " levels");
        } catch (JacksonException e) {
            throw new BadResponseException("malformed JSON");
        }
    }

    /** @return the text of a string; {@code null} for any other value */
    private @Nullable String readValue(JsonParser json, Members into) throws BadResponseException {
        JsonToken first = json.nextToken();
        if (first == null) {
            throw new BadResponseException("empty");
        }
        if (first == JsonToken.VALUE_STRING) {
            return json.getString();
        }
        if (first == JsonToken.START_OBJECT) {
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = json.currentName();
                json.nextToken();
                try {
                    readMember(name, json, into);
                } catch (BadResponseException e) {
                    into.problem = into.problem == null ? e : into.problem;
                    skipRest(json);
                }
            }
        } else {
            // Jackson reads scalars lazily. A malformed one must be found.
            json.skipChildren();
            json.getString();
        }
        return null;
    }

    /** Skips the rest of the member that could not be read. */
    private static void skipRest(JsonParser json) {
        while (json.streamReadContext().getNestingDepth() > 1) {
            json.nextToken();
        }
    }

    private void readMember(String name, JsonParser json, Members into) throws BadResponseException {
        switch (name) {
            case "statusCode" -> into.status(json);
            case "body" -> into.body = text(json, name);
            case "isBase64Encoded" -> into.base64 = bool(json, name);
            case "headers" -> {
                if (format == EventFormat.ALB_MULTI_VALUE) {
                    noteIgnored(json, name, into);
                } else {
                    readFields(json, format == EventFormat.REST_API ? into.singles() : into.head, false);
                }
            }
            case "multiValueHeaders" -> {
                if (format == EventFormat.ALB_MULTI_VALUE || format == EventFormat.REST_API) {
                    readFields(json, into.head, true);
                } else {
                    noteIgnored(json, name, into);
                }
            }
            case "cookies" -> {
                if (isFormat2()) {
                    readItems(json, SET_COOKIE, into.head);
                } else {
                    noteIgnored(json, name, into);
                }
            }
            default -> json.skipChildren();
        }
    }

    /** Notes which headers a member has that the format does not have. */
    private void noteIgnored(JsonParser json, String member, Members into) {
        if (lossReported.get() || !json.currentToken().isStructStart()) {
            json.skipChildren();
            return;
        }
        boolean cookies = json.currentToken() == JsonToken.START_ARRAY;
        int level = json.streamReadContext().getNestingDepth();
        String name = cookies ? SET_COOKIE : "";
        while (json.nextToken() != null && json.streamReadContext().getNestingDepth() >= level) {
            if (json.currentToken() == JsonToken.PROPERTY_NAME) {
                name = json.currentName().toLowerCase(Locale.ROOT);
            } else if (json.currentToken() == JsonToken.VALUE_STRING && into.ignored.size() < MAX_NOTED) {
                into.ignored.putIfAbsent(name, member);
                into.ignoredCookies += name.equals(SET_COOKIE) ? 1 : 0;
            }
        }
    }

    private void reportLoss(Members members) {
        members.ignored.forEach((name, member) -> {
            int sent = name.equals(SET_COOKIE) ? members.ignoredCookies : 1;
            if (members.head.hasFewer(name, sent) && lossReported.compareAndSet(false, true)) {
                onLoss.accept("a response of the function has " + HeaderSyntax.printable(name) + " in " + member
                        + ", which responses to " + format.text()
                        + " events do not have, so the client does not get it");
            }
        });
    }

    private static void readFields(JsonParser json, FunctionResponseHead head, boolean multiValue)
            throws BadResponseException {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            return;
        }
        if (json.currentToken() != JsonToken.START_OBJECT) {
            throw new BadResponseException("headers is not an object");
        }
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = json.currentName();
            json.nextToken();
            if (multiValue) {
                readItems(json, name, head);
            } else {
                add(json, name, head);
            }
        }
    }

    private static void readItems(JsonParser json, String name, FunctionResponseHead head) throws BadResponseException {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            return;
        }
        if (json.currentToken() != JsonToken.START_ARRAY) {
            throw new BadResponseException("the values of " + HeaderSyntax.printable(name) + " are not an array");
        }
        while (json.nextToken() != JsonToken.END_ARRAY) {
            add(json, name, head);
        }
    }

    private static void add(JsonParser json, String name, FunctionResponseHead head) throws BadResponseException {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            return;
        }
        if (!json.currentToken().isScalarValue()) {
            throw new BadResponseException("the value of " + HeaderSyntax.printable(name) + " is not a string");
        }
        head.add(name, json.getString());
    }

    private static @Nullable String text(JsonParser json, String name) throws BadResponseException {
        return switch (json.currentToken()) {
            case VALUE_STRING -> json.getString();
            case VALUE_NULL -> null;
            default -> throw new BadResponseException(name + " is not a string");
        };
    }

    private static boolean bool(JsonParser json, String name) throws BadResponseException {
        return switch (json.currentToken()) {
            case VALUE_TRUE -> true;
            case VALUE_FALSE, VALUE_NULL -> false;
            default -> throw new BadResponseException(name + " is neither true nor false");
        };
    }

    private static FunctionResponse explicit(Members members, CharSequence method) throws BadResponseException {
        if (members.problem != null) {
            throw members.problem;
        }
        if (members.singles != null) {
            members.head.merge(members.singles);
        }
        return members.head.response(members.status, bytes(members), method);
    }

    private static byte[] bytes(Members members) throws BadResponseException {
        String body = members.body;
        if (body == null) {
            return new byte[0];
        }
        if (!members.base64) {
            return body.getBytes(CharsetUtil.UTF_8);
        }
        try {
            return Base64Body.decode(body);
        } catch (IllegalArgumentException e) {
            throw new BadResponseException("body is not base64");
        }
    }

    private boolean isFormat2() {
        return format == EventFormat.HTTP_API_V2 || format == EventFormat.FUNCTION_URL;
    }

    /**
     * Format 2.0 takes any other JSON as a body: an HTTP API takes a string's text, and a function
     * URL takes the string with its quotes.
     */
    private FunctionResponse inferred(byte[] payload, @Nullable String text, CharSequence method)
            throws BadResponseException {
        if (!isFormat2()) {
            throw new BadResponseException("no statusCode");
        }
        FunctionResponseHead head = new FunctionResponseHead();
        head.add("content-type", "application/json");
        byte[] body = text != null && format == EventFormat.HTTP_API_V2 ? text.getBytes(CharsetUtil.UTF_8) : payload;
        return head.response(200, body, method);
    }

    /** The members of a response object that have been read so far. */
    private static final class Members {
        final FunctionResponseHead head = new FunctionResponseHead();

        /** {@code headers} of a REST API. Its {@code multiValueHeaders} are in {@link #head}. */
        @Nullable
        FunctionResponseHead singles;

        boolean hasStatus;
        int status;
        boolean base64;

        /** Names of headers in members that the format does not have, and these members. */
        final Map<String, String> ignored = new LinkedHashMap<>(0);

        int ignoredCookies;

        @Nullable
        String body;

        /**
         * The first error. It does not count if there is no status, because then the object is not
         * a response.
         */
        @Nullable
        BadResponseException problem;

        FunctionResponseHead singles() {
            if (singles == null) {
                singles = new FunctionResponseHead();
            }
            return singles;
        }

        void status(JsonParser json) throws BadResponseException {
            hasStatus = true;
            String text = switch (json.currentToken()) {
                case VALUE_NUMBER_INT, VALUE_STRING -> json.getString();
                default -> throw new BadResponseException("statusCode is not a number");
            };
            status = FunctionResponseHead.status(text);
        }
    }
}
