package io.lambdadispatcher.worker.config;

import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.PortKey;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;

/**
 * Authenticates a worker at the dispatcher. Each connection presents a launch token, which is an
 * HMAC-SHA-256 of the function's name, the worker's id and an expiry time. {@code
 * docs/reference/protocol.md} describes its format.
 *
 * <pre>{@code
 * Credential credential = new Credential.Secret(System.getenv("DISPATCHER_SECRET"));
 * }</pre>
 *
 * <p>Choose a credential by the way the worker starts:
 * <ul>
 *   <li>{@link Token} for a worker that a dispatcher launches,
 *   <li>{@link FunctionKey} for an external worker, because it is valid for one function only,
 *   <li>{@link Secret} for an external worker that may hold the secret itself.
 * </ul>
 *
 * <p>{@code toString} of each credential hides its content. Immutable; any thread.
 */
public sealed interface Credential {
    /**
     * Returns the launch token for a connection that is opened at {@code now}.
     *
     * @param function the name of the function that the worker serves
     * @param workerId the worker's id
     * @throws IllegalArgumentException if a new token is signed, and the function's name or the
     *     worker's id is not 1 to 256 characters long
     */
    String token(String function, String workerId, Instant now);

    /**
     * Returns whether the worker may connect again after a dispatcher has shut down. It is true if
     * the worker signs its own tokens, and false for a launched worker, which belongs to one
     * dispatcher.
     */
    boolean outlivesDispatcher();

    /**
     * A launch token that a launcher has signed for this worker. The worker presents it unchanged
     * on each connection. It must open its first connection before the token expires. The
     * dispatcher admits its later connections even after that.
     *
     * @param token {@code v1.<function>.<worker id>.<expiry>.<signature>}, not blank
     */
    record Token(String token) implements Credential {
        /**
         * @throws IllegalArgumentException if the token is blank. Otherwise, only the dispatcher
         *     verifies it
         */
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

    /**
     * How long a token is valid that the worker has signed itself: 5 minutes. The worker signs a
     * new one for each connection, so this limits how far its clock may be behind the dispatcher's.
     */
    Duration SELF_SIGNED_LIFE = Duration.ofMinutes(5);

    /**
     * The secret that the worker shares with the dispatcher: its secret for the function, or the
     * common one. The worker derives the function's key from it and signs its own tokens.
     *
     * @param secret at least 16 bytes in UTF-8
     */
    record Secret(String secret) implements Credential {
        /** @throws IllegalArgumentException if the secret is shorter than 16 bytes in UTF-8 */
        public Secret {
            int bytes = secret.getBytes(StandardCharsets.UTF_8).length;
            if (bytes < LaunchToken.MIN_SECRET_BYTES) {
                throw new IllegalArgumentException(
                        "secret of " + bytes + " bytes, expected at least " + LaunchToken.MIN_SECRET_BYTES);
            }
        }

        @Override
        public String token(String function, String workerId, Instant now) {
            return new LaunchToken(function, workerId, now.plus(SELF_SIGNED_LIFE))
                    .sign(LaunchToken.key(secret.getBytes(StandardCharsets.UTF_8), function));
        }

        /** Returns the fingerprint of the public key that the worker port has by default. */
        String portFingerprint() {
            return PortKey.fingerprint(
                    PortKey.of(secret.getBytes(StandardCharsets.UTF_8)).getPublic());
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

    /**
     * The key of the worker's function, which is derived from the secret. The worker signs its own
     * tokens. It cannot sign tokens for other functions.
     *
     * @param hex the key in hexadecimal without separators, at least 16 bytes (32 digits)
     */
    record FunctionKey(String hex) implements Credential {
        /**
         * @throws IllegalArgumentException if the key is not hexadecimal, or is shorter than 16
         *     bytes
         */
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
