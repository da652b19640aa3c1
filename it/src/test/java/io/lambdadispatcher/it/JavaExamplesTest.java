package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compiles each Java example in the documents and in the Javadoc of the exported packages. The
 * examples for Spring Boot and the AWS CDK are not compiled here, because these are not on the
 * class path of this module. Complete files in the documents are compared with those of {@code
 * it/consumers}, which are compiled and run.
 */
class JavaExamplesTest {
    private static final List<String> MODULES = List.of(
            "dispatcher-core",
            "lambda-worker",
            "extensions/access-log",
            "extensions/aws",
            "extensions/cache",
            "extensions/compression",
            "extensions/micrometer",
            "extensions/opentelemetry",
            "extensions/shadow",
            "extensions/test");
    private static final Pattern EXPORTS = Pattern.compile("(?m)^ *exports ([\\w.]+);");
    private static final Pattern EXAMPLE = Pattern.compile("(?s)<pre>\\{@code\\n(.*?)\\n[ *]*}</pre>");

    private static final Pattern BLOCK = Pattern.compile("(?ms)^ *```java[^\\n]*\\n(.*?)\\n *```$");
    private static final Pattern IMPORT = Pattern.compile("(?m)^(import .*;\\n)");
    private static final Pattern COMPLETE_FILE = Pattern.compile("(?m)^(package|module) .*");
    private static final Pattern METHOD = Pattern.compile("public [\\w<>]+ \\w+\\(");

    /** The module of the construct compares these with classes that it compiles. */
    private static final String OF_THE_CDK = "LambdaDispatcher.Builder";

    /** The imports and fields that examples can use without showing them. */
    private static final String IMPORTS = """
            import static org.junit.jupiter.api.Assertions.assertEquals;
            import com.amazonaws.services.lambda.runtime.*;
            import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
            import io.micrometer.core.instrument.MeterRegistry;
            import io.netty.buffer.*;
            import io.opentelemetry.api.OpenTelemetry;
            import io.netty.channel.epoll.*;
            import io.netty.handler.codec.http2.*;
            import java.net.*;
            import java.nio.charset.StandardCharsets;
            import java.nio.file.Path;
            import java.time.*;
            import java.util.*;
            import java.util.concurrent.*;
            import java.util.concurrent.locks.LockSupport;
            import java.util.function.*;
            import org.junit.jupiter.api.Test;
            import org.slf4j.*;
            import software.amazon.awssdk.services.dynamodb.*;
            import software.amazon.awssdk.services.s3.*;
            """;

    private static final String FIELDS = """
            interface Tracer { SpanBuilder spanBuilder(String name); }
            interface SpanBuilder { Span startSpan(); }
            interface Span { Span setAttribute(String name, long value); void end(); }
            static class HikariConfig {
                void setJdbcUrl(String url) {}
                void setMaximumPoolSize(int connections) {}
            }
            interface HikariPool {
                void softEvictConnections();
                int getTotalConnections();
            }
            static class HikariDataSource extends HikariConfig implements AutoCloseable {
                HikariDataSource(HikariConfig config) {}
                HikariPool getHikariPoolMXBean() { throw new IllegalStateException(); }
                java.sql.Connection getConnection() { throw new IllegalStateException(); }
                public void close() {}
            }
            Tracer tracer;
            Dispatcher dispatcher;
            Dispatcher previous;
            Handler handler;
            MeterRegistry registry;
            OpenTelemetry openTelemetry;
            String secret;
            static final String SECRET = "sixteen bytes at least";
            SnapshotListener listener;
            WorkerLauncher launcher;
            static class ErrorTracker {
                static void report(Throwable failure) {}
            }
            static class Echo implements WebSocketHandler {
                public WebSocketListener onOpen(WebSocketSession session) {
                    return new WebSocketListener() {};
                }
            }
            WorkerConfig config;
            WorkerLauncher.LaunchRequest request;
            static class Greeter implements Handler {
                public void handle(Request request, Response response) {}
            }
            """;

