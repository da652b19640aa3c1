package io.lambdadispatcher.server.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.dataformat.yaml.YAMLMapper;
import tools.jackson.dataformat.yaml.YAMLParser;

/**
 * Reads a settings file into dotted names: {@code public: {plain: {port: 80}}} becomes {@code
 * public.plain.port: 80}. Every value keeps its line and column, which Jackson's tree would lose.
 * An entry that cannot be a setting is reported as a problem, and reading continues if possible.
 */
final class YamlFile {
    private static final String FUNCTIONS = "functions";
    private static final String ROUTES = "routes";

    /** An entry of a list, with the names of its keys as they are written. */
    record Entry(Map<String, RawValue> values, String source) {}

    private final String fileName;
    private final Consumer<String> problems;
    private final Map<String, RawValue> values = new LinkedHashMap<>();
    private final List<Entry> functions = new ArrayList<>();
    private final List<Entry> routes = new ArrayList<>();
    private boolean readToEnd = true;

    private YamlFile(String fileName, Consumer<String> problems) {
        this.fileName = fileName;
        this.problems = problems;
    }

    static YamlFile empty() {
        return new YamlFile("", problem -> {});
    }

    static YamlFile read(Path file, Consumer<String> problems) {
        YamlFile yaml = new YamlFile(file.toString(), problems);
        try (JsonParser parser = new YAMLMapper().createParser(Files.readString(file))) {
            yaml.readRoot(parser);
        } catch (NoSuchFileException e) {
            yaml.readToEnd = false;
            problems.accept("settings file " + file + ": expected an existing file");
        } catch (JacksonException e) {
            yaml.readToEnd = false;
            problems.accept(yaml.line(e.getLocation()) + ": expected YAML: " + oneLine(e.getOriginalMessage()));
        } catch (IOException e) {
            yaml.readToEnd = false;
            problems.accept("settings file " + file + ": expected a readable file: " + e);
        }
        return yaml;
    }

    /**
     * The parser says on several lines what it was reading and what is wrong, each with an excerpt.
     */
    private static String oneLine(String message) {
        String text = message.lines()
                .filter(line -> !line.isBlank() && !line.startsWith(" "))
                .collect(Collectors.joining(", "));
        return text.contains("block") ? text + " (is the indentation right?)" : text;
    }

    /** Returns values by dotted name, including unknown names. */
    Map<String, RawValue> values() {
        return values;
    }

    List<Entry> functions() {
        return functions;
    }

    List<Entry> routes() {
        return routes;
    }

    /** Returns whether the file was read to its end, so that no value is missing. */
    boolean isReadToEnd() {
        return readToEnd;
    }

    private void readRoot(JsonParser parser) {
        JsonToken token = parser.nextToken();
        if (token == JsonToken.START_OBJECT) {
            readMapping(parser, "", values);
        } else if (token != null && token != JsonToken.VALUE_NULL) {
            problems.accept("settings file " + fileName + ": expected settings, each as \"name: value\"");
            return;
        }
        if (parser.nextToken() != null) {
            readToEnd = false;
            problems.accept(here(parser) + ": expected one YAML document, got another one after ---");
        }
    }

    /** Starts at START_OBJECT and stops at the matching END_OBJECT. */
    private void readMapping(JsonParser parser, String prefix, Map<String, RawValue> into) {
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String name = prefix + parser.currentName();
            String source = here(parser);
            JsonToken token = parser.nextToken();
            if (name.equals(FUNCTIONS) && into == values) {
                readEntries(parser, FUNCTIONS, "- name: api", functions);
            } else if (name.equals(ROUTES) && into == values) {
                readEntries(parser, ROUTES, "- path: /search", routes);
            } else if (token == JsonToken.START_OBJECT) {
                readMapping(parser, name + ".", into);
            } else {
                readValue(parser, name, source, into);
            }
        }
    }

    private void readValue(JsonParser parser, String name, String source, Map<String, RawValue> into) {
        List<String> items = new ArrayList<>();
        boolean isList = parser.currentToken() == JsonToken.START_ARRAY;
        if (isList) {
            while (parser.nextToken() != JsonToken.END_ARRAY) {
                readScalar(parser, name, items);
            }
        } else if (!readScalar(parser, name, items)) {
            return;
        }
        RawValue previous = into.putIfAbsent(name, new RawValue(items, isList, source));
        if (previous != null) {
            problems.accept(name + ": expected one value, got two (" + previous.source() + ", " + source + ")");
        }
    }

    private boolean readScalar(JsonParser parser, String name, List<String> into) {
        JsonToken token = parser.currentToken();
        if (parser instanceof YAMLParser yaml && yaml.isCurrentAlias()) {
            // Jackson would return the alias's name as the value.
            refuse(parser, name, "a value, got an alias");
        } else if (token == JsonToken.VALUE_NULL) {
            refuse(parser, name, "a value, got nothing");
        } else if (token.isScalarValue()) {
            return into.add(parser.getString());
        } else {
            refuse(parser, name, "a list of plain values");
        }
        return false;
    }

    private void readEntries(JsonParser parser, String list, String example, List<Entry> into) {
        if (parser.currentToken() != JsonToken.START_ARRAY) {
            refuse(parser, list, "a list of entries such as \"" + example + "\"");
            return;
        }
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            if (parser.currentToken() == JsonToken.START_OBJECT) {
                Entry entry = new Entry(new LinkedHashMap<>(), here(parser));
                readMapping(parser, "", entry.values);
                into.add(entry);
            } else {
                refuse(parser, list, "entries such as \"" + example + "\"");
            }
        }
    }

    private void refuse(JsonParser parser, String name, String expected) {
        problems.accept(name + ": expected " + expected + " (" + here(parser) + ")");
        parser.skipChildren();
    }

    private String here(JsonParser parser) {
        return line(parser.currentTokenLocation());
    }

    private String line(@Nullable TokenStreamLocation location) {
        return location == null
                ? fileName
                : fileName + " line " + location.getLineNr() + ", column " + location.getColumnNr();
    }
}
