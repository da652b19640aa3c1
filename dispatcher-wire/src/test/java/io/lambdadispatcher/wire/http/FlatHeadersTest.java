package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FlatHeadersTest {
    private static final String[] NAMES = {":method", ":path", ":status", "a", "b", "cookie", "content-length"};
    private static final String[] VALUES = {"", "1", "200", "x", "a longer value"};

    /** Netty's class is the model. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void should_do_as_netty_does(long seed) {
        Random random = new Random(seed);
        FlatHeaders flat = new FlatHeaders();
        DefaultHttp2Headers model = new DefaultHttp2Headers(false);
        for (int step = 0; step < 500; step++) {
            CharSequence name = text(random, NAMES);
            CharSequence value = text(random, VALUES);
            switch (random.nextInt(10)) {
                case 0, 1, 2, 3 -> both(flat, model, head -> head.add(name, value));
                case 4 -> both(flat, model, head -> head.set(name, value));
                case 5 -> both(flat, model, head -> head.set(name, List.of(value, "another")));
                case 6 -> assertThat(flat.remove(name)).isEqualTo(model.remove(name));
                case 7 -> assertSame(flat.getAndRemove(name), model.getAndRemove(name));
                case 8 -> assertThat(texts(flat.getAllAndRemove(name))).isEqualTo(texts(model.getAllAndRemove(name)));
                default -> {
                    Http2Headers other =
                            new DefaultHttp2Headers(false).add(name, value).add("more", "1");
                    both(flat, model, head -> head.setAll(other));
                }
            }
            assertLike(flat, model);
        }
    }

    private static void both(FlatHeaders flat, DefaultHttp2Headers model, UnaryOperator<Http2Headers> operation) {
        assertThat(operation.apply(flat)).isSameAs(flat);
        operation.apply(model);
    }

    private static void assertLike(FlatHeaders flat, DefaultHttp2Headers model) {
        assertThat(fields(flat)).isEqualTo(fields(model));
        assertThat(flat.size()).isEqualTo(model.size());
        assertThat(flat.isEmpty()).isEqualTo(model.isEmpty());
        assertThat(flat.equals(model)).isTrue();
        assertThat(model.equals(flat)).isTrue();
        assertThat(texts(flat.names())).doesNotHaveDuplicates().hasSameElementsAs(texts(model.names()));
        for (String name : NAMES) {
            assertSame(flat.get(name), model.get(name));
            assertThat(flat.contains(name)).isEqualTo(model.contains(name));
            assertThat(texts(flat.getAll(name))).isEqualTo(texts(model.getAll(name)));
            assertThat(flat.getInt(name)).isEqualTo(model.getInt(name));
            assertThat(flat.contains(name, "X", true)).isEqualTo(model.contains(name, "X", true));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {11, 12, 13})
    void should_keep_the_order_that_netty_keeps(long seed) {
        Random random = new Random(seed);
        FlatHeaders flat = new FlatHeaders();
        DefaultHttp2Headers model = new DefaultHttp2Headers(false);
        for (int i = 0; i < 40; i++) {
            CharSequence name = text(random, NAMES);
            flat.add(name, "v" + i);
            model.add(name, "v" + i);
            if (i % 7 == 0) {
                flat.remove("a");
                model.remove("a");
            }
            assertThat(fields(flat)).isEqualTo(fields(model));
        }
    }

    @Test
    void should_copy_the_fields_without_the_pseudo_header_fields() {
        for (Http2Headers head : List.of(new FlatHeaders(), new DefaultHttp2Headers(false))) {
            head.status("200").add("a", "1").add("b", "2").add("a", "3");
            FlatHeaders copy = FlatHeaders.fieldsOf(head, 1);
            head.set("a", "4");
            assertThat(copy.size()).isEqualTo(3);
            assertThat(copy.getAll("a")).map(Object::toString).containsExactly("1", "3");
            copy.add("c", "5").status("404");
            assertThat(copy.get("c")).hasToString("5");
            assertThat(copy.status()).hasToString("404");
            assertThat(head.contains("c")).isFalse();
        }
    }

    @Test
    void should_have_the_pseudo_header_fields() {
        Http2Headers head = new FlatHeaders()
                .add("x", "1")
                .method("GET")
                .scheme("https")
                .authority("example.com")
                .path("/")
                .status("200");
        assertThat(texts(List.of(head.method(), head.scheme(), head.authority(), head.path(), head.status())))
                .containsExactly("GET", "https", "example.com", "/", "200");
        assertThat(fields(head)).last().isEqualTo("x=1");
    }

    @Test
    void should_read_and_write_numbers() {
        FlatHeaders head = new FlatHeaders();
        head.addInt("int", 7).addLong("long", 1L << 40).setBoolean("yes", true).addTimeMillis("date", 0);
        assertThat(head.getInt("int", 0)).isEqualTo(7);
        assertThat(head.getLong("long")).isEqualTo(1L << 40);
        assertThat(head.getBoolean("yes", false)).isTrue();
        assertThat(head.getTimeMillis("date")).isZero();
        assertThat(head.getInt("none", 3)).isEqualTo(3);
        assertThat(head.add("words", "seven").getInt("words")).isNull();
        assertThat(head.containsInt("int", 7)).isTrue();
        assertThat(head.getIntAndRemove("int")).isEqualTo(7);
        assertThat(head.contains("int")).isFalse();
    }

    @Test
    void should_refuse_to_remove_where_the_iterator_stands_on_nothing() {
        FlatHeaders flat = new FlatHeaders();
        flat.add("a", "1").add("b", "2");
        Iterator<Map.Entry<CharSequence, CharSequence>> fields = flat.iterator();
        assertThatThrownBy(fields::remove).isInstanceOf(IllegalStateException.class);
        fields.next();
        fields.remove();
        assertThatThrownBy(fields::remove).isInstanceOf(IllegalStateException.class);
        assertThat(flat.names()).containsExactly("b");
    }

    @Test
    void should_remove_what_the_iterator_stands_on() {
        FlatHeaders head = new FlatHeaders();
        head.add("a", "1").add("b", "2").add("c", "3");
        Iterator<Map.Entry<CharSequence, CharSequence>> fields = head.iterator();
        fields.next();
        fields.next();
        fields.remove();
        assertThat(fields.next().getKey()).isEqualTo("c");
        assertThat(fields.hasNext()).isFalse();
        assertThat(fields(head)).containsExactly("a=1", "c=3");
        assertThatThrownBy(fields::next).isInstanceOf(NoSuchElementException.class);
    }

    @Test
    void should_refuse_to_add_itself() {
        FlatHeaders head = new FlatHeaders();
        assertThatThrownBy(() -> head.add(head)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> head.add("x", (CharSequence) null)).isInstanceOf(NullPointerException.class);
    }

    /** Of either kind of text, sometimes another object than the one that is in the head. */
    private static CharSequence text(Random random, String[] from) {
        String text = from[random.nextInt(from.length)];
        return random.nextBoolean() ? new AsciiString(text) : text;
    }

    private static void assertSame(CharSequence actual, CharSequence expected) {
        assertThat(String.valueOf(actual)).isEqualTo(String.valueOf(expected));
    }

    private static List<String> texts(Iterable<CharSequence> values) {
        List<String> texts = new ArrayList<>();
        values.forEach(value -> texts.add(value.toString()));
        return texts;
    }

    private static List<String> fields(Http2Headers head) {
        List<String> fields = new ArrayList<>();
        head.forEach(field -> fields.add(field.getKey() + "=" + field.getValue()));
        return fields;
    }
}
