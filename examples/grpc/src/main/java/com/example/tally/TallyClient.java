package com.example.tally;

import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Calls each of the four kinds of methods once, without TLS, and prints the responses. Usage:
 * {@code TallyClient HOST:PORT}.
 */
public final class TallyClient {
    private static final int WATCHED = 3;

    private TallyClient() {}

    public static void main(String[] arguments) throws Exception {
        ManagedChannel channel = NettyChannelBuilder.forTarget(arguments[0]).usePlaintext().build();
        try {
            call(channel);
        } finally {
            channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
        }
    }

    private static void call(ManagedChannel channel) throws Exception {
        var now = TallyGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);
        var later = TallyGrpc.newStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS);

        System.out.println("unary: " + now.add(amount("apples", 2)).getValue());

        Answers sum = new Answers();
        StreamObserver<Amount> summands = later.addAll(sum);
        List.of(1, 2, 3).forEach(value -> summands.onNext(amount("pears", value)));
        summands.onCompleted();
        System.out.println("client streaming: " + sum.values());

        Watch watch = new Watch();
        later.watch(Name.newBuilder().setName("plums").build(), watch);
        watch.first.await(30, TimeUnit.SECONDS);
        for (int i = 1; i < WATCHED; i++) {
            now.add(amount("plums", i));
        }
        System.out.println("server streaming: " + watch.seen.get(30, TimeUnit.SECONDS) + ", then cancelled");

        Answers counted = new Answers();
        StreamObserver<Amount> counts = later.count(counted);
        List.of(10, 20, 30).forEach(value -> counts.onNext(amount("nuts", value)));
        counts.onCompleted();
        System.out.println("both: " + counted.values());

        try {
            now.add(amount("", 1));
        } catch (StatusRuntimeException e) {
            System.out.println("status: " + e.getStatus().getCode() + ", " + e.getStatus().getDescription());
        }
    }

    private static Amount amount(String name, long value) {
        return Amount.newBuilder().setName(name).setValue(value).build();
    }

    private static final class Answers implements StreamObserver<Amount> {
        private final List<Long> values = new ArrayList<>();
        private final CompletableFuture<List<Long>> all = new CompletableFuture<>();

        List<Long> values() throws Exception {
            return all.get(30, TimeUnit.SECONDS);
        }

        @Override
        public void onNext(Amount amount) {
            values.add(amount.getValue());
        }

        @Override
        public void onError(Throwable cause) {
            all.completeExceptionally(cause);
        }

        @Override
        public void onCompleted() {
            all.complete(values);
        }
    }

    /** Cancels the call after a few responses. */
    private static final class Watch implements ClientResponseObserver<Name, Amount> {
        private final CountDownLatch first = new CountDownLatch(1);
        private final CompletableFuture<List<Long>> seen = new CompletableFuture<>();
        private final List<Long> values = new ArrayList<>();
        private ClientCallStreamObserver<Name> call;

        @Override
        public void beforeStart(ClientCallStreamObserver<Name> stream) {
            call = stream;
        }

        @Override
        public void onNext(Amount amount) {
            values.add(amount.getValue());
            first.countDown();
            if (values.size() == WATCHED) {
                seen.complete(List.copyOf(values));
                call.cancel("seen enough", null);
            }
        }

        @Override
        public void onError(Throwable cause) {
            seen.completeExceptionally(cause);
        }

        @Override
        public void onCompleted() {
            seen.complete(List.copyOf(values));
        }
    }
}
