package io.lambdadispatcher.spring.dispatcher;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.event.Json;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What IDEs show of the properties. */
class MetadataTest {
    @Test
    void should_describe_every_property_and_name_no_other() throws IOException {
        List<Map<?, ?>> properties = properties();
        Set<String> names = properties.stream()
                .map(each -> String.valueOf(each.get("name")))
                .collect(Collectors.toSet());
        assertThat(names)
                .contains(
                        "lambda-dispatcher.function.name",
                        "lambda-dispatcher.public.plain.port",
                        "lambda-dispatcher.public.tls.certificate",
                        "lambda-dispatcher.workers.secret",
                        "lambda-dispatcher.shutdown.grace")
                .allMatch(name ->
                        name.startsWith("lambda-dispatcher.") || name.startsWith("management.endpoint.dispatcher."));
        assertThat(properties)
                .allSatisfy(each -> assertThat(each.get("description"))
                        .as(String.valueOf(each.get("name")))
                        .asString()
                        .endsWith("."));
    }

    @SuppressWarnings("unchecked")
    private static List<Map<?, ?>> properties() throws IOException {
        try (InputStream in =
                DispatcherProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            Map<?, ?> metadata = (Map<?, ?>) Json.read(in.readAllBytes());
            return (List<Map<?, ?>>) metadata.get("properties");
        }
    }
}
