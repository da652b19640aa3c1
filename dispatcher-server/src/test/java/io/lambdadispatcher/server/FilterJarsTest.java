package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Settings;
import io.netty.buffer.ByteBuf;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FilterJarsTest {
    private static final String TEAPOT = """
            public final class Teapot implements io.lambdadispatcher.core.spi.Filter {
                public io.lambdadispatcher.core.spi.Decision onRequest(io.lambdadispatcher.core.spi.RequestContext request) {
                    return io.lambdadispatcher.core.spi.Decision.answer(418, Text.TEXT);
                }
            }
            """;

    @TempDir
    private Path work;

    private Path jars;

    @BeforeEach
    void create() throws Exception {
        jars = Files.createDirectory(work.resolve("jars"));
    }

    private static String classPath() {
        return Stream.of(Filter.class, ByteBuf.class, Nullable.class)
                .map(each -> Path.of(each.getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .getPath())
                        .toString())
                .collect(Collectors.joining(System.getProperty("path.separator")));
    }

    private void compile(String name, String source) throws Exception {
        Path file = Files.writeString(work.resolve(name + ".java"), source);
        int failed = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-d", work.toString(), "-cp", classPath() + ":" + work, file.toString());
        assertThat(failed).isZero();
    }

    /** @param services names of filters, {@code null} = the jar has no such file */
    private void jar(String name, @Nullable String services, String... classes) throws Exception {
        try (OutputStream out = Files.newOutputStream(jars.resolve(name));
                JarOutputStream jar = new JarOutputStream(out)) {
            for (String each : classes) {
                jar.putNextEntry(new JarEntry(each + ".class"));
                Files.copy(work.resolve(each + ".class"), jar);
            }
            if (services != null) {
                jar.putNextEntry(new JarEntry("META-INF/services/" + Filter.class.getName()));
                jar.write(services.getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    @Test
    void should_find_a_filter_that_uses_another_jar() throws Exception {
        compile("Text", "public interface Text { String TEXT = Text.class.getSimpleName(); }");
        compile("Teapot", TEAPOT);
        jar("a.jar", "# of the test\nTeapot # short\n", "Teapot");
        jar("b.jar", null, "Text");
        assertThat(FilterJars.load(jars)).singleElement().satisfies(filter -> {
            assertThat(filter.getClass().getName()).isEqualTo("Teapot");
            Decision.Answer answer = (Decision.Answer) filter.onRequest(null);
            assertThat(answer.status()).isEqualTo(418);
            assertThat(answer.body()).asString().isEqualTo("Text");
        });
    }

    @Test
    void should_name_the_jar_of_an_error() throws Exception {
        compile("Broken", "public class Broken {}");
        jar("filters.jar", "Broken", "Broken");
        assertFails("filters.jar: Broken: java.lang.ClassCastException");
        compile("Text", "public interface Text { String TEXT = \"\"; }");
        compile(
                "Teapot",
                TEAPOT.replace("{\n    public io", "{ public Teapot() { throw new Error(\"no key\"); }\n public io"));
        jar("filters.jar", "Teapot", "Teapot");
        assertFails("filters.jar: Teapot: java.lang.Error: no key");
        jar("filters.jar", "Gone");
        assertFails("filters.jar: Gone: java.lang.ClassNotFoundException");
        Files.writeString(jars.resolve("filters.jar"), "no jar");
        assertFails("filters.jar: java.util.zip.ZipException");
        Files.delete(jars.resolve("filters.jar"));
        assertFails("no jar of " + jars);
        Files.delete(jars);
        assertFails("NoSuchFileException");
    }

    private void assertFails(String message) {
        assertThatThrownBy(() -> FilterJars.load(jars))
                .isInstanceOf(StartException.class)
                .hasMessageStartingWith("filters.path: ")
                .hasMessageContaining(message);
    }

    @Test
    void should_load_the_filters_of_the_setting() throws Exception {
        jar("filters.jar", "Gone");
        Configuration configuration = ConfigurationLoader.load(
                Map.of(Settings.WORKERS_SECRET, "0123456789abcdef"),
                null,
                Map.of(),
                Map.of("--filters-path", jars.toString()),
                List.of());
        assertThatThrownBy(
                        () -> new DispatcherAssembly(configuration).builder(Transport.nio(), InheritedSockets.none()))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("filters.jar: Gone");
    }
}
