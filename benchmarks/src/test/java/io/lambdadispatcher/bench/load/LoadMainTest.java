package io.lambdadispatcher.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.bench.endtoend.BackendMain;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoadMainTest {
    private final EventLoopGroup loops = LoadMain.newLoop();
    private Channel backend;

    @BeforeEach
    void start() throws InterruptedException {
        backend = BackendMain.start(0);
    }

    @AfterEach
    void stop() throws InterruptedException {
        backend.close().sync();
        loops.shutdownGracefully();
    }

    @Test
    void should_send_at_the_rate_and_count_answers() throws Exception {
        String report = load("rate=500 seconds=0.4 request=1:/ping:4");

        assertThat(number(report, "answered")).isEqualTo(200);
        assertThat(number(report, "errors")).isZero();
    }

    @Test
    void should_record_nothing_of_the_warm_up() throws Exception {
        assertThat(number(load("rate=500 warm=0.2 seconds=0.2 request=1:/ping:4"), "answered"))
                .isEqualTo(100);
    }

    @Test
    void should_take_answers_of_another_size_for_errors() throws Exception {
        String report = load("rate=200 seconds=0.1 request=1:/ping:5");

        assertThat(number(report, "errors")).isEqualTo(20);
        assertThat(number(report, "answered")).isZero();
    }

    @Test
    void should_get_back_what_it_posts(@TempDir Path directory) throws Exception {
        Path body = Files.write(directory.resolve("body"), new byte[200_000]);

        String report = load("rate=50 seconds=0.2 connections=1 request=1:/echo:200000:" + body);

        assertThat(number(report, "answered")).isEqualTo(10);
    }

    @Test
    void should_post_the_number_of_each_request_twice() throws Exception {
        String report = load("rate=100 seconds=0.2 request=1:/echo:28:numbered");

        assertThat(number(report, "answered")).isEqualTo(20);
        assertThat(number(report, "errors")).isZero();
        assertThat(RequestKind.parse("1:/echo:28:numbered", "localhost")
                        .body(42)
                        .toString(StandardCharsets.US_ASCII))
                .isEqualTo("<000000000042><000000000042>");
    }

    @Test
    void should_say_what_is_wrong_with_an_order() throws Exception {
        assertThat(load("rate=fast request=1:/ping:4")).contains("failed", "fast");
        assertThat(load("speed=1 request=1:/ping:4")).contains("failed", "speed=1");
    }

    @Test
    void should_fail_where_nobody_listens() throws Exception {
        int port = port();
        backend.close().sync();

        assertThat(LoadMain.answer("port=" + port + " seconds=1 request=1:/ping:4", loops))
                .contains("failed", "refused");
    }

    private String load(String order) throws InterruptedException {
        return LoadMain.answer("port=" + port() + " " + order, loops);
    }

    private int port() {
        return ((InetSocketAddress) backend.localAddress()).getPort();
    }

    private static long number(String json, String key) {
        Matcher found = Pattern.compile("\"" + key + "\":(\\d+)").matcher(json);
        assertThat(found.find()).as("%s in %s", key, json).isTrue();
        return Long.parseLong(found.group(1));
    }
}