    /**
     * An example, which becomes a class with one method.
     *
     * @param name the file that contains it
     */
    private record Example(String name, String className, String code) {

        /** An example is a method, the statements of one, or an expression. */
        private String member() {
            String body = IMPORT.matcher(code).replaceAll("");
            if (METHOD.matcher(body).lookingAt()) {
                return body;
            }
            String statements = body.contains(";") ? body : "Object value = " + body + ";";
            return "void example() throws Exception {\n" + statements.replaceAll("public (final )?class", "class")
                    + "\n}";
        }

        static Example of(Path file, int number, String code) {
            return new Example(file.toString(), "Example" + number, code.strip());
        }

        JavaFileObject source(String imports) {
            String own = String.join("", found(IMPORT, code));
            String text = imports + own + "class " + className + " {\n" + FIELDS + member() + "\n}\n";
            return new SimpleJavaFileObject(
                    URI.create("string:///" + className + ".java"), JavaFileObject.Kind.SOURCE) {
                @Override
                public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                    return text;
                }
            };
        }
    }

    @Test
    void should_compile(@TempDir Path classes) throws IOException {
        List<Example> examples = new ArrayList<>();
        StringBuilder imports = new StringBuilder(IMPORTS);
        for (String module : MODULES) {
            Path root = Path.of("..", module, "src/main/java");
            for (String exported : found(EXPORTS, Files.readString(root.resolve("module-info.java")))) {
                imports.append("import ").append(exported).append(".*;\n");
                for (Path file : files(root.resolve(exported.replace('.', '/')), ".java")) {
                    for (String code : found(EXAMPLE, Files.readString(file))) {
                        examples.add(Example.of(file, examples.size(), code.replaceAll("(?m)^ *\\* ?", "")));
                    }
                }
            }
        }
        int inJavadoc = examples.size();
        for (Path page : pages()) {
            for (String code : found(BLOCK, Files.readString(page))) {
                if (!COMPLETE_FILE.matcher(code).find() && !code.contains(OF_THE_CDK)) {
                    examples.add(Example.of(page, examples.size(), code));
                }
            }
        }

        assertThat(inJavadoc).isGreaterThan(40);
        assertThat(examples).hasSizeGreaterThan(inJavadoc + 10);
        assertThat(errors(examples, imports.toString(), classes)).isEmpty();
    }

    private static List<Path> pages() throws IOException {
        List<Path> pages =
                new ArrayList<>(List.of(Path.of("../README.md"), Path.of("../docs/tutorials/first-worker.md")));
        pages.addAll(files(Path.of("../docs/guides"), ".md"));
        pages.addAll(files(Path.of("../docs/reference"), ".md"));
        pages.addAll(files(Path.of("../docs/explanation"), ".md"));
        pages.removeIf(page -> page.endsWith("spring-boot.md"));
        return pages;
    }

    private static List<String> errors(List<Example> examples, String imports, Path classes) {
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        List<String> options =
                List.of("-d", classes.toString(), "-proc:none", "-classpath", System.getProperty("java.class.path"));
        List<JavaFileObject> sources =
                examples.stream().map(example -> example.source(imports)).toList();
        ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, found, options, null, sources)
                .call();
        return found.getDiagnostics().stream()
                .filter(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
                .map(diagnostic -> describe(diagnostic, examples, sources))
                .toList();
    }

    private static String describe(
            Diagnostic<? extends JavaFileObject> diagnostic, List<Example> examples, List<JavaFileObject> sources) {
        Example example = examples.get(sources.indexOf(diagnostic.getSource()));
        return example.name() + ": " + diagnostic.getMessage(Locale.ROOT) + "\n" + example.code();
    }

    private static List<String> found(Pattern pattern, String text) {
        return pattern.matcher(text).results().map(result -> result.group(1)).toList();
    }

    private static List<Path> files(Path directory, String suffix) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(suffix))
                    .sorted()
                    .toList();
        }
    }
}
