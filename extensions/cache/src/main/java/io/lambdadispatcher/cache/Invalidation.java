package io.lambdadispatcher.cache;

import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.ResponseFilter;

/**
 * Follows the response to an unsafe request. If it is no error, the stored responses of its target
 * are forgotten before the client knows (RFC 9111 section 4.4).
 */
record Invalidation(ResponseStore store, String key) implements ResponseFilter {
    @Override
    public void onHead(int status, HeaderFields headers) {
        if (status >= 200 && status < 400) {
            store.invalidate(key);
        }
    }
}
