package io.lambdadispatcher.it.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaConstructorCall;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.filter.FilterLoop;
import io.lambdadispatcher.core.internal.filter.RequestFilters;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.Filter.Phase;
import io.lambdadispatcher.core.spi.RequestContext;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalIoHandler;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Draws the stages that a request passes. The order is that of the code: where the program's
 * filters are put, in which order the dispatcher's own filters are created, and which classes can
 * be behind each other. The words are the first sentences of the comments.
 */
class ChainTest {
    private static final Path ROOT = Path.of("..");
    private static final Path CORE = ROOT.resolve("dispatcher-core/src/main/java/io/lambdadispatcher/core");
    private static final Path DRAWING = ROOT.resolve("docs/explanation/chain.svg");
    private static final String INTERNAL = "io.lambdadispatcher.core.internal.";
    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(location -> !location.contains("-tests.jar"))
            .importPackages("io.lambdadispatcher.core");

    /** What stands behind the filters of a phase. */
    private enum Place {
        BEFORE_ROUTER,
        BEFORE_FUNCTION,
        AT_FUNCTION
    }

    /** A filter of one phase. */
    private record OfPhase(Phase phase) implements Filter {
        @Override
        public Decision onRequest(RequestContext request) {
            return Decision.pass();
        }
    }

    /** The function itself. */
    private static final class Function implements FunctionOpener {
        @Override
        public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
            throw new UnsupportedOperationException();
        }

