package io.lambdadispatcher.it;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.jspecify.annotations.Nullable;

/**
 * Prints what {@code mvn verify} has tested: tests for each module, the slowest classes, and why
 * tests were skipped. Reads the reports of Surefire and Failsafe.
 */
public final class TestSummary {
    private static final int SLOWEST = Integer.getInteger("tests.slowest", 5);

    private final Map<String, int[]> modules = new TreeMap<>();
    private final Map<String, Integer> skipped = new TreeMap<>();
    private final List<String> failed = new ArrayList<>();
    private final Map<String, Double> classes = new TreeMap<>();
    private boolean hasIntegrationTests;

    private TestSummary() {}

    /**
     * Fails if {@code -Dit.test} is set, and no integration test has run.
     *
     * @param arguments the root of the checkout, when the build began, and the value of {@code
     *     it.test}, which Maven leaves {@code null} if it is not set. Older reports are not read
     */
    public static void main(@Nullable String... arguments) throws Exception {
        Instant start = Instant.parse(arguments[1]);
        TestSummary summary = new TestSummary();
        summary.read(Path.of(arguments[0]), start);
        System.out.print(summary.text(Duration.between(start, Instant.now())));
        if (arguments[2] != null && !summary.hasIntegrationTests) {
            throw new IllegalArgumentException("it.test: expected the name of a test, with -Dit.programs if it starts"
                    + " programs, got \"" + arguments[2] + '"');
        }
    }

    private void read(Path root, Instant start) throws IOException, XMLStreamException {
        List<Path> reports;
        try (Stream<Path> files = Files.find(
                root,
                7,
                (file, attributes) -> file.getFileName().toString().matches("TEST-.*\\.xml")
                        && file.getParent().getFileName().toString().endsWith("-reports")
                        && attributes.lastModifiedTime().toInstant().isAfter(start))) {
            reports = files.sorted().toList();
        }
        for (Path report : reports) {
            Path module = root.relativize(report.getParent().getParent().getParent());
            int[] counts = modules.computeIfAbsent(module.toString(), name -> new int[3]);
            int before = counts[0];
            read(report, counts);
            hasIntegrationTests |= report.getParent().endsWith("failsafe-reports") && counts[0] > before;
        }
    }

    /** @param counts tests that ran, failed and were skipped */
    private void read(Path report, int[] counts) throws IOException, XMLStreamException {
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        try (InputStream in = Files.newInputStream(report)) {
            XMLStreamReader xml = factory.createXMLStreamReader(in);
            String test = "";
            while (xml.hasNext()) {
                if (xml.next() != XMLStreamConstants.START_ELEMENT) {
                    continue;
                }
                switch (xml.getLocalName()) {
                    case "testsuite" -> classes.merge(attribute(xml, "name"), seconds(xml), Double::sum);
                    case "testcase" -> {
                        test = attribute(xml, "classname") + "." + attribute(xml, "name");
                        counts[0]++;
                    }
                    case "failure", "error" -> {
                        counts[1]++;
                        failed.add(test);
                    }
                    case "skipped" -> {
                        counts[0]--;
                        counts[2]++;
                        skipped.merge(reason(xml), 1, Integer::sum);
                    }
                    default -> {}
                }
            }
        }
    }

    private static double seconds(XMLStreamReader xml) {
        return Double.parseDouble(attribute(xml, "time").replace(",", ""));
    }

    private static String attribute(XMLStreamReader xml, String name) {
        String value = xml.getAttributeValue(null, name);
        return value == null ? "" : value;
    }

    /**
     * A failed assumption has no message, but a stack trace, which begins with it. Of a condition
     * with a reason, only the reason is shown.
     */
    private static String reason(XMLStreamReader xml) throws XMLStreamException {
        String message = attribute(xml, "message");
        String text = message.isEmpty() ? xml.getElementText().replaceFirst("^\\S+:\\s*", "") : message;
        return text.lines().findFirst().orElse("no reason given").replaceFirst("^.* ==> ", "");
    }

    private String text(Duration time) {
        StringBuilder text = new StringBuilder();
        line(text, "");
        line(text, "%-34s %7s %7s %7s", "Tests", "run", "failed", "skipped");
        int[] all = new int[3];
        modules.forEach((module, counts) -> {
            line(text, "  %-32s %7d %7d %7d", module, counts[0], counts[1], counts[2]);
            for (int i = 0; i < all.length; i++) {
                all[i] += counts[i];
            }
        });
        line(text, "  %-32s %7d %7d %7d", "all", all[0], all[1], all[2]);
        failed.forEach(test -> line(text, "Failed: %s", test));
        if (!skipped.isEmpty()) {
            line(text, "Skipped:");
            skipped.forEach((reason, tests) -> line(text, "  %5d  %s", tests, reason));
        }
        line(text, "Slowest classes, in seconds:");
        classes.entrySet().stream()
                .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
                .limit(SLOWEST)
                .forEach(each -> line(text, "  %5.0f  %s", each.getValue(), each.getKey()));
        line(text, "The build has taken %d min %d s.", time.toMinutes(), time.toSecondsPart());
        line(text, "");
        return text.toString();
    }

    private static void line(StringBuilder text, String format, Object... arguments) {
        text.append(String.format(Locale.ROOT, format, arguments)).append('\n');
    }
}
