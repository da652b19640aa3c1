package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.wire.worker.LaunchToken;
import java.security.SecureRandom;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The secrets that sign launch tokens. The first one of a function signs, and all are accepted.
 *
 * @param common of functions that have none of their own
 * @param random whether the common one is random, because none was set
 * @param own by name of the function
 */
public record Secrets(List<byte[]> common, boolean random, Map<String, List<byte[]>> own) {
    private static final int RANDOM_BYTES = 32;

    /** @param common {@code null} for a random one */
    public static Secrets of(@Nullable List<byte[]> common, Map<String, List<byte[]>> own) {
        return new Secrets(common == null ? List.of(randomSecret()) : common, common == null, Map.copyOf(own));
    }

    private static byte[] randomSecret() {
        byte[] bytes = new byte[RANDOM_BYTES];
        new SecureRandom().nextBytes(bytes);
        return bytes;
    }

    /**
     * Returns these secrets with others in their place.
     *
     * @param newCommon {@code null} to keep the common ones
     * @param newOwn by name of the function. Other functions keep theirs
     */
    public Secrets with(@Nullable List<byte[]> newCommon, Map<String, List<byte[]>> newOwn) {
        Map<String, List<byte[]>> all = new HashMap<>(own);
        all.putAll(newOwn);
        return new Secrets(newCommon == null ? common : newCommon, random && newCommon == null, all);
    }

    /** Returns what to add to the reason for which a token is rejected. */
    public String hint() {
        return random ? ". No secret is set, so the dispatcher has a random one" : "";
    }

    /** Returns the keys of the tokens of a function. The first one signs. */
    public List<byte[]> keys(String function) {
        return own.getOrDefault(function, common).stream()
                .map(secret -> LaunchToken.key(secret, function))
                .toList();
    }

    /** @throws IllegalArgumentException if a function is unknown or a secret too short */
    public void verify(Set<String> functions) {
        requireLong("secret", common);
        own.forEach((function, secrets) -> {
            if (!functions.contains(function)) {
                throw new IllegalArgumentException(
                        "secret: '" + function + "', expected the name of one of the functions");
            }
            requireLong("secret of function " + function, secrets);
        });
    }

    private static void requireLong(String what, List<byte[]> secrets) {
        for (byte[] secret : secrets) {
            if (secret.length < LaunchToken.MIN_SECRET_BYTES) {
                throw new IllegalArgumentException(
                        what + ": " + secret.length + " bytes, expected at least " + LaunchToken.MIN_SECRET_BYTES);
            }
        }
    }
}
