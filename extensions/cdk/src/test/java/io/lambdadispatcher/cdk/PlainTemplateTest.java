package io.lambdadispatcher.cdk;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@code -Ddocs.update=true} writes the templates again. */
class PlainTemplateTest {
    @ParameterizedTest
    @EnumSource
    void should_be_what_the_construct_renders(PlainTemplate.Kind kind, @TempDir Path directory) throws IOException {
        Path template = Path.of("..", "..", "docker", kind.file);
        String rendered = PlainTemplate.render(kind, directory);
        if (Boolean.getBoolean("docs.update")) {
            Files.writeString(template, rendered);
            return;
        }
        assertThat(Files.readString(template))
                .as("%s; -Ddocs.update=true writes it again", template)
                .isEqualTo(rendered);
    }
}
