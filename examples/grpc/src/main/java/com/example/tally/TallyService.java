package com.example.tally;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Counts in memory. Answers INVALID_ARGUMENT if a name is empty. */
final class TallyService extends TallyGrpc.TallyImplBase {
    private final Map<String, Long> counts = new ConcurrentHashMap<>();
    private final Map<String, Set<ServerCallStreamObserver<Amount>>> watchers = new ConcurrentHashMap<>();

    @Override
    public void add(Amount request, StreamObserver<Amount> response) {
        if (request.getName().isEmpty()) {
            response.onError(Status.INVALID_ARGUMENT.withDescription("name is empty").asRuntimeException());
            return;
        }
        response.onNext(counted(request));
        response.onCompleted();
    }

    @Override
    public StreamObserver<Amount> addAll(StreamObserver<Amount> response) {
        return new Requests(response) {
            private long sum;

            @Override
            void on(Amount request) {
                counted(request);
                sum += request.getValue();
            }

            @Override
            public void onCompleted() {
                response.onNext(Amount.newBuilder().setName("sum").setValue(sum).build());
                response.onCompleted();
            }
        };
    }

    @Override
    public void watch(Name request, StreamObserver<Amount> response) {
        var call = (ServerCallStreamObserver<Amount>) response;
        Set<ServerCallStreamObserver<Amount>> those =
                watchers.computeIfAbsent(request.getName(), name -> ConcurrentHashMap.newKeySet());
        call.setOnCancelHandler(() -> those.remove(call));
        those.add(call);
        send(call, amount(request.getName(), counts.getOrDefault(request.getName(), 0L)));
    }

    @Override
    public StreamObserver<Amount> count(StreamObserver<Amount> response) {
        return new Requests(response) {
            @Override
            void on(Amount request) {
                response.onNext(counted(request));
            }

            @Override
            public void onCompleted() {
                response.onCompleted();
            }
        };
    }

    private Amount counted(Amount request) {
        long now = counts.merge(request.getName(), request.getValue(), Long::sum);
        Amount amount = amount(request.getName(), now);
        watchers.getOrDefault(request.getName(), Set.of()).forEach(call -> send(call, amount));
        return amount;
    }

    private static Amount amount(String name, long value) {
        return Amount.newBuilder().setName(name).setValue(value).build();
    }

    /** Locks the call, because several threads may send, and a stream is not thread-safe. */
    private static void send(ServerCallStreamObserver<Amount> call, Amount amount) {
        synchronized (call) {
            if (!call.isCancelled()) {
                call.onNext(amount);
            }
        }
    }

    private abstract static class Requests implements StreamObserver<Amount> {
        private final StreamObserver<Amount> response;
        private boolean refused;

        Requests(StreamObserver<Amount> response) {
            this.response = response;
        }

        abstract void on(Amount request);

        @Override
        public final void onNext(Amount request) {
            if (refused) {
                return;
            }
            if (request.getName().isEmpty()) {
                refused = true;
                response.onError(Status.INVALID_ARGUMENT.withDescription("name is empty").asRuntimeException());
                return;
            }
            on(request);
        }

        @Override
        public final void onError(Throwable cause) {
            // The client has cancelled, so no response can be sent.
            refused = true;
        }
    }
}
