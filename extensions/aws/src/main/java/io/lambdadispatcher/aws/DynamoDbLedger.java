package io.lambdadispatcher.aws;

import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.LedgerException;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.retries.api.BackoffStrategy;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ResourceInUseException;
import software.amazon.awssdk.services.dynamodb.model.ResourceNotFoundException;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.TableDescription;

/**
 * Keeps a fleet's entries in a DynamoDB table. Several fleets can share one table.
 *
 * <pre>{@code
 * DynamoDbLedger ledger = DynamoDbLedger.builder()
 *         .region("eu-central-1")
 *         .table("lambda-dispatcher")
 *         .fleet("production")
 *         .build();
 * }</pre>
 *
 * <p><b>Table.</b> {@link Builder#createTable} creates it, and so does the command {@code
 * dispatcher fleet init}. Its partition key is {@code fleet} and its sort key is {@code entry},
 * both strings. An item also has the attributes {@code version}, a number, and {@code value}, a
 * string. All dispatchers of a fleet must use the same region, because replicas of a global table
 * in other regions see writes later.
 *
 * <p><b>Permissions.</b> Credentials come from the SDK's default chain. They need {@code
 * dynamodb:Query}, {@code dynamodb:PutItem} and {@code dynamodb:DeleteItem} on the table.
 *
 * <p><b>Errors.</b> A call has 3 s. A write is sent once, because a repeated one would find the
 * version that its first attempt has written. A read is sent once more if its connection is closed,
 * which a server may do with a kept one at any time.
 *
 * <p><b>Threading.</b> Any thread. Requests are signed and sent on one thread of the ledger.
 */
public final class DynamoDbLedger implements Ledger {
    /** The IAM actions on the table that a ledger needs. */
    public static final List<String> ACTIONS = List.of("dynamodb:Query", "dynamodb:PutItem", "dynamodb:DeleteItem");

    private static final List<String> ACTIONS_TO_CREATE = List.of("dynamodb:DescribeTable", "dynamodb:CreateTable");

    private static final String FLEET = "fleet";
    private static final String ENTRY = "entry";
    private static final String VERSION = "version";
    private static final String VALUE = "value";

    /** The form is that of {@link Builder#keys}. */
    private static final String KEYS = FLEET + " (HASH, S) and " + ENTRY + " (RANGE, S)";

    private static final Duration TIMEOUT = Duration.ofSeconds(3);
    private static final Duration TIMEOUT_OF_TABLES = Duration.ofMinutes(2);

    private final String table;
    private final String fleet;
    private final EventLoopGroup eventLoop = AwsLocation.eventLoop("ledger");
    private final DynamoDbAsyncClient client;

    /** Signs and sends requests, which blocks if credentials must be fetched. */
    private final ExecutorService caller =
            Executors.newSingleThreadExecutor(new DefaultThreadFactory("ledger-caller", true));

    private DynamoDbLedger(Builder from) {
        table = from.table();
        fleet = from.fleet;
        client = from.client(eventLoop, TIMEOUT);
    }

    /** Returns a builder for the fleet {@code default}, without a table. */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public CompletionStage<List<Entry>> read() {
        return call(() -> query().exceptionallyComposeAsync(
                        error -> isCutOff(InvokeOutcome.unwrapped(error))
                                ? query()
                                : CompletableFuture.failedFuture(error),
                        caller));
    }

    private static boolean isCutOff(Throwable error) {
        Throwable reason = error instanceof SdkClientException ? error.getCause() : null;
        return reason instanceof IOException
                && !(reason instanceof ConnectException
                        || reason instanceof NoRouteToHostException
                        || reason instanceof SSLException
                        || reason.getCause() instanceof io.netty.handler.timeout.TimeoutException);
    }

    private CompletableFuture<List<Entry>> query() {
        List<Entry> entries = new ArrayList<>();
        return client.queryPaginator(query -> query.tableName(table)
                        .consistentRead(true)
                        .keyConditionExpression("#fleet = :fleet")
                        .expressionAttributeNames(Map.of("#fleet", FLEET))
                        .expressionAttributeValues(Map.of(":fleet", AttributeValue.fromS(fleet))))
                .items()
                .subscribe(item -> {
                    Entry entry = entry(item);
                    if (entry != null) {
                        entries.add(entry);
                    }
                })
                .thenApply(all -> List.copyOf(entries));
    }

    /**
     * Returns the entry that the item holds, or one without a value if it holds none.
     *
     * @return {@code null} if no entry can have the key
     */
    private static @Nullable Entry entry(Map<String, AttributeValue> item) {
        String key =
                Objects.requireNonNull(item.get(ENTRY), "the key of the table").s();
        AttributeValue version = item.get(VERSION);
        AttributeValue value = item.get(VALUE);
        try {
            if (version != null && version.n() != null && value != null && value.s() != null) {
                return new Entry(key, Long.parseLong(version.n()), value.s());
            }
        } catch (IllegalArgumentException e) {
            // The version is no whole number, or the value is too large.
        }
        return key.length() > MAX_KEY_CHARS ? null : new Entry(key, 1, "");
    }

