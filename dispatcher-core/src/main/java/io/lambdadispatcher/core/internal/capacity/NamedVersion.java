package io.lambdadispatcher.core.internal.capacity;

/**
 * The launcher's answer to the question which version new workers get.
 *
 * @param version empty = the launcher knows no versions
 * @param base the version that the base stated when the launcher was asked; empty = none
 * @param matchesBase whether the version has the code of the base. Otherwise, it is the launcher's
 *     own, because none matches
 */
public record NamedVersion(String version, String base, boolean matchesBase) {}
