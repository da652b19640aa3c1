package io.lambdadispatcher.worker.internal.connect;

/**
 * What a connection needs to know when it is opened.
 *
 * @param authority {@code host:port} of the dispatcher
 * @param token must never be logged
 * @param remainingMillis time until the worker's deadline; -1 if there is none
 * @param agent software and version
 * @param zone availability zone of the worker; empty if it is not known
 * @param share how many downstream connections the worker may have
 * @param limit how many requests the connection takes at once
 */
record ConnectionSettings(
        String authority,
        boolean tls,
        String token,
        int streams,
        int remainingMillis,
        int drainGraceMillis,
        int streamWindowBytes,
        String agent,
        String zone,
        DownstreamShare share,
        RequestLimit.Part limit) {
    @Override
    public String toString() {
        return "ConnectionSettings[" + authority + "]";
    }
}
