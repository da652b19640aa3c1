package io.lambdadispatcher.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.worker.adapter.function.FunctionHandler;
import io.lambdadispatcher.worker.adapter.web.WebHandler;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

@EachRelease
class HandlerLoaderTest {
    private static final String HERE = HandlerLoaderTest.class.getName();
    private static final String CONSTRUCTOR = ", expected a public class with a public constructor without parameters";

    public static class Silent implements Handler {
        @Override
        public void handle(Request request, Response response) {
            response.head(204);
            response.end();
        }
    }

    public static class Plain implements RequestHandler<Map<String, Object>, String> {
        @Override
        public String handleRequest(Map<String, Object> event, Context context) {
            return "plain";
        }

        public String other(Map<String, Object> event) {
            return "other";
        }

        String hidden(String event) {
            return event;
        }

        public String three(String event, Integer two, Long three) {
            return event;
        }
    }

    public static class Told extends Silent {
        public Told(String what) {}
    }

    public static class Throwing extends Silent {
        public Throwing() {
            throw new IllegalStateException("no database");
        }
    }

    public static class ThrowingFunction extends Plain {
        public ThrowingFunction() {
            throw new IllegalStateException("no table");
        }
    }

    public static class ThrowingEarly extends Silent {
        static final int PORT = Integer.parseInt("many");
    }

    public abstract static class Abstract extends Silent {}

    static class Hidden extends Silent {}

    public class Inner extends Silent {}

    public static class Nothing {}

    private static Handler load(String name) {
        return HandlerLoader.load(name, Map.of());
    }

    @Test
    void should_make_what_is_named() {
        assertThat(load(Silent.class.getName())).isInstanceOf(Silent.class);
        assertThat(load(" " + PongHandler.class.getName() + " ")).isInstanceOf(PongHandler.class);
        assertThat(load(Plain.class.getName())).isInstanceOf(FunctionHandler.class);
        assertThat(load(Plain.class.getName() + "::handleRequest")).isInstanceOf(FunctionHandler.class);
        assertThat(load(Plain.class.getName() + "::other")).isInstanceOf(FunctionHandler.class);
    }

    @Test
    void should_serve_nothing_unless_a_variable_chooses() {
        for (Map<String, String> none : List.of(Map.<String, String>of(), Map.of(HandlerLoader.VARIABLE, " "))) {
            assertThatThrownBy(() -> HandlerLoader.choose(none))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("nothing to serve: set LAMBDA_DISPATCHER_HANDLER ")
                    .hasMessageContainingAll("LAMBDA_DISPATCHER_RUNTIME ", "LAMBDA_DISPATCHER_WEB_PORT ");
            assertThatThrownBy(() -> HandlerLoader.chooseOnLambda(none)).hasMessageStartingWith("nothing to serve");
        }
    }

    @Test
    void should_take_a_port_alone_for_a_web_application_on_lambda_only() {
        Map<String, String> port = Map.of("PORT", "8080");
        assertThat(HandlerLoader.chooseOnLambda(port)).isInstanceOf(WebHandler.class);
        assertThatThrownBy(() -> HandlerLoader.choose(port)).hasMessageStartingWith("nothing to serve");
        assertThat(HandlerLoader.chooseOnLambda(Map.of("PORT", "8080", HandlerLoader.VARIABLE, Silent.class.getName())))
                .isInstanceOf(Silent.class);
    }

    @Test
    void should_refuse_two_choices() {
        assertThatThrownBy(() -> HandlerLoader.chooseOnLambda(
                        Map.of(HandlerLoader.VARIABLE, "a.B", "LAMBDA_DISPATCHER_RUNTIME", "run", "PORT", "1")))
                .hasMessage("both LAMBDA_DISPATCHER_HANDLER and LAMBDA_DISPATCHER_RUNTIME are set,"
                        + " expected one of them");
    }

