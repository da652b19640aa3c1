package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.capacity.Plan;
import io.lambdadispatcher.core.internal.fleet.FleetFunction;
import io.lambdadispatcher.core.internal.launch.LaunchSupervisor.Access;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.wire.worker.LaunchToken;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Makes the requests with which the workers of one function are launched. In a fleet, a worker's id
 * is that of a granted slot. Confined to the executor, except {@link #setAccess}.
 */
final class LaunchRequests {
    /** The least time within which a worker must first be accepted with its launch token. */
    static final Duration TOKEN_LIFE = Duration.ofMinutes(5);

    private final @Nullable FleetFunction fleet;
    private volatile Access access;
    private List<InetSocketAddress> addresses = List.of();

    /** @param fleet grants the slots; {@code null} = there is no fleet */
    LaunchRequests(@Nullable FleetFunction fleet, Access access) {
        this.fleet = fleet;
        this.access = access;
    }

    /** Replaces what workers get that are launched from now on. Any thread. */
    void setAccess(Access value) {
        access = value;
    }

    /** Sets the addresses that launched workers dial. */
    void setAddresses(List<InetSocketAddress> value) {
        addresses = value;
    }

    LaunchRequest next(FunctionOptions function, Plan.Launch launch) {
        String id = fleet == null ? UUID.randomUUID().toString() : fleet.take();
        Access current = access;
        LaunchToken token = new LaunchToken(function.name(), id, Instant.now().plus(tokenLife(function)));
        return new LaunchRequest(
                function.name(),
                id,
                token.sign(current.key()),
                addresses,
                function.connectionsPerWorker(),
                function.streamsPerConnection(),
                current.tlsFingerprints(),
                function.capacity().maxWorkerAge(),
                launch.version(),
                launch.downstreamShare());
    }

    private Duration tokenLife(FunctionOptions function) {
        Duration life = function.launching().launchTimeout();
        // A slot of the fleet ends if the worker has not connected within the launch timeout.
        if (fleet == null && life.compareTo(TOKEN_LIFE) < 0) {
            return TOKEN_LIFE;
        }
        return life.compareTo(LaunchToken.MAX_LIFE) < 0 ? life : LaunchToken.MAX_LIFE;
    }
}
