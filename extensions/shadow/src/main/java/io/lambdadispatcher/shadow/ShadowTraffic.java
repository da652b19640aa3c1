package io.lambdadispatcher.shadow;

import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.RequestContext;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * Copies some requests to another function, to test it with real traffic. The client gets the
 * response of its own function and never waits for the copy, which is sent when that function has
 * answered. Its response is dropped and only compared. At most 100 requests of a function are
 * copied at a time, and none whose body is larger than 256 KiB.
 *
 * <pre>{@code
 * TrafficPolicy copied = TrafficPolicy.builder()
 *         .extension(ShadowPolicy.class, ShadowPolicy.of("shop-next", 0.1))
 *         .build();
 * Dispatcher.builder()
 *         .function(FunctionOptions.builder("shop").traffic(copied).build())
 *         .filter(new ShadowTraffic());
 * }</pre>
 */
public final class ShadowTraffic implements Filter {
    /**
     * Header of each copy, whose value is the name of the function that the request is for. Clients
     * cannot send it.
     */
    public static final String HEADER = "lambda-dispatcher-shadow";

    private static final int MOST_COPIES = 100;
    private static final Set<String> SAFE = Set.of("GET", "HEAD", "OPTIONS", "TRACE");

    private final LongSupplier nanoTime;

    /** How many requests are being copied, by their function. */
    private final Map<String, AtomicInteger> copied = new ConcurrentHashMap<>();

    public ShadowTraffic() {
        this(System::nanoTime);
    }

    ShadowTraffic(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    @Override
    public Phase phase() {
        return Phase.FORWARD;
    }

    @Override
    public Class<?> policyType() {
        return ShadowPolicy.class;
    }

    @Override
    public Decision onRequest(RequestContext request) {
        ShadowPolicy policy = request.policy(ShadowPolicy.class);
        if (policy == null || !isCopied(policy, request.method())) {
            return Decision.pass();
        }
        AtomicInteger running = running(String.valueOf(request.function()));
        if (running.incrementAndGet() > MOST_COPIES) {
            running.decrementAndGet();
            ShadowCopy.count(request, policy.function(), "skipped");
            return Decision.pass();
        }
        ShadowCopy copy = new ShadowCopy(request, policy.function(), nanoTime, running::decrementAndGet);
        return request.hasBody() ? Decision.pass(copy.body(), copy) : Decision.pass(copy);
    }

    private static boolean isCopied(ShadowPolicy policy, String method) {
        boolean mayBe = policy.allMethods() ? !method.equals("CONNECT") : SAFE.contains(method);
        return mayBe && ThreadLocalRandom.current().nextDouble() < policy.share();
    }

    /** Returns how many copies of a function's requests have not ended. */
    AtomicInteger running(String function) {
        return copied.computeIfAbsent(function, name -> new AtomicInteger());
    }
}
