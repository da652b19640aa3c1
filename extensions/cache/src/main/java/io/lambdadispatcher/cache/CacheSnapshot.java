package io.lambdadispatcher.cache;

/**
 * The stored responses of a dispatcher at one moment. Immutable.
 *
 * @param bytes memory of stored responses, as an estimate
 * @param maxBytes the maximum of it
 * @param evictions number of request targets whose responses were removed, because the memory was
 *     needed or they had become useless
 */
public record CacheSnapshot(long bytes, long maxBytes, long evictions) {}
