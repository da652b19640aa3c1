package io.lambdadispatcher.worker.internal.child;

import io.lambdadispatcher.wire.http.PrintableText;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs the output of a process line by line at INFO, made printable, on a separate thread that
 * ends with the output.
 */
final class OutputLog implements Runnable {
    /** A longer line is logged in parts. */
    static final int MOST_LINE_CHARS = 16 * 1024;

    private static final int CHUNK_CHARS = 8 * 1024;

    private static final Logger log = LoggerFactory.getLogger(OutputLog.class);

    private final String name;
    private final InputStream output;
    private final StringBuilder line = new StringBuilder();

    OutputLog(String name, InputStream output) {
        this.name = name;
        this.output = output;
    }

    static void follow(String name, Process process) {
        Thread thread = new Thread(new OutputLog(name, process.getInputStream()), name + "-output");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void run() {
        char[] chunk = new char[CHUNK_CHARS];
        try (Reader in = new InputStreamReader(output, StandardCharsets.UTF_8)) {
            int length;
            while ((length = in.read(chunk)) >= 0) {
                add(chunk, length);
            }
        } catch (IOException e) {
            log.debug("output of {} failed", name, e);
        }
        if (!line.isEmpty()) {
            flush();
        }
    }

    private void add(char[] chunk, int length) {
        for (int i = 0; i < length; i++) {
            if (chunk[i] == '\n') {
                flush();
            } else if (chunk[i] != '\r') {
                line.append(chunk[i]);
                if (line.length() == MOST_LINE_CHARS) {
                    flush();
                }
            }
        }
    }

    private void flush() {
        log.info("{}: {}", name, PrintableText.of(line));
        line.setLength(0);
    }
}
