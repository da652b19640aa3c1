package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.observe.FilterGauge;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.Filter.Phase;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The filters of the program, in the order of their phases. Where there is none, requests go the
 * same way as without this class. Immutable.
 *
 * @param ofAll of all functions
 * @param ofFunctions by the name of their function
 */
public record RequestFilters(List<Filter> ofAll, Map<String, List<Filter>> ofFunctions) {
    private static final Logger log = LoggerFactory.getLogger(RequestFilters.class);
    public static final RequestFilters NONE = new RequestFilters(List.of(), Map.of());

    private static boolean isBeforeRouter(Filter filter) {
        return filter.phase().compareTo(Phase.REWRITE) <= 0;
    }

    private static List<Filter> sorted(Stream<Filter> filters) {
        return filters.sorted(Comparator.comparing(Filter::phase)).toList();
    }

    /** Returns {@code router} behind the filters that run before it. */
    public ExchangeOpener beforeRouter(ExchangeOpener router, FilterLoop home) {
        List<Filter> filters = sorted(ofAll.stream().filter(RequestFilters::isBeforeRouter));
        return filters.isEmpty() ? router : FilterStage.before(new FilterStage.Unrouted(router), filters, null, home);
    }

    /**
     * Returns {@code target} behind the filters that run when the function is known.
     *
     * @param policies whether those that only some policies need are among them
     */
    public FunctionOpener beforeFunction(String function, FunctionOpener target, boolean policies, FilterLoop home) {
        List<Filter> filters = sorted(ofFunction(function, policies).filter(each -> each.phase() != Phase.FORWARD));
        FunctionOpener first = FilterStage.before(target, filters, function, home);
        return ofAll.stream().anyMatch(RequestFilters::isBeforeRouter)
                ? new FilterStage.Routed(function, first)
                : first;
    }

    /** Returns {@code target} behind the filters that see only what goes to it. */
    public FunctionOpener atFunction(String function, FunctionOpener target, boolean policies, FilterLoop home) {
        List<Filter> filters = ofFunction(function, policies)
                .filter(each -> each.phase() == Phase.FORWARD)
                .toList();
        return FilterStage.before(target, filters, function, home);
    }

    /** Closes each filter once. May block. */
    public void close() {
        each().forEach(RequestFilters::close);
    }

    public List<FilterGauge> gauges() {
        return each().stream().flatMap(filter -> filter.gauges().stream()).toList();
    }

    private Set<Filter> each() {
        Set<Filter> all = Collections.newSetFromMap(new IdentityHashMap<>());
        all.addAll(ofAll);
        ofFunctions.values().forEach(all::addAll);
        return all;
    }

    private static void close(Filter filter) {
        try {
            filter.close();
        } catch (Throwable e) {
            log.error("{} failed to close; the dispatcher continues to close", filter, e);
        }
    }

    private Stream<Filter> ofFunction(String function, boolean policies) {
        return Stream.concat(
                        ofAll.stream().filter(each -> !isBeforeRouter(each)),
                        ofFunctions.getOrDefault(function, List.of()).stream())
                .filter(each -> policies || each.policyType() == null);
    }
}
