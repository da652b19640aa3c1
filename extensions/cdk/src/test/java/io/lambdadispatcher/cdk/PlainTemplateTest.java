package io.lambdadispatcher.cdk;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code -Ddocs.update=true} writes the template again. */
class PlainTemplateTest {
    private static final Path TEMPLATE = Path.of("..", "..", "docker", "cloudformation.json");

    @Test
    void should_be_what_the_construct_renders(@TempDir Path directory) throws IOException {
        String rendered = PlainTemplate.render(directory);
        if (Boolean.getBoolean("docs.update")) {
            Files.writeString(TEMPLATE, rendered);
            return;
        }
        assertThat(Files.readString(TEMPLATE))
                .as("%s; -Ddocs.update=true writes it again", TEMPLATE)
                .isEqualTo(rendered);
    }
}
