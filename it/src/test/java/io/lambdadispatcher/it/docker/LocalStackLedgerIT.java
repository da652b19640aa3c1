package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.aws.DynamoDbLedger;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.test.LedgerContract;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.testcontainers.localstack.LocalStackContainer;

/** Runs the tests of a ledger against the DynamoDB of LocalStack. */
@DockerTest(Image.LOCALSTACK)
class LocalStackLedgerIT extends LedgerContract {
    private static LocalStackContainer localStack;

    @BeforeAll
    static void start() {
        // For the SDK's default chain. LocalStack accepts any values.
        System.setProperty("aws.accessKeyId", "test");
        System.setProperty("aws.secretAccessKey", "test");
        localStack = new LocalStackContainer(
                        Image.LOCALSTACK.imageName().asCompatibleSubstituteFor("localstack/localstack"))
                .withServices("dynamodb")
                .withEnv("DYNAMODB_IN_MEMORY", "1")
                .withStartupTimeout(Duration.ofMinutes(5));
        localStack.start();
        assertThat(table().createTable().created()).isTrue();
    }

    @AfterAll
    static void stop() {
        localStack.stop();
    }

    private static DynamoDbLedger.Builder table() {
        return DynamoDbLedger.builder()
                .region(Cloud.REGION)
                .endpoint(localStack.getEndpoint())
                .table("lambda-dispatcher");
    }

    @Override
    protected Ledger open(String fleet) {
        return table().fleet(fleet).build();
    }

    @Test
    void should_find_a_table_that_exists() {
        DynamoDbLedger.Table again = table().createTable();
        assertThat(again.created()).isFalse();
        assertThat(again.arn()).endsWith(":table/lambda-dispatcher");
    }
}
