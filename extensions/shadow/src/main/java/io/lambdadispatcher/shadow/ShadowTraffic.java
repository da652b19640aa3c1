package io.lambdadispatcher.shadow;

import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.RequestContext;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * Copies some requests to another function, to test it with real traffic. The client gets the
 * response of its own function and never waits for the copy, which is sent when that function has
 * answered. Its response is dropped and only compared.
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
        String function = Objects.requireNonNull(request.function(), "function");
        AtomicInteger running = copied.computeIfAbsent(function, name -> new AtomicInteger());
        if (running.incrementAndGet() > policy.maxRequests()) {
            running.decrementAndGet();
            count(request, policy, "skipped");
            return Decision.pass();
        }
        ShadowCopy copy = new ShadowCopy(request, policy, function, nanoTime, running::decrementAndGet);
        return request.hasBody() ? Decision.pass(copy.body(), copy) : Decision.pass(copy);
    }

    private static boolean isCopied(ShadowPolicy policy, String method) {
        boolean mayBe = policy.allMethods() ? !method.equals("CONNECT") : SAFE.contains(method);
        return mayBe && ThreadLocalRandom.current().nextDouble() < policy.share();
    }

    /** Returns how many copies of a function's requests have not ended. */
    int running(String function) {
        AtomicInteger its = copied.get(function);
        return its == null ? 0 : its.get();
    }

    static void count(RequestContext request, ShadowPolicy policy, String result) {
        request.report(FilterEvent.counted(
                "shadow.requests",
                "Copies of requests to another function, by how they compare with the request",
                Map.of("shadow", policy.function(), "result", result)));
    }
}