        @Override
        public TrafficPolicy policy() {
            return TrafficPolicy.NEUTRAL;
        }
    }

    private static Place placeOf(Phase phase) {
        RequestFilters filters = new RequestFilters(List.of(new OfPhase(phase)), Map.of());
        FilterLoop home = new FilterLoop(
                new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory()).next(),
                DispatcherObserver.NONE,
                (function, request, client) -> new CompletableFuture<>());
        Function function = new Function();
        ExchangeOpener router = function;
        List<Place> places = new ArrayList<>();
        if (filters.beforeRouter(router, home) != router) {
            places.add(Place.BEFORE_ROUTER);
        } else if (filters.beforeFunction("f", function, false, home) != function) {
            places.add(Place.BEFORE_FUNCTION);
        }
        if (filters.atFunction("f", function, false, home) != function) {
            places.add(Place.AT_FUNCTION);
        }
        assertThat(places).as("places of %s", phase).hasSize(1);
        return places.get(0);
    }

    private static JavaClass type(String name) {
        return CLASSES.get(INTERNAL + name);
    }

    /** Returns the classes that implement an interface, except those of some packages. */
    private static List<JavaClass> implementations(String name, String... except) {
        return CLASSES.stream()
                .filter(type -> !type.isInterface() && type.isAssignableTo(INTERNAL + name))
                .filter(type ->
                        Stream.of(except).noneMatch(each -> type.getName().startsWith(INTERNAL + each)))
                .sorted(Comparator.comparing(JavaClass::getSimpleName).reversed())
                .toList();
    }

    /** Returns the dispatcher's own filters, from the client to the function. */
    private static List<JavaClass> ownFilters() {
        return type("filter.FunctionFilters")
                .getMethod("around", FunctionOpener.class, io.netty.channel.EventLoop.class)
                .getConstructorCallsFromSelf()
                .stream()
                .sorted(Comparator.comparing(JavaConstructorCall::getLineNumber).reversed())
                .map(JavaConstructorCall::getTargetOwner)
                .filter(type -> type.isAssignableTo(FunctionOpener.class))
                .toList();
    }

    /** Returns the first sentence of the comment of a type. */
    private static String about(JavaClass type) throws IOException {
        Path file = CORE.resolve(
                type.getName().replace("io.lambdadispatcher.core.", "").replace('.', '/') + ".java");
        Matcher comment = Pattern.compile(
                        "/\\*\\*(.*?)\\*/\\s*(?:public |final |abstract )*(?:class|record) " + type.getSimpleName()
                                + "\\b",
                        Pattern.DOTALL)
                .matcher(Files.readString(file));
        assertThat(comment.find()).as("comment of %s", type).isTrue();
        return firstSentence(comment.group(1));
    }

    private static String about(Phase phase) throws IOException {
        Matcher comment = Pattern.compile("/\\*\\*((?:(?!\\*/).)*)\\*/\\s*" + phase.name() + "\\b", Pattern.DOTALL)
                .matcher(Files.readString(CORE.resolve("spi/Filter.java")));
        assertThat(comment.find()).as("comment of %s", phase).isTrue();
        return firstSentence(comment.group(1));
    }

    private static String firstSentence(String comment) {
        String text = comment.replaceAll("\\R\\s*\\*", " ")
                .replaceAll("\\{@(?:link|code) [^}]*?([^ #}]+)}", "$1")
                .replaceAll("\\s+", " ")
                .strip();
        int end = text.indexOf(". ");
        return end < 0 ? text : text.substring(0, end + 1);
    }

    private static void addFilters(ChainDrawing drawing, Place place) throws IOException {
        for (Phase phase : Phase.values()) {
            if (placeOf(phase) == place) {
                drawing.stage(ChainDrawing.Kind.PROGRAM, phase.name(), about(phase));
            }
        }
    }

    private static String draw() throws IOException {
        ChainDrawing drawing = new ChainDrawing();
        drawing.end("client");
        addFilters(drawing, Place.BEFORE_ROUTER);
        add(drawing, List.of(type("engine.LoopDispatch")));
        addFilters(drawing, Place.BEFORE_FUNCTION);
        for (JavaClass filter : ownFilters()) {
            drawing.stage(ChainDrawing.Kind.POLICY, filter.getSimpleName(), about(filter));
        }
        addFilters(drawing, Place.AT_FUNCTION);
        List<JavaClass> doors = implementations("exchange.FunctionOpener", "filter.");
        add(drawing, doors);
        add(drawing, List.of(type("exchange.Exchange")));
        add(drawing, List.of(type("exchange.Attempts")));
        add(drawing, List.of(type("exchange.Try")));
        add(drawing, implementations("exchange.Carrier", "pool."));
        drawing.end("worker or function");
        return drawing.page();
    }

    private static void add(ChainDrawing drawing, List<JavaClass> alternatives) throws IOException {
        for (int i = 0; i < alternatives.size(); i++) {
            JavaClass type = alternatives.get(i);
            if (i > 0) {
                drawing.or();
            }
            drawing.stage(ChainDrawing.Kind.OWN, type.getSimpleName(), about(type));
        }
    }

    @Test
    void should_find_each_stage_behind_the_one_before() {
        assertThat(ownFilters()).extracting(JavaClass::getSimpleName).containsExactly("BreakerFilter");
        assertThat(implementations("exchange.FunctionOpener", "filter."))
                .hasSize(2)
                .allSatisfy(door -> assertUses(door, type("exchange.Exchange")));
        assertUses(type("exchange.Exchange"), type("exchange.Attempts"));
        assertUses(type("exchange.Attempts"), type("exchange.Try"));
        assertUses(type("exchange.Try"), type("exchange.Carrier"));
        assertThat(implementations("exchange.Carrier", "pool.")).hasSize(3);
    }

    private static void assertUses(JavaClass user, JavaClass used) {
        assertThat(user.getDirectDependenciesFromSelf())
                .extracting(each -> each.getTargetClass().getName())
                .as("what %s uses", user)
                .contains(used.getName());
    }

    @Test
    void should_be_drawn_as_it_is() throws IOException {
        String drawing = draw();
        if (Boolean.getBoolean("architecture.draw")) {
            Files.writeString(DRAWING, drawing);
        }
        assertThat(Files.readString(DRAWING))
                .as(
                        "docs/explanation/chain.svg shows other stages than the code has; -Darchitecture.draw=true draws it")
                .isEqualTo(drawing);
    }
}