    @Override
    public CompletionStage<Boolean> write(String key, long expectedVersion, String value) {
        Entry written = new Entry(key, expectedVersion + 1, value);
        Map<String, AttributeValue> item = new HashMap<>(key(key));
        item.put(VERSION, number(written.version()));
        item.put(VALUE, AttributeValue.fromS(value));
        return ifExpected(() -> client.putItem(put -> {
            put.tableName(table).item(item);
            if (expectedVersion == 0) {
                put.conditionExpression("attribute_not_exists(#entry)")
                        .expressionAttributeNames(Map.of("#entry", ENTRY));
            } else {
                put.conditionExpression("#version = :version")
                        .expressionAttributeNames(Map.of("#version", VERSION))
                        .expressionAttributeValues(Map.of(":version", number(expectedVersion)));
            }
        }));
    }

    @Override
    public CompletionStage<Boolean> remove(String key, long version) {
        new Entry(key, version, ""); // Checks the arguments.
        return ifExpected(() -> client.deleteItem(delete -> delete.tableName(table)
                .key(key(key))
                .conditionExpression("#version = :version")
                .expressionAttributeNames(Map.of("#version", VERSION))
                .expressionAttributeValues(Map.of(":version", number(version)))));
    }

    private Map<String, AttributeValue> key(String key) {
        return Map.of(FLEET, AttributeValue.fromS(fleet), ENTRY, AttributeValue.fromS(key));
    }

    private static AttributeValue number(long value) {
        return AttributeValue.fromN(Long.toString(value));
    }

    /** Sends a write. Its result is whether the condition held. */
    private CompletionStage<Boolean> ifExpected(Supplier<CompletableFuture<?>> write) {
        return call(() -> write.get().handle((response, error) -> {
            if (error == null) {
                return true;
            }
            if (InvokeOutcome.unwrapped(error) instanceof ConditionalCheckFailedException) {
                return false;
            }
            throw new CompletionException(InvokeOutcome.unwrapped(error));
        }));
    }

    private <T> CompletionStage<T> call(Supplier<CompletableFuture<T>> request) {
        CompletableFuture<T> call = new CompletableFuture<>();
        try {
            caller.execute(() -> send(request, call));
        } catch (RejectedExecutionException e) {
            return CompletableFuture.failedFuture(new LedgerException("the ledger is closed", e));
        }
        CompletableFuture<T> result = new CompletableFuture<>();
        call.orTimeout(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS).whenComplete((value, error) -> {
            if (error == null) {
                result.complete(value);
            } else {
                result.completeExceptionally(failure(error));
            }
        });
        return result;
    }

    private static <T> void send(Supplier<CompletableFuture<T>> request, CompletableFuture<T> call) {
        if (call.isDone()) {
            return; // It has timed out.
        }
        try {
            request.get().whenComplete((value, error) -> {
                if (error == null) {
                    call.complete(value);
                } else {
                    call.completeExceptionally(error);
                }
            });
        } catch (RuntimeException e) {
            // The client throws before it sends, for example if there are no credentials.
            call.completeExceptionally(e);
        }
    }

    private LedgerException failure(Throwable error) {
        return failure(table, client, ACTIONS, InvokeOutcome.unwrapped(error));
    }

    /** @param actions the IAM actions that the caller needs */
    private static LedgerException failure(
            String table, DynamoDbAsyncClient client, List<String> actions, Throwable cause) {
        String region = client.serviceClientConfiguration().region().id();
        return new LedgerException("DynamoDB table " + table + " in " + region + ": " + reason(actions, cause), cause);
    }

    private static String reason(List<String> actions, Throwable cause) {
        if (cause instanceof ResourceNotFoundException) {
            return "there is no such table. Create it with: dispatcher fleet init";
        }
        if (cause instanceof TimeoutException) {
            return "no answer within " + TIMEOUT.toSeconds() + " s. Check the network path to DynamoDB";
        }
        String message = InvokeOutcome.oneLine(PrintableText.ofFailure(cause));
        if (cause instanceof AwsServiceException answer
                && answer.awsErrorDetails() != null
                && "AccessDeniedException".equals(answer.awsErrorDetails().errorCode())) {
            return "access denied. Allow " + String.join(", ", actions) + " on the table (" + message + ")";
        }
        return message;
    }

    @Override
    public void close() {
        caller.shutdownNow();
        client.close();
        AwsLocation.close(eventLoop);
    }

    /**
     * The table of a ledger.
     *
     * @param arn its Amazon Resource Name, for policies
     * @param created whether the call has created it; {@code false} = it existed
     */
    public record Table(String arn, boolean created) {}

    /** Builds a {@link DynamoDbLedger}. Not thread-safe. */
    public static final class Builder extends AwsLocation<Builder> {
        private @Nullable String table;
        private String fleet = "default";

        private Builder() {}

        @Override
        Builder self() {
            return this;
        }

        /**
         * Sets the name of the table, or its ARN if it belongs to another account. Must be called.
         */
        public Builder table(String value) {
            table = value;
            return this;
        }

