package io.lambdadispatcher.worker.config;

import io.lambdadispatcher.wire.worker.LaunchToken;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;

/** What lets the worker in. */
public sealed interface Credential {
    /** The token to present when a connection is made at {@code now}. */
    String token(String function, String workerId, Instant now);

    /** The worker may come back after the dispatcher it knew has gone. */
    boolean outlivesDispatcher();

    /** A token the launcher minted for this worker. */
    record Token(String token) implements Credential {
        public Token {
            if (token.isBlank()) {
                throw new IllegalArgumentException(
                        "empty launch token, expected v1.<function>.<worker id>.<expiry>.<signature>");
            }
        }

        @Override
        public String token(String function, String workerId, Instant now) {
            return token;
        }

        @Override
        public boolean outlivesDispatcher() {
            return false;
        }

        @Override
        public String toString() {
            return "Token[…]";
        }
    }

    /** The secret shared with the dispatcher: the worker mints its own tokens. */
    record Secret(String secret) implements Credential {
        private static final Duration VALIDITY = Duration.ofMinutes(5);

        public Secret {
            int bytes = secret.getBytes(StandardCharsets.UTF_8).length;
            if (bytes < LaunchToken.MIN_SECRET_BYTES) {
                throw new IllegalArgumentException(
                        "secret of " + bytes + " octets, expected at least " + LaunchToken.MIN_SECRET_BYTES);
            }
        }

        @Override
        public String token(String function, String workerId, Instant now) {
            return new LaunchToken(function, workerId, now.plus(VALIDITY))
                    .sign(secret.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public boolean outlivesDispatcher() {
            return true;
        }

        @Override
        public String toString() {
            return "Secret[…]";
        }
    }
}
