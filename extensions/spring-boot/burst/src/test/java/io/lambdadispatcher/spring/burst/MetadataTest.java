package io.lambdadispatcher.spring.burst;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.event.Json;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What IDEs show of the properties. */
class MetadataTest {
    @Test
    @SuppressWarnings("unchecked")
    void should_describe_three_properties() throws IOException {
        try (InputStream in =
                BurstProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            Map<?, ?> metadata = (Map<?, ?>) Json.read(in.readAllBytes());
            List<Map<?, ?>> properties = (List<Map<?, ?>>) metadata.get("properties");
            assertThat(properties)
                    .extracting(each -> String.valueOf(each.get("name")))
                    .containsExactlyInAnyOrder(
                            "lambda-dispatcher.burst.base-concurrency",
                            "lambda-dispatcher.burst.function",
                            "lambda-dispatcher.burst.max-workers");
            assertThat(properties)
                    .allSatisfy(each ->
                            assertThat(String.valueOf(each.get("description"))).endsWith("."));
        }
    }
}
