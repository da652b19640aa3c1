package com.example.inference;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.blocking.BlockingRequest;
import io.lambdadispatcher.worker.blocking.BlockingResponse;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** {@code POST /classify}: a PNG, JPEG, GIF or BMP up to 10 MB, answered by its five likeliest labels as JSON. Blocks. Any thread. */
final class Classify implements BlockingHandler {
    static final int LABELS = 5;

    private static final int MOST_BYTES = 10_000_000;

    @Override
    public void handle(BlockingRequest request, BlockingResponse response) throws IOException {
        if (!request.method().equals("POST")) {
            answer(response, 405, "text/plain; charset=utf-8", "expected POST\n");
            return;
        }
        byte[] image = request.body().readNBytes(MOST_BYTES + 1);
        if (image.length > MOST_BYTES) {
            answer(response, 413, "text/plain; charset=utf-8", "expected " + MOST_BYTES + " octets at most\n");
            return;
        }
        try {
            List<Classifier.Guess> guesses = Classifier.shared().classify(Picture.decode(image));
            answer(response, 200, "application/json", json(guesses.subList(0, LABELS)));
        } catch (IllegalArgumentException e) {
            answer(response, 400, "text/plain; charset=utf-8", e.getMessage() + "\n");
        }
    }

    /** Labels are plain words: nothing in them is to be escaped. */
    private static String json(List<Classifier.Guess> guesses) {
        return guesses.stream()
                .map(guess -> String.format(
                        Locale.ROOT,
                        "{\"label\":\"%s\",\"probability\":%.6f}",
                        guess.texture().label(),
                        guess.probability()))
                .collect(Collectors.joining(",", "{\"labels\":[", "]}\n"));
    }

    private static void answer(BlockingResponse response, int status, String type, String text) throws IOException {
        byte[] octets = text.getBytes(StandardCharsets.UTF_8);
        response.head(new DefaultHttp2Headers(false)
                .status(Integer.toString(status))
                .set("content-type", type)
                .set("content-length", Integer.toString(octets.length)));
        response.body().write(octets);
    }
}
