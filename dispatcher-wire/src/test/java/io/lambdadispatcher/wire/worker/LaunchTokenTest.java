package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;

class LaunchTokenTest {
    private static final byte[] KEY = new byte[32];
    private static final Instant EXPIRY = Instant.ofEpochSecond(1_800_000_000);
    private static final LaunchToken TOKEN = new LaunchToken("orders", "w1", EXPIRY);

    @Test
    void should_verify_what_it_signed() throws Exception {
        String text = TOKEN.sign(KEY);
        assertThat(LaunchToken.verify(text, function -> List.of(KEY), EXPIRY.minusMillis(1)))
                .isEqualTo(TOKEN);
        assertThatThrownBy(() -> LaunchToken.verify(text, function -> List.of(KEY), EXPIRY))
                .isInstanceOf(WireException.class)
                .hasMessageContaining("worker w1 expired at 2027-01-15T08:00:00Z, now 2027-01-15T08:00:00Z");
    }

    /** For as long as a secret is being replaced. */
    @Test
    void should_verify_what_any_of_the_keys_signed() throws Exception {
        byte[] old = LaunchToken.key(KEY, "old");
        byte[] other = LaunchToken.key(KEY, "other");
        String text = TOKEN.sign(old);
        assertThat(LaunchToken.verify(text, function -> List.of(KEY, old), Instant.EPOCH))
                .isEqualTo(TOKEN);
        assertThatThrownBy(() -> LaunchToken.verify(text, function -> List.of(KEY, other), Instant.EPOCH))
                .isInstanceOf(WireException.class)
                .hasMessageContaining("wrong signature");
    }

    /** Otherwise a worker of one function could take the requests of all others. */
    @Test
    void should_not_let_the_key_of_one_function_sign_for_another() throws Exception {
        byte[] ofOrders = LaunchToken.key(KEY, "orders");
        String good = TOKEN.sign(ofOrders);
        assertThat(LaunchToken.verify(good, name -> List.of(LaunchToken.key(KEY, name)), Instant.EPOCH))
                .isEqualTo(TOKEN);

        String forged = new LaunchToken("invoices", "w1", EXPIRY).sign(ofOrders);
        assertThatThrownBy(() -> LaunchToken.verify(forged, name -> List.of(LaunchToken.key(KEY, name)), Instant.EPOCH))
                .isInstanceOf(WireException.class)
                .hasMessageContaining("wrong signature");
    }

    /** Logs, pages and metrics show them as they are. */
    @Test
    void should_refuse_names_that_are_not_printable() {
        Base64.Encoder base64 = Base64.getUrlEncoder().withoutPadding();
        String id = base64.encodeToString("w\n1".getBytes(StandardCharsets.US_ASCII));
        String signed = "v1." + base64.encodeToString("orders".getBytes(StandardCharsets.US_ASCII)) + "." + id + ".9";
        byte[] signature =
                new Hmac(KEY).update(signed.getBytes(StandardCharsets.US_ASCII)).finish();
        String token = signed + "." + base64.encodeToString(signature);
        assertThatThrownBy(() -> LaunchToken.verify(token, function -> List.of(KEY), Instant.EPOCH))
                .isInstanceOf(WireException.class)
                .hasMessageEndingWith("worker id with control characters: w\\u000a1");
        assertThatThrownBy(() -> new LaunchToken("orders\u202e", "w1", EXPIRY))
                .hasMessage("function with control characters: orders\\u202e");
    }

    @Test
    void should_refuse_every_changed_character() {
        String text = TOKEN.sign(KEY);
        for (int i = 0; i < text.length(); i++) {
            char changed = text.charAt(i) == 'A' ? 'B' : 'A';
            String forged = text.substring(0, i) + changed + text.substring(i + 1);
            assertThatThrownBy(() -> LaunchToken.verify(forged, function -> List.of(KEY), Instant.EPOCH))
                    .as(forged)
                    .isInstanceOf(WireException.class);
        }
    }

    /** Padding, unused bits, signs and zeros: all decode to the same token. */
    @Test
    void should_accept_one_spelling_of_a_token_only() {
        String text = TOKEN.sign(KEY);
        String[] parts = text.split("\\.");
        List<String> others = new ArrayList<>();
        for (char last : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".toCharArray()) {
            String same = text.substring(0, text.length() - 1) + last;
            if (!same.equals(text)) {
                others.add(same);
            }
        }
        others.add(text + "=");
        others.add(signed("v1." + parts[1] + "." + parts[2] + ".+" + parts[3]));
        others.add(signed("v1." + parts[1] + "." + parts[2] + ".0" + parts[3]));
        others.add(signed("v1." + parts[1] + "." + parts[2] + "=." + parts[3]));
        others.add(signed("v1." + parts[1] + ".dzF." + parts[3]));
        for (String other : others) {
            assertThatThrownBy(() -> LaunchToken.verify(other, function -> List.of(KEY), Instant.EPOCH))
                    .as(other)
                    .isInstanceOf(WireException.class);
        }
    }

    private static String signed(String signed) {
        byte[] signature =
                new Hmac(KEY).update(signed.getBytes(StandardCharsets.US_ASCII)).finish();
        return signed + "." + Base64.getUrlEncoder().withoutPadding().encodeToString(signature);
    }

    @Test
    void should_never_tell_a_token_in_an_error() {
        String text = TOKEN.sign(KEY);
        String signature = text.substring(text.lastIndexOf('.') + 1);
        assertThatThrownBy(() -> LaunchToken.verify(text + "A", function -> List.of(KEY), Instant.EPOCH))
                .extracting(Throwable::getMessage)
                .asString()
                .doesNotContain(signature);
        assertThatThrownBy(() -> LaunchToken.verify(text, function -> List.of(KEY), EXPIRY))
                .extracting(Throwable::getMessage)
                .asString()
                .doesNotContain(signature);
    }

    @Test
    void should_take_names_of_the_largest_length() throws Exception {
        LaunchToken large = new LaunchToken("f".repeat(256), "w".repeat(256), EXPIRY);
        String text = large.sign(KEY);
        assertThat(text.length()).isLessThan(WireLimits.MAX_TOKEN_CHARS);
        assertThat(LaunchToken.verify(text, function -> List.of(KEY), Instant.EPOCH))
                .isEqualTo(large);
    }

    @Test
    void should_refuse_names_that_are_empty_or_too_long() {
        assertThatThrownBy(() -> new LaunchToken("", "w", EXPIRY))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("function of 0 characters, expected 1 to 256");
        assertThatThrownBy(() -> new LaunchToken("f", "w".repeat(257), EXPIRY))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("worker id of 257 characters, expected 1 to 256");
    }

    @Test
    void should_refuse_a_secret_that_could_be_guessed() {
        assertThatThrownBy(() -> TOKEN.sign(new byte[15]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("secret of 15 bytes, expected at least 16");
    }
}