    static Stream<Arguments> names() {
        return Stream.of(
                Arguments.of(
                        "no.such.Class",
                        "no class no.such.Class on the class path, expected a full class name, with $ before a nested class"),
                Arguments.of("no.such.Class::find", "no class no.such.Class on the class path"),
                Arguments.of(HERE + ".Silent", "no class " + HERE + ".Silent on the class path"),
                Arguments.of("::find", "the name is incomplete, expected a class name or pkg.Class::method"),
                Arguments.of(HERE + "$Plain::", "the name is incomplete"),
                Arguments.of(
                        HERE + "$Plain::absent",
                        HERE + "$Plain has no method absent, expected a public absent(event), absent(event, Context)"
                                + " or absent(InputStream, OutputStream)"),
                Arguments.of(HERE + "$Plain::hidden", HERE + "$Plain has no public method hidden, expected a public"),
                Arguments.of(
                        HERE + "$Plain::three",
                        HERE + "$Plain has three(String, Integer, Long), expected a public three(event)"),
                Arguments.of(
                        HERE + "$Nothing", HERE + "$Nothing is not a handler, expected a " + Handler.class.getName()),
                Arguments.of(
                        LambdaHandler.class.getName(),
                        LambdaHandler.class.getName()
                                + " is the entry point that Lambda calls, expected the handler that serves requests"),
                Arguments.of(HERE + "$Told", HERE + "$Told has other constructors" + CONSTRUCTOR),
                Arguments.of(HERE + "$Abstract", HERE + "$Abstract is abstract" + CONSTRUCTOR),
                Arguments.of(HERE + "$Hidden", HERE + "$Hidden is not public" + CONSTRUCTOR),
                Arguments.of(HERE + "$Inner", HERE + "$Inner is an inner class" + CONSTRUCTOR),
                Arguments.of(Handler.class.getName(), Handler.class.getName() + " is an interface" + CONSTRUCTOR),
                Arguments.of(
                        HERE + "$Throwing",
                        "the constructor of " + HERE
                                + "$Throwing failed: java.lang.IllegalStateException: no database"),
                Arguments.of(
                        HERE + "$ThrowingFunction",
                        "the constructor of " + HERE
                                + "$ThrowingFunction failed: java.lang.IllegalStateException: no table"),
                Arguments.of(
                        HERE + "$ThrowingEarly",
                        "its static initialiser failed: java.lang.NumberFormatException: For input string: \"many\""));
    }

    @ParameterizedTest
    @MethodSource("names")
    void should_name_the_variable_its_value_and_what_is_wrong(String name, String wrong) {
        assertThatThrownBy(() -> load(name))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("LAMBDA_DISPATCHER_HANDLER=" + name + ": " + wrong);
    }

    @Test
    void should_name_another_variable_that_is_wrong_alone() {
        assertThatThrownBy(() ->
                        HandlerLoader.load(Plain.class.getName(), Map.of(FunctionHandler.EVENT_VARIABLE, "smoke")))
                .hasMessageStartingWith("LAMBDA_DISPATCHER_EVENT is 'smoke', expected one of ");
    }

    @Test
    void should_say_which_class_of_the_handlers_own_is_missing() {
        assertThatThrownBy(() -> loadBy(new Altered(Silent.class, 0)))
                .hasMessageStartingWith("LAMBDA_DISPATCHER_HANDLER=" + Told.class.getName()
                        + ": it needs a missing class: " + HERE.replace('.', '/') + "$Silent")
                .hasMessageEndingWith(", expected its jar on the class path");
    }

    @Test
    void should_say_that_the_handler_is_for_a_later_java() {
        assertThatThrownBy(() -> loadBy(new Altered(Nothing.class, 200)))
                .hasMessageStartingWith("LAMBDA_DISPATCHER_HANDLER=" + Told.class.getName() + ": ")
                .hasMessageContaining("class file version 200")
                .hasMessageEndingWith(
                        ", expected classes for Java " + Runtime.version().feature() + " or older");
    }

    private static Handler loadBy(ClassLoader loader) {
        Thread thread = Thread.currentThread();
        ClassLoader own = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            return load(Told.class.getName());
        } finally {
            thread.setContextClassLoader(own);
        }
    }

    /**
     * Loads a copy of {@link Told} while one class is missing. The copy has another class file
     * version, unless that is 0.
     */
    private static final class Altered extends ClassLoader {
        private final Class<?> missing;
        private final int version;

        Altered(Class<?> missing, int version) {
            super(HandlerLoaderTest.class.getClassLoader());
            this.missing = missing;
            this.version = version;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals(missing.getName())) {
                throw new ClassNotFoundException(name);
            }
            return name.equals(Told.class.getName()) ? told(name) : super.loadClass(name, resolve);
        }

        private Class<?> told(String name) {
            try (InputStream file = HandlerLoaderTest.class.getResourceAsStream("HandlerLoaderTest$Told.class")) {
                byte[] code = file.readAllBytes();
                if (version != 0) {
                    // JVMS 4.1: magic (4), minor version (2), major version (2).
                    code[7] = (byte) version;
                }
                return defineClass(name, code, 0, code.length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