        /**
         * Sets the name of the fleet, 1 to 255 characters. Fleets with different names share no
         * entries. Default: {@code default}.
         *
         * @throws IllegalArgumentException if the name is empty or too long
         */
        public Builder fleet(String value) {
            if (value.isEmpty() || value.length() > 255) {
                throw new IllegalArgumentException("fleet: '" + value + "', expected 1 to 255 characters");
            }
            fleet = value;
            return this;
        }

        /**
         * Returns the ledger. Nothing is sent yet.
         *
         * @throws IllegalStateException if there is no table name
         * @throws software.amazon.awssdk.core.exception.SdkClientException if there is no region
         */
        public DynamoDbLedger build() {
            return new DynamoDbLedger(this);
        }

        /**
         * Creates the table with on-demand billing if it does not exist. Blocks until the table can
         * be used, at most 2 minutes. Credentials need {@code dynamodb:DescribeTable} and {@code
         * dynamodb:CreateTable}. If the table exists, it remains unchanged.
         *
         * @throws IllegalStateException if there is no table name
         * @throws LedgerException if the table exists and has other keys, or cannot be created
         * @throws software.amazon.awssdk.core.exception.SdkClientException if there is no region
         */
        public Table createTable() {
            String name = table();
            EventLoopGroup eventLoop = AwsLocation.eventLoop("ledger-table");
            try (DynamoDbAsyncClient client = client(eventLoop, TIMEOUT_OF_TABLES)) {
                try {
                    return createTable(client, name);
                } catch (CompletionException e) {
                    throw failure(name, client, ACTIONS_TO_CREATE, InvokeOutcome.unwrapped(e));
                }
            } finally {
                AwsLocation.close(eventLoop);
            }
        }

        private static Table createTable(DynamoDbAsyncClient client, String name) {
            boolean created = !exists(client, name) && create(client, name);
            TableDescription table = client.waiter()
                    .waitUntilTableExists(
                            describe -> describe.tableName(name),
                            wait -> wait.waitTimeout(TIMEOUT_OF_TABLES)
                                    .maxAttempts(Integer.MAX_VALUE)
                                    .backoffStrategyV2(BackoffStrategy.fixedDelayWithoutJitter(Duration.ofSeconds(1))))
                    .join()
                    .matched()
                    .response()
                    .orElseThrow()
                    .table();
            String keys = keys(table);
            if (!keys.equals(KEYS)) {
                throw new LedgerException(
                        "DynamoDB table " + table.tableArn() + ": expected the keys " + KEYS + ", got " + keys
                                + ". Choose another table",
                        null);
            }
            return new Table(table.tableArn(), created);
        }

        private static boolean exists(DynamoDbAsyncClient client, String name) {
            try {
                client.describeTable(describe -> describe.tableName(name)).join();
                return true;
            } catch (CompletionException e) {
                if (InvokeOutcome.unwrapped(e) instanceof ResourceNotFoundException) {
                    return false;
                }
                throw e;
            }
        }

        /** Returns {@code false} if another process has just created the table. */
        private static boolean create(DynamoDbAsyncClient client, String name) {
            try {
                client.createTable(create -> create.tableName(name)
                                .billingMode(BillingMode.PAY_PER_REQUEST)
                                .keySchema(key(FLEET, KeyType.HASH), key(ENTRY, KeyType.RANGE))
                                .attributeDefinitions(text(FLEET), text(ENTRY)))
                        .join();
                return true;
            } catch (CompletionException e) {
                if (InvokeOutcome.unwrapped(e) instanceof ResourceInUseException) {
                    return false;
                }
                throw e;
            }
        }

        private static KeySchemaElement key(String name, KeyType type) {
            return KeySchemaElement.builder().attributeName(name).keyType(type).build();
        }

        private static AttributeDefinition text(String name) {
            return AttributeDefinition.builder()
                    .attributeName(name)
                    .attributeType(ScalarAttributeType.S)
                    .build();
        }

        /** Returns the keys of a table as text, for example {@code fleet (HASH, S)}. */
        private static String keys(TableDescription table) {
            Map<String, String> types = table.attributeDefinitions().stream()
                    .collect(Collectors.toMap(
                            AttributeDefinition::attributeName, AttributeDefinition::attributeTypeAsString));
            return table.keySchema().stream()
                    .map(key -> key.attributeName() + " (" + key.keyTypeAsString() + ", "
                            + types.get(key.attributeName()) + ")")
                    .collect(Collectors.joining(" and "));
        }

        private String table() {
            if (table == null) {
                throw new IllegalStateException("table: not set, expected the name of a DynamoDB table");
            }
            return table;
        }

        private DynamoDbAsyncClient client(EventLoopGroup eventLoop, Duration timeout) {
            return client(
                            DynamoDbAsyncClient.builder(),
                            NettyNioAsyncHttpClient.builder()
                                    .connectionTimeout(TIMEOUT)
                                    .readTimeout(timeout)
                                    .writeTimeout(timeout)
                                    .eventLoopGroup(AwsLocation.shared(eventLoop)))
                    .asyncConfiguration(AwsLocation::complete)
                    .build();
        }
    }
}
