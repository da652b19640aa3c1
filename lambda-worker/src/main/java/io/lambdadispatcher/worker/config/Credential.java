package io.lambdadispatcher.worker.config;

import io.lambdadispatcher.wire.worker.LaunchToken;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;

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

    /** A worker that mints its own tokens needs a new one for each dial-in. */
    Duration SELF_SIGNED_LIFE = Duration.ofMinutes(5);

    /** The secret shared with the dispatcher: the worker derives its function's key, and mints its own tokens. */
    record Secret(String secret) implements Credential {
        public Secret {
            int bytes = secret.getBytes(StandardCharsets.UTF_8).length;
            if (bytes < LaunchToken.MIN_SECRET_BYTES) {
                throw new IllegalArgumentException(
                        "secret of " + bytes + " octets, expected at least " + LaunchToken.MIN_SECRET_BYTES);
            }
        }

        @Override
        public String token(String function, String workerId, Instant now) {
            return new LaunchToken(function, workerId, now.plus(SELF_SIGNED_LIFE))
                    .sign(LaunchToken.key(secret.getBytes(StandardCharsets.UTF_8), function));
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

    /** The key of the worker's function, in hexadecimal: the worker mints its own tokens, and none for other functions. */
    record FunctionKey(String hex) implements Credential {
        /** @throws IllegalArgumentException if it is not hexadecimal, or too short */
        public FunctionKey {
            int bytes;
            try {
                bytes = HexFormat.of().parseHex(hex).length;
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("function key that is not hexadecimal", e);
            }
            if (bytes < LaunchToken.MIN_SECRET_BYTES) {
                throw new IllegalArgumentException(
                        "function key of " + bytes + " bytes, expected at least " + LaunchToken.MIN_SECRET_BYTES);
            }
        }

        @Override
        public String token(String function, String workerId, Instant now) {
            return new LaunchToken(function, workerId, now.plus(SELF_SIGNED_LIFE))
                    .sign(HexFormat.of().parseHex(hex));
        }

        @Override
        public boolean outlivesDispatcher() {
            return true;
        }

        @Override
        public String toString() {
            return "FunctionKey[…]";
        }
    }
}
