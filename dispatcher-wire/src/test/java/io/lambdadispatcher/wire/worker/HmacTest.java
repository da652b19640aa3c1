package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HexFormat;
import java.util.Random;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

class HmacTest {
    /** Test case 2 of RFC 4231. */
    @Test
    void should_return_the_hmac_of_the_standard() {
        byte[] hmac = new Hmac("Jefe".getBytes())
                .update("what do ya want for nothing?".getBytes())
                .finish();
        assertThat(HexFormat.of().formatHex(hmac))
                .isEqualTo("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    /** Keys that are shorter than a block of SHA-256, as long as one, and longer. */
    @Test
    void should_return_what_the_jdk_returns_for_each_of_several_messages() throws Exception {
        Random random = new Random(1);
        for (int keyBytes = 1; keyBytes <= 130; keyBytes++) {
            byte[] key = bytes(random, keyBytes);
            Hmac hmac = new Hmac(key);
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            for (int messageBytes : new int[] {0, 1, 55, 56, 64, 1000}) {
                byte[] first = bytes(random, 10);
                byte[] rest = bytes(random, messageBytes);
                mac.update(first);
                assertThat(hmac.update(first).update(rest).finish())
                        .as("key of %s bytes", keyBytes)
                        .isEqualTo(mac.doFinal(rest));
            }
        }
    }

    private static byte[] bytes(Random random, int count) {
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        return bytes;
    }
}
