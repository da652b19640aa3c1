package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Messages tell operators the names of settings, durations in seconds and causes, never names of
 * Java. Each exception is listed here. {@link IncidentsIT} reads the complete lines of a log.
 */
class MessagesTest {
    private static final Path ROOT = Path.of("..");

    /** Their messages name an argument or a method to the program that has called it. */
    private static final Set<String> API = Set.of(
            "AccessLog",
            "AwsConnections",
            "BodyGatherer",
            "BuilderChecks",
            "CachePolicy",
            "CapacityPolicy",
            "ClientSide",
            "Decision",
            "DispatchResponse",
            "DispatcherBuilder",
            "DispatcherProperties",
            "DownstreamBudget",
            "DownstreamShare",
            "ErrorRenderer",
            "HttpCache",
            "HttpLimits",
            "LambdaDispatcher",
            "LambdaFunctions",
            "LaunchHistory",
            "Lifecycles",
            "WebSocketOptions",
            "WorkerSide");

    private static final Map<String, String> OTHERS = Map.of(
            "FunctionResponseHead", "statusCode is a member of the response of a Lambda function",
            "ResponseReader", "statusCode is a member of the response of a Lambda function",
            "Main", "says what to do after an unexpected failure");

    private static final Pattern COMMENT = Pattern.compile("(?s)/\\*.*?\\*/|(?m)^\\s*//[^\n]*");
    private static final Pattern LITERAL = Pattern.compile("\"((?:[^\"\\\\\n]|\\\\.)*)\"");

    /** A name such as maxWorkers that is no method, a duration such as PT30S, an exception. */
    private static final Pattern JAVA = Pattern.compile("(?<![\\w.$/%{:\\\\-])(?!gRPC|vCPU)"
            + "[a-z]+[A-Z][A-Za-z]*\\b(?!\\()"
            + "|\\bPT\\d|\\b[a-z]+\\.[\\w.]*Exception\\b|[Uu]nexpected failure");

    /** A duration that is a part of a text as it is, such as PT30S. */
    private static final Pattern ISO_DURATION = Pattern.compile(
            "\"[^\"\n]* (?:within|for|after) \"\\s*\\+ (?!PrintableText)(?:\\w+\\.)*\\w*[tT]imeout(?:\\(\\))?[ ;)]");

    /** Returns the texts with a blank in which a name of Java is, by their classes. */
    private static Map<String, Set<String>> found() throws IOException {
        Map<String, Set<String>> found = new TreeMap<>();
        try (Stream<Path> files = Files.walk(ROOT)) {
            for (Path file : files.filter(each -> each.toString().matches(".*/src/main/java/.*\\.java"))
                    .filter(each -> !each.toString().matches("\\.\\./(it|benchmarks|examples)/.*"))
                    .toList()) {
                String code = COMMENT.matcher(Files.readString(file)).replaceAll("");
                String name = file.getFileName().toString().replace(".java", "");
                ISO_DURATION
                        .matcher(code)
                        .results()
                        .forEach(text -> found.computeIfAbsent(name, unknown -> new TreeSet<>())
                                .add(text.group()));
                Matcher literals = LITERAL.matcher(code.replaceAll("\"\\s*\\+\\s*\"", ""));
                while (literals.find()) {
                    String text = literals.group(1);
                    if (text.contains(" ") && JAVA.matcher(text).find()) {
                        found.computeIfAbsent(name, unknown -> new TreeSet<>()).add(text);
                    }
                }
            }
        }
        return found;
    }

    @Test
    void should_have_no_names_of_java() throws IOException {
        Map<String, Set<String>> found = found();
        assertThat(found.keySet())
                .as("exceptions that are needed")
                .containsAll(API)
                .containsAll(OTHERS.keySet());
        found.keySet().removeAll(API);
        found.keySet().removeAll(OTHERS.keySet());
        assertThat(found).isEmpty();
    }

    @Test
    void should_find_names_of_java() {
        assertThat(List.of("launching is limited by maxWorkers", "within PT30S", "failed: java.io.IOException"))
                .allMatch(JAVA.asPredicate());
        assertThat(List.of("Call secret() first.", "by gRPC", "on a vCPU", "limited by function.max-workers"))
                .noneMatch(JAVA.asPredicate());
        assertThat("\"has not ended within \" + launchTimeout;").containsPattern(ISO_DURATION);
        assertThat("\"has not ended within \" + PrintableText.of(launchTimeout);")
                .doesNotContainPattern(ISO_DURATION);
    }
}
