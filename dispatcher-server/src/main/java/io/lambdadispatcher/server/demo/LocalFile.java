package io.lambdadispatcher.server.demo;

import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.blocking.BlockingRequest;
import io.lambdadispatcher.worker.blocking.BlockingResponse;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The route {@code /read}: reads a file from the local disk for each request. Blocks. */
final class LocalFile implements BlockingHandler {
    /** Environment variable with the path of the file. If it is not set, the test image is read. */
    static final String VARIABLE = "DEMO_FILE";

    private static final String BINARY = "application/octet-stream";

    private final @Nullable String named;
    private @Nullable Path file;

    LocalFile(@Nullable String named) {
        this.named = named;
    }

    @Override
    public void handle(BlockingRequest request, BlockingResponse response) throws IOException {
        Path file = file();
        String found = Files.probeContentType(file);
        String type = found == null ? BINARY : found;
        response.header("content-type", type).header("content-length", Long.toString(Files.size(file)));
        if (!request.method().equals("HEAD")) {
            try (InputStream in = Files.newInputStream(file)) {
                in.transferTo(response.body());
            }
        }
    }

    private synchronized Path file() throws IOException {
        if (file == null) {
            file = named == null ? imageOnDisk() : Path.of(named);
        }
        return file;
    }

    private static Path imageOnDisk() throws IOException {
        Path copy = Files.createTempFile("lambda-dispatcher-", "-" + TestImage.NAME);
        copy.toFile().deleteOnExit();
        return Files.write(copy, TestImage.bytes());
    }
}
