package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.spi.RequestRouter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What {@code DispatcherChange} collects. {@code null} = no change. Not thread-safe. */
public final class ChangedOptions {
    public final Map<String, FunctionOptions> functions = new LinkedHashMap<>();
    /** By index of the listener. */
    public final Map<Integer, TlsOptions> publicTls = new LinkedHashMap<>();

    public final Map<String, List<byte[]>> functionSecrets = new LinkedHashMap<>();
    public @Nullable List<byte[]> secrets;
    public @Nullable TlsOptions workerTls;
    public @Nullable RequestRouter router;
    public @Nullable HttpLimits limits;
    public @Nullable ForwardingPolicy forwarding;
}
