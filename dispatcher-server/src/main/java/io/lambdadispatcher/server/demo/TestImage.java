package io.lambdadispatcher.server.demo;

import io.netty.util.AsciiString;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The image of 168,161 bytes that the build generates. The first request loads it. */
final class TestImage {
    static final String NAME = "silly-test-image.jpg";
    static final String PATH = "/public/" + NAME;
    static final Answers.Fixed ANSWER = Answers.Fixed.of(Answers.OK, AsciiString.cached("image/jpeg"), bytes());

    private TestImage() {}

    static byte[] bytes() {
        try (InputStream in = TestImage.class.getResourceAsStream(PATH)) {
            if (in == null) {
                throw new IllegalStateException(PATH + " is not on the class path, expected it from the build");
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(PATH + " cannot be read", e);
        }
    }
}
