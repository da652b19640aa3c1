package io.lambdadispatcher.worker.internal.connect;

/**
 * What one connection needs to know at the moment it is made.
 *
 * @param authority {@code host:port} of the dispatcher
 * @param token never to be logged
 * @param remainingMillis until the worker must be gone; -1 = never
 * @param agent software and version
 */
record ConnectionSettings(
        String authority,
        boolean tls,
        String token,
        int streams,
        int remainingMillis,
        int drainGraceMillis,
        int streamWindowBytes,
        String agent) {
    @Override
    public String toString() {
        return "ConnectionSettings[" + authority + "]";
    }
}
