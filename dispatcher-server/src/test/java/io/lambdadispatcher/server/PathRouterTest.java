package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.FunctionOptions;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.LauncherKind;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PathRouterTest {
    private static FunctionConfiguration function(String name, String path) {
        return new FunctionConfiguration(FunctionOptions.of(name), path, LauncherKind.SELF, name, null);
    }

    private static Http2Headers get(String path) {
        return new DefaultHttp2Headers().method("GET").path(AsciiString.of(path));
    }

    @ParameterizedTest
    @CsvSource({
        "/, root",
        "/x, root",
        "/images, images",
        "/images/, images",
        "/images/7, images",
        "/images?x, images",
        "/imagesque, root",
        "/IMAGES, root",
        "/images/raw/7, raw",
        "*, root"
    })
    void should_take_the_longest_path_in_whole_segments(String path, String expected) {
        PathRouter router = new PathRouter(
                List.of(function("root", "/"), function("images", "/images"), function("raw", "/images/raw/")));

        assertThat(router.route(get(path))).isEqualTo(expected);
    }

    @Test
    void should_find_no_function_where_no_path_fits() {
        PathRouter router = new PathRouter(List.of(function("images", "/images")));

        assertThat(router.route(get("/"))).isNull();
        assertThat(router.route(new DefaultHttp2Headers().method("CONNECT"))).isNull();
    }
}
