package io.lambdadispatcher.worker.adapter.function;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestHandler;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPEvent;
import com.amazonaws.services.lambda.runtime.events.SQSEvent;
import io.lambdadispatcher.wire.testkit.EachRelease;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@EachRelease
class FunctionLoaderTest {

    public static class Order {
        public String item = "";
        public int count;
    }

    /** Declares the types two classes away from the interface. */
    public abstract static class Base<K, V> implements RequestHandler<V, Map<K, V>> {}

    public abstract static class Middle<T> extends Base<String, T> {}

    public static class Generic extends Middle<Order> {
        @Override
        public Map<String, Order> handleRequest(Order order, Context context) {
            order.count++;
            return Map.of(order.item, order);
        }
    }

    public static class Lists implements RequestHandler<List<Order>, List<Integer>> {
        @Override
        public List<Integer> handleRequest(List<Order> orders, Context context) {
            return orders.stream().map(order -> order.count).toList();
        }
    }

    public static class Open<T> implements RequestHandler<T, String> {
        @Override
        public String handleRequest(T input, Context context) {
            return "";
        }
    }

    @SuppressWarnings("rawtypes")
    public static class Raw implements RequestHandler {
        @Override
        public Object handleRequest(Object input, Context context) {
            return "";
        }
    }

    public static class Streams implements RequestStreamHandler {
        @Override
        public void handleRequest(InputStream input, OutputStream output, Context context) throws IOException {
            input.transferTo(output);
        }
    }

    public static class Queue implements RequestHandler<SQSEvent, Void> {
        static volatile String seen = "";

        @Override
        public Void handleRequest(SQSEvent event, Context context) {
            seen = event.getRecords().get(0).getBody();
            return null;
        }
    }

    public static class Broken implements RequestHandler<String, String> {
        public Broken() {
            throw new IllegalStateException("no database");
        }

        @Override
        public String handleRequest(String input, Context context) {
            return input;
        }
    }

    public class Inner implements RequestHandler<String, String> {
        @Override
        public String handleRequest(String input, Context context) {
            return input;
        }
    }

    public static class Methods {
        public String nothing() {
            return "nothing";
        }

        public static String ofClass(String event) {
            return "static " + event;
        }

        public String context(Context context) {
            return "context " + context.getAwsRequestId();
        }

        public int event(Order order) {
            return order.count + 1;
        }

        public String both(String event, Context context) {
            return event + " " + context.getAwsRequestId();
        }

        public Map<String, Integer> map(Map<String, Integer> event) {
            return event;
        }

        public List<Integer> list(List<Integer> event) {
            return event;
        }

        public void input(InputStream event) throws IOException {
            event.readAllBytes();
        }

        public String output(OutputStream result) throws IOException {
            result.write("7".getBytes(StandardCharsets.UTF_8));
            return "passed over";
        }

        public void streams(InputStream event, OutputStream result) throws IOException {
            event.transferTo(result);
        }

        public void all(InputStream event, OutputStream result, Context context) throws IOException {
            result.write(context.getAwsRequestId().getBytes(StandardCharsets.UTF_8));
        }

        public String overloaded(String event) {
            return "short";
        }

        public String overloaded(String event, Context context) {
            return "long";
        }

        public String overloaded(String event, String other, Context context) {
            return "no handler at all";
        }

        public String failing(String event) throws IOException {
            throw new IOException("as it was thrown");
        }

        public String wrong(String event, Integer other) {
            return "";
        }

        String hidden(String event) {
            return event;
        }
    }

    private static final Context CONTEXT = (Context) Proxy.newProxyInstance(
            Context.class.getClassLoader(),
            new Class<?>[] {Context.class},
            (proxy, method, arguments) -> method.getName().equals("getAwsRequestId") ? "r-1" : null);

