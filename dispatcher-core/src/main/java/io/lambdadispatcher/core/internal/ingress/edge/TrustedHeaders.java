package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.NameSet;
import io.lambdadispatcher.wire.http.ProxyHeaders;
import io.netty.util.AsciiString;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Decides which headers of clients' requests are dropped. A proxy in front overwrites only the
 * headers that it writes itself, so all others that an application could take for what a proxy says
 * are the client's own. Immutable. Any thread.
 */
public final class TrustedHeaders {
    private final ForwardingPolicy policy;
    private final NameSet kept;
    private final NameSet read;
    private final long firstLetters;

    /**
     * @param read names, in lower case, of other headers that decide about a request
     */
    public TrustedHeaders(ForwardingPolicy policy, Collection<String> read) {
        this.policy = policy;
        Set<String> names = new LinkedHashSet<>(policy.trust().headers());
        names.addAll(policy.trustedHeaders());
        names.add(policy.clientHeader());
        names.add(policy.requestIdHeader());
        names.remove("");
        kept = NameSet.of(names);
        names.addAll(read);
        names.add(HeadRules.CDN_LOOP.toString());
        this.read = NameSet.of(names);
        firstLetters = HopByHop.firstLetters() | ProxyHeaders.firstLetters() | this.read.firstLetters();
    }

    public ForwardingPolicy policy() {
        return policy;
    }

    /** Returns whether a proxy writes this header, whose name is in lower case. */
    boolean isWritten(AsciiString name) {
        return kept.contains(name);
    }

    /**
     * Returns one bit for the first letter of each header that can be dropped, as {@link
     * HopByHop#firstLetters} does.
     */
    long firstLetters() {
        return firstLetters;
    }

    /** Returns whether a request loses this header. */
    boolean isDropped(CharSequence name, CharSequence value) {
        if (HopByHop.isDroppedFromRequest(name, value) || HeaderSyntax.beginsLike(name, HopByHop.OWN_PREFIX)) {
            return true;
        }
        return ProxyHeaders.contains(name) ? !kept.contains(name) : read.containsLike(name) && !read.contains(name);
    }

    /** Returns whether {@code connection} cannot remove this header. */
    boolean isForAll(CharSequence name) {
        return read.contains(name);
    }
}
