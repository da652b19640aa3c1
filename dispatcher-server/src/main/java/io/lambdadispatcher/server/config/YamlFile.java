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
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.dataformat.yaml.YAMLMapper;
import tools.jackson.dataformat.yaml.YAMLParser;

/**
 * Reads a settings file to dotted names: {@code public: {plain: {port: 80}}} and {@code public.plain.port: 80} mean the same. Every value
 * keeps the line it stands on. What cannot be a setting goes to the problems, and reading goes on where it can.
 */
final class YamlFile {
    private static final String FUNCTIONS = "functions";

    private final String fileName;
    private final Consumer<String> problems;
    private final Map<String, RawValue> values = new LinkedHashMap<>();
    private final List<Map<String, RawValue>> functions = new ArrayList<>();
    private final List<Source> functionSources = new ArrayList<>();

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
            problems.accept("settings file " + file + ": there is no such file");
        } catch (JacksonException e) {
            problems.accept(yaml.at(e) + ": not YAML: " + firstLine(e.getOriginalMessage()));
        } catch (IOException e) {
            problems.accept("settings file " + file + ": cannot be read: " + e);
        }
        return yaml;
    }

    private static String firstLine(String text) {
        return text.lines().findFirst().orElse(text);
    }

    private String at(JacksonException e) {
        return e.getLocation() == null
                ? fileName
                : fileName + " line " + e.getLocation().getLineNr();
    }

    /** Dotted names, whether known or not. */
    Map<String, RawValue> values() {
        return values;
    }

    /** The entries of the list {@code functions}, with the names of their keys as they stand there. */
    List<Map<String, RawValue>> functions() {
        return functions;
    }

    Source functionSource(int index) {
        return functionSources.get(index);
    }

    private void readRoot(JsonParser parser) {
        JsonToken token = parser.nextToken();
        if (token == null || token == JsonToken.VALUE_NULL) {
            return;
        }
        if (token != JsonToken.START_OBJECT) {
            problems.accept(fileName + ": expected settings, each as 'name: value'");
            return;
        }
        readMapping(parser, "", values);
    }

    /** The parser stands on START_OBJECT, and at the end on its END_OBJECT. */
    private void readMapping(JsonParser parser, String prefix, Map<String, RawValue> into) {
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String name = prefix + parser.currentName();
            Source source = here(parser);
            JsonToken token = parser.nextToken();
            if (name.equals(FUNCTIONS) && into == values) {
                readFunctions(parser, token, source);
            } else if (token == JsonToken.START_OBJECT) {
                readMapping(parser, name + ".", into);
            } else if (token == JsonToken.START_ARRAY) {
                put(into, name, RawValue.list(readItems(parser, name), source));
            } else {
                readScalar(parser, token, name, source, into);
            }
        }
    }

    private void readScalar(
            JsonParser parser, JsonToken token, String name, Source source, Map<String, RawValue> into) {
        if (isAlias(parser)) {
            problems.accept(source + ": " + name + ": expected a value, aliases are not supported");
        } else if (token == JsonToken.VALUE_NULL) {
            problems.accept(source + ": " + name + ": has no value");
        } else {
            put(into, name, RawValue.of(parser.getString(), source));
        }
    }

    /** It would be read as its own name. */
    private static boolean isAlias(JsonParser parser) {
        return parser instanceof YAMLParser yaml && yaml.isCurrentAlias();
    }

    private void put(Map<String, RawValue> into, String name, RawValue value) {
        RawValue before = into.putIfAbsent(name, value);
        if (before != null) {
            problems.accept(value.source() + ": " + name + ": given before, " + before.source());
        }
    }

    private List<String> readItems(JsonParser parser, String name) {
        List<String> items = new ArrayList<>();
        for (JsonToken token = parser.nextToken(); token != JsonToken.END_ARRAY; token = parser.nextToken()) {
            if (isAlias(parser)) {
                problems.accept(here(parser) + ": " + name + ": expected a value, aliases are not supported");
            } else if (token.isScalarValue() && token != JsonToken.VALUE_NULL) {
                items.add(parser.getString());
            } else {
                problems.accept(here(parser) + ": " + name + ": expected a list of plain values");
                parser.skipChildren();
            }
        }
        return items;
    }

    private void readFunctions(JsonParser parser, JsonToken token, Source source) {
        if (token != JsonToken.START_ARRAY) {
            problems.accept(source + ": functions: expected a list, each entry starting with '- name: ...'");
            parser.skipChildren();
            return;
        }
        for (JsonToken entry = parser.nextToken(); entry != JsonToken.END_ARRAY; entry = parser.nextToken()) {
            Source entrySource = here(parser);
            if (entry != JsonToken.START_OBJECT) {
                problems.accept(entrySource + ": functions: expected entries such as '- name: ...'");
                parser.skipChildren();
                continue;
            }
            Map<String, RawValue> keys = new LinkedHashMap<>();
            readMapping(parser, "", keys);
            functions.add(keys);
            functionSources.add(entrySource);
        }
    }

    private Source here(JsonParser parser) {
        return Source.file(fileName, parser.currentTokenLocation().getLineNr());
    }
}