    private static String call(UserFunction function, String event) {
        ByteArrayOutputStream result = new ByteArrayOutputStream();
        try {
            function.call(new ByteArrayInputStream(event.getBytes(StandardCharsets.UTF_8)), result, CONTEXT);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
        return result.toString(StandardCharsets.UTF_8);
    }

    @Test
    void should_find_the_types_of_a_class_that_extends_generic_ones() {
        assertThat(call(FunctionLoader.load(Generic.class, null), "{\"item\":\"tea\",\"count\":2,\"x\":1}"))
                .isEqualTo("{\"tea\":{\"item\":\"tea\",\"count\":3}}");
        assertThat(call(FunctionLoader.load(Generic.class, "handleRequest"), "{\"item\":\"tea\",\"count\":2}"))
                .isEqualTo("{\"tea\":{\"item\":\"tea\",\"count\":3}}");
        assertThat(call(FunctionLoader.load(Lists.class, null), "[{\"count\":2},{\"count\":3}]"))
                .isEqualTo("[2,3]");
        assertThat(FunctionLoader.load(Generic.class, null).inputType()).isEqualTo(Order.class);
    }

    @Test
    void should_refuse_a_class_that_leaves_its_types_open() {
        assertThatThrownBy(() -> FunctionLoader.load(Open.class, null)).hasMessageContaining("leaves open T");
        assertThatThrownBy(() -> FunctionLoader.load(Raw.class, null)).hasMessageContaining("leaves open its types");
    }

    @Test
    void should_give_streams_the_bytes() {
        assertThat(call(FunctionLoader.load(Streams.class, null), "{ no JSON")).isEqualTo("{ no JSON");
    }

    @Test
    void should_convert_events_of_other_services_with_their_own_names() {
        assertThat(call(
                        FunctionLoader.load(Queue.class, null),
                        "{\"Records\":[{\"messageId\":\"1\",\"body\":\"hi\"}]}"))
                .isEqualTo("null");
        assertThat(Queue.seen).isEqualTo("hi");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '\'',
            value = {
                "nothing    | {\"a\":1}               | \"nothing\"",
                "ofClass    | \"e\"                   | \"static e\"",
                "context    | {}                      | \"context r-1\"",
                "event      | {\"count\":\"41\"}      | 42",
                "both       | \"e\"                   | \"e r-1\"",
                "map        | {\"a\":1}               | {\"a\":1}",
                "list       | [1,2]                   | [1,2]",
                "input      | {}                      | null",
                "output     | {}                      | 7",
                "streams    | {\"a\":1}               | {\"a\":1}",
                "all        | {}                      | r-1",
                "overloaded | \"e\"                   | \"long\"",
            })
    void should_call_a_method_that_is_named(String method, String event, String result) {
        assertThat(call(FunctionLoader.load(Methods.class, method), event)).isEqualTo(result);
    }

    @Test
    void should_pass_on_what_the_code_throws() {
        UserFunction function = FunctionLoader.load(Methods.class, "failing");

        assertThatThrownBy(() -> function.call(
                        new ByteArrayInputStream("\"e\"".getBytes(StandardCharsets.UTF_8)),
                        new ByteArrayOutputStream(),
                        CONTEXT))
                .isInstanceOf(IOException.class)
                .hasMessage("as it was thrown");
    }

    @Test
    void should_say_what_is_wrong_with_a_class_or_a_method() {
        assertThatThrownBy(() -> FunctionLoader.load(Methods.class, "absent"))
                .hasMessageContaining("has no method absent, expected a public absent(event)");
        assertThatThrownBy(() -> FunctionLoader.load(Methods.class, "hidden"))
                .hasMessageContaining("has no public method hidden");
        assertThatThrownBy(() -> FunctionLoader.load(Methods.class, "wrong"))
                .hasMessageContaining("has wrong(String, Integer), expected a public wrong(event)");
        assertThatThrownBy(() -> FunctionLoader.load(Methods.class, null)).hasMessageContaining("Methods::name");
        assertThatThrownBy(() -> FunctionLoader.load(Broken.class, null))
                .hasMessageContaining("no database")
                .hasCauseInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> FunctionLoader.load(Inner.class, null)).hasMessageContaining("is an inner class");
    }

    @ParameterizedTest
    @CsvSource({
        "APIGatewayV2HTTPEvent, HTTP_API_V2",
        "APIGatewayProxyRequestEvent, REST_API",
        "ApplicationLoadBalancerRequestEvent, ALB",
        "SQSEvent, HTTP_API_V2"
    })
    void should_infer_the_shape_from_the_class_of_the_event(String name, String format) throws Exception {
        Class<?> event = Class.forName(APIGatewayV2HTTPEvent.class.getPackageName() + "." + name);

        assertThat(EventClasses.formatOf(event)).hasToString(format);
        assertThat(EventClasses.formatOf(null)).hasToString("HTTP_API_V2");
    }

    /** A class path like this one, but without AWS's library. */
    @Test
    void should_name_the_library_that_is_missing() throws Exception {
        URL[] path = Arrays.stream(System.getProperty("java.class.path").split(java.io.File.pathSeparator))
                .filter(entry -> !entry.contains("serialization"))
                .map(FunctionLoaderTest::url)
                .toArray(URL[]::new);
        try (URLClassLoader without = new URLClassLoader(path, ClassLoader.getPlatformClassLoader())) {
            Class<?> handler = without.loadClass(FunctionHandler.class.getName());
            var of = handler.getMethod("of", Class.class, String.class, Map.class);

            assertThat(of.invoke(null, without.loadClass(Streams.class.getName()), null, Map.of()))
                    .isNotNull();
            assertThatThrownBy(() -> of.invoke(null, without.loadClass(Lists.class.getName()), null, Map.of()))
                    .cause()
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("expected com.amazonaws:aws-lambda-java-serialization on the class path");
        }
    }

    private static URL url(String entry) {
        try {
            return Path.of(entry).toUri().toURL();
        } catch (IOException e) {
            throw new IllegalArgumentException(entry, e);
        }
    }
}
