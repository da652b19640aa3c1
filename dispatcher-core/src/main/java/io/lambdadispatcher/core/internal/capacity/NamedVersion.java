package io.lambdadispatcher.core.internal.capacity;

/**
 * The launcher's answer to the question which version new workers get.
 *
 * @param own the version that the launcher itself names; empty = it knows no versions
 * @param base the version that the base stated when the launcher was asked; empty = none
 * @param matching the version that has the code of the base; empty = there is none
 */
public record NamedVersion(String own, String base, String matching) {
    boolean matchesBase() {
        return !matching.isEmpty();
    }

    /** Returns the version that new workers should have; empty = the launcher chooses. */
    public String version() {
        return matchesBase() ? matching : own;
    }
}
