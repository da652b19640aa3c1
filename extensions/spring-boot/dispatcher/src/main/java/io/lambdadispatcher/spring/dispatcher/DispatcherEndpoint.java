package io.lambdadispatcher.spring.dispatcher;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.ClientSnapshot;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/**
 * The actuator endpoint {@code dispatcher}: workers, queues, launches and clients at this moment.
 */
@Endpoint(id = "dispatcher")
public final class DispatcherEndpoint {
    private final DispatcherLifecycle lifecycle;

    DispatcherEndpoint(DispatcherLifecycle lifecycle) {
        this.lifecycle = lifecycle;
    }

    /**
     * What the endpoint returns.
     *
     * @param ready whether every function can serve requests
     * @param publicAddresses ports for clients
     * @param workerAddress port that workers dial; {@code null} if the dispatcher does not run
     * @param functions workers and queue of each function
     * @param launching launches of each function whose workers the dispatcher launches
     * @param clients what clients cost; {@code null} if the dispatcher does not run
     */
    public record Description(
            boolean ready,
            List<String> publicAddresses,
            @Nullable String workerAddress,
            List<PoolSnapshot> functions,
            List<CapacitySnapshot> launching,
            @Nullable ClientSnapshot clients) {}

    @ReadOperation
    public Description description() {
        Dispatcher dispatcher = lifecycle.running();
        return dispatcher == null
                ? new Description(false, List.of(), null, List.of(), List.of(), null)
                : new Description(
                        dispatcher.isReady(),
                        dispatcher.publicAddresses().stream()
                                .map(String::valueOf)
                                .toList(),
                        String.valueOf(dispatcher.workerAddress()),
                        dispatcher.pools(),
                        dispatcher.capacity(),
                        dispatcher.clients());
    }
}
