package com.example.inference;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.blocking.BlockingRequest;
import io.lambdadispatcher.worker.blocking.BlockingResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * The route {@code POST /classify}. It takes a PNG, JPEG, GIF or BMP of at most 10 MB, and returns
 * the five most probable labels as JSON. Blocks. Any thread.
 */
final class Classify implements BlockingHandler {
    static final int LABELS = 5;

    private static final int MOST_BYTES = 10_000_000;

    @Override
    public void handle(BlockingRequest request, BlockingResponse response) throws IOException {
        if (!request.method().equals("POST")) {
            response.respond(405, "expected POST\n");
            return;
        }
        byte[] image = request.body().readNBytes(MOST_BYTES + 1);
        if (image.length > MOST_BYTES) {
            response.respond(413, "expected " + MOST_BYTES + " bytes at most\n");
            return;
        }
        try {
            List<Classifier.Guess> guesses = Classifier.shared().classify(Picture.decode(image));
            response.json(200, json(guesses.subList(0, LABELS)).getBytes(StandardCharsets.UTF_8));
        } catch (IllegalArgumentException e) {
            response.respond(400, e.getMessage() + "\n");
        }
    }

    /** Formats the guesses. Labels are plain words, which need no escapes. */
    private static String json(List<Classifier.Guess> guesses) {
        return guesses.stream()
                .map(guess -> String.format(
                        Locale.ROOT,
                        "{\"label\":\"%s\",\"probability\":%.6f}",
                        guess.texture().label(),
                        guess.probability()))
                .collect(Collectors.joining(",", "{\"labels\":[", "]}\n"));
    }
}
