package io.lambdadispatcher.core.internal.embed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.request.DispatchRequest;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RequestHeadersTest {
    @ParameterizedTest
    @CsvSource({"a.example, true", "A.example:80, true", "a.example:443, false", "b.example, false"})
    void should_accept_a_host_that_is_the_authority(String host, boolean accepted) {
        DispatchRequest request = DispatchRequest.get("/")
                .authority("a.example")
                .header("host", host)
                .build();
        if (accepted) {
            assertThat(RequestHeaders.head(request).get("host")).isNull();
        } else {
            assertThatThrownBy(() -> RequestHeaders.head(request)).hasMessageContaining("host has the value");
        }
    }
}
