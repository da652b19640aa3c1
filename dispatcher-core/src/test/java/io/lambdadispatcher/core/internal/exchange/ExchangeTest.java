package io.lambdadispatcher.core.internal.exchange;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.loop.FairQueue;
import io.lambdadispatcher.core.internal.policy.Bulkhead;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ExchangeTest {
    private final ExchangeOwner owner = stub(ExchangeOwner.class, null);
    private final Http2Headers head = new DefaultHttp2Headers().method("POST").path("/");

    /** Returns an object whose methods return zero, false or nothing. */
    private static <T> T stub(Class<T> type, Exchange ended) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, args) -> {
            Class<?> result = method.getReturnType();
            if (result == Exchange.class) {
                return ended;
            } else if (result == Requester.class) {
                return stub(Requester.class, ended);
            } else if (result == boolean.class) {
                return method.getName().equals("equals") && self == args[0];
            }
            return result == long.class ? (Object) 0L : result == int.class ? 0 : null;
        }));
    }

    /** Returns the fields that can change. */
    private static List<Field> fields(Class<?>... types) {
        return Arrays.stream(types)
                .flatMap(type -> Arrays.stream(type.getDeclaredFields()))
                .filter(field -> (field.getModifiers() & (Modifier.STATIC | Modifier.FINAL)) == 0)
                .filter(field -> !field.isSynthetic())
                .peek(field -> field.setAccessible(true))
                .toList();
    }

    private static Field field(String name) throws Exception {
        Field field = Exchange.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private Exchange newExchange() {
        return new Exchange(owner, head, true, stub(ResponseSink.class, null), TrafficPolicy.NEUTRAL);
    }

    /** Returns a value that no field of the type has in a new exchange. */
    private Object other(Class<?> type) {
        if (type == int.class) {
            return 7;
        } else if (type == long.class) {
            return 7L;
        } else if (type == boolean.class) {
            return true;
        } else if (type == String.class) {
            return "other";
        } else if (type.isEnum()) {
            return type.getEnumConstants()[type.getEnumConstants().length - 1];
        } else if (type == SocketAddress.class) {
            return InetSocketAddress.createUnresolved("other", 7);
        } else if (type == ClientShare.class) {
            return ClientShare.ofAnyone();
        } else if (type == TrafficPolicy.class) {
            return TrafficPolicy.builder().build();
        } else if (type == ClientSession.class) {
            return ClientSession.of(Affinity.header("a"), new DefaultHttp2Headers().set("a", "b"));
        } else if (type == ExchangeTimer.class) {
            return new ExchangeTimer(newExchange(), owner, 7);
        } else if (type == Try.class) {
            return newExchange().attempts().upcoming();
        } else if (type == RequestAdmission.Place.class) {
            return new RequestAdmission.Place(new Bulkhead(), false, null);
        } else if (type == Failure.class) {
            return new Failure(Failure.Kind.TIMEOUT, "other");
        } else if (type == EarlyBody.class) {
            return new EarlyBody();
        } else if (type == FairQueue.Ticket.class) {
            return new FairQueue<Exchange>(new EmbeddedChannel().eventLoop(), 1, ticket -> {})
                    .newTicket(newExchange(), 0, 0);
        }
        return stub(type, null);
    }

    private static Object part(Object whole, String name) throws Exception {
        Field field = whole.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(whole);
    }

    /** Returns the exchange and all that is reused with it, except the report. */
    private static List<Object> parts(Exchange exchange) throws Exception {
        Object attempts = part(exchange, "attempts");
        return List.of(exchange, part(exchange, "head"), part(exchange, "body"), part(exchange, "place"), attempts);
    }

    private static void assertLike(Object reused, Object fresh) throws Exception {
        for (Field field : fields(reused.getClass())) {
            assertThat(field.get(reused)).as(field.toString()).isEqualTo(field.get(fresh));
        }
    }

    private static ExchangeReport reportOf(Exchange exchange) throws Exception {
        return (ExchangeReport) field("report").get(exchange);
    }

    /** Sets what a new report does not have. */
    private void fill(ExchangeReport report) throws Exception {
        for (Field field : fields(ExchangeReport.class, AttemptsReport.class)) {
            field.set(report, field.getName().equals("headers") ? head : other(field.getType()));
        }
    }

    private static Map<String, Object> reportAtEnd(Exchange exchange) {
        List<Map<String, Object>> ends = new ArrayList<>();
        exchange.announceTo(new DispatcherObserver() {
            @Override
            public ExchangeListener onExchangeStart(ExchangeStart start) {
                return end -> ends.add(report(end));
            }
        });
        exchange.report(Outcome.CANCELLED, null);
        return ends.get(0);
    }

    /** Also of a field that someone adds later. */
    @Test
    void should_know_nothing_of_the_request_before_when_it_is_reused() throws Exception {
        Exchange used = new Exchange(owner, head, true, stub(ResponseSink.class, null), TrafficPolicy.NEUTRAL);
        Try reused = used.attempts().upcoming();
        for (Field field : fields(Try.class)) {
            field.set(reused, other(field.getType()));
        }
        for (Object part : parts(used)) {
            for (Field field : fields(part.getClass())) {
                field.set(part, other(field.getType()));
            }
        }
        field("shared").set(used, false);
        fill(reportOf(used));

        ResponseSink sink = stub(ResponseSink.class, used);
        assertThat(Exchange.begin(owner, head, false, sink, TrafficPolicy.NEUTRAL))
                .isSameAs(used);
        Exchange fresh = new Exchange(owner, head, false, sink, TrafficPolicy.NEUTRAL);
        for (int i = 0; i < parts(used).size(); i++) {
            assertLike(parts(used).get(i), parts(fresh).get(i));
        }
        Carrier carrier = stub(Carrier.class, null);
        used.onCarrierFound(carrier);
        fresh.onCarrierFound(carrier);
        assertThat(part(used.attempts(), "current")).isSameAs(reused);
        assertLike(reused, part(fresh.attempts(), "current"));
        assertThat(reportAtEnd(used)).isEqualTo(reportAtEnd(fresh));
    }

    @Test
    void should_not_reuse_an_exchange_that_others_may_refer_to() throws Exception {
        Exchange open = new Exchange(owner, head, true, stub(ResponseSink.class, null), TrafficPolicy.NEUTRAL);
        ResponseSink sink = stub(ResponseSink.class, open);
        assertThat(Exchange.begin(owner, head, true, sink, TrafficPolicy.NEUTRAL))
                .isNotSameAs(open);

        field("state").set(open, other(field("state").getType()));
        field("shared").set(open, true);
        assertThat(Exchange.begin(owner, head, true, sink, TrafficPolicy.NEUTRAL))
                .isNotSameAs(open);
        field("shared").set(open, false);
        assertThat(Exchange.begin(stub(ExchangeOwner.class, null), head, true, sink, TrafficPolicy.NEUTRAL))
                .isNotSameAs(open);
        assertThat(Exchange.begin(owner, head, true, sink, TrafficPolicy.NEUTRAL))
                .isSameAs(open);
    }

    private static Map<String, Object> report(ExchangeEnd end) {
        Map<String, Object> found = new TreeMap<>();
        for (Method method : ExchangeEnd.class.getMethods()) {
            if (method.getParameterCount() == 0 && !method.getName().equals("copy")) {
                found.put(method.getName(), valueOf(method, end));
            }
        }
        for (ExtraAttempt reason : ExtraAttempt.values()) {
            found.put(reason.name(), end.extraAttempts(reason));
        }
        return found;
    }

    private static String valueOf(Method method, ExchangeEnd end) {
        try {
            return String.valueOf(method.invoke(end));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** Also of a method that someone adds later. */
    @Test
    void should_give_observers_a_copy_that_stays_when_the_exchange_is_reused() throws Exception {
        Exchange used = newExchange();
        ExchangeReport report = reportOf(used);
        fill(report);
        report.onRepeated(1, null, "lost", ExtraAttempt.LOST);
        Map<String, Object> before = report(report);
        ExchangeEnd copy = report.copy();
        assertThat(report(copy)).isEqualTo(before);

        field("state").set(used, other(field("state").getType()));
        Http2Headers next = new DefaultHttp2Headers().path("/next");
        Exchange.begin(owner, next, true, stub(ResponseSink.class, used), TrafficPolicy.NEUTRAL);

        assertThat(reportAtEnd(used)).isNotEqualTo(before);
        assertThat(report(copy)).isEqualTo(before);
        assertThat(copy.copy()).isSameAs(copy);
    }
}
