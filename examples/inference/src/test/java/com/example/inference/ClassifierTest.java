package com.example.inference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClassifierTest {
    private static final int IMAGES = 100;

    private static byte[] file(BufferedImage image, String format) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        assertThat(ImageIO.write(image, format, out)).isTrue();
        return out.toByteArray();
    }

    /** Uses images that are not among the training images. */
    @ParameterizedTest
    @EnumSource
    void should_tell_most_images_of_each_texture(Texture texture) {
        Random random = new Random(1000 + texture.ordinal());
        int first = 0;
        int amongThree = 0;
        for (int i = 0; i < IMAGES; i++) {
            List<Texture> guesses =
                    Classifier.shared().classify(Picture.of(texture.draw(random, Picture.SIDE))).stream()
                            .map(Classifier.Guess::texture)
                            .toList();
            first += guesses.get(0) == texture ? 1 : 0;
            amongThree += guesses.subList(0, 3).contains(texture) ? 1 : 0;
        }
        assertThat(first).isGreaterThanOrEqualTo(85);
        assertThat(amongThree).isGreaterThanOrEqualTo(97);
    }

    @ParameterizedTest
    @ValueSource(strings = {"png", "jpg", "gif", "bmp"})
    void should_read_files_of_any_size_and_format(String format) throws IOException {
        BufferedImage image = Texture.CHECKERBOARD.draw(new Random(5), 700);
        List<Classifier.Guess> guesses = Classifier.shared().classify(Picture.decode(file(image, format)));
        assertThat(guesses.get(0).texture()).isEqualTo(Texture.CHECKERBOARD);
        assertThat(guesses).hasSize(Texture.values().length);
        assertThat(guesses.stream().mapToDouble(Classifier.Guess::probability).sum())
                .isBetween(0.999, 1.001);
    }

    @Test
    void should_always_learn_the_same() {
        Picture picture = Picture.of(Texture.RINGS.draw(new Random(6), Picture.SIDE));
        assertThat(Classifier.trained(1, 60).classify(picture))
                .isEqualTo(Classifier.shared().classify(picture));
    }

    @Test
    void should_refuse_what_is_no_image() throws IOException {
        assertThatThrownBy(() -> Picture.decode(new byte[0])).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Picture.decode("hello".getBytes())).hasMessageContaining("expected an image");
        byte[] png = file(Texture.RINGS.draw(new Random(7), 64), "png");
        assertThatThrownBy(() -> Picture.decode(Arrays.copyOf(png, 40))).isInstanceOf(IllegalArgumentException.class);
    }

    /** A decompression bomb: a few bytes that claim to be 65,000 by 65,000 pixels. */
    @Test
    void should_not_unpack_an_image_that_is_too_large() throws IOException {
        byte[] gif = file(new BufferedImage(1, 1, BufferedImage.TYPE_BYTE_BINARY), "gif");
        for (int at : new int[] {6, 8}) {
            gif[at] = (byte) 0xE8;
            gif[at + 1] = (byte) 0xFD;
        }
        int frame = gif.length - 1;
        while (gif[frame] != 0x2C) {
            frame--;
        }
        gif[frame + 5] = gif[frame + 7] = (byte) 0xE8;
        gif[frame + 6] = gif[frame + 8] = (byte) 0xFD;
        assertThatThrownBy(() -> Picture.decode(gif)).hasMessageContaining("65000 by 65000");
    }
}
