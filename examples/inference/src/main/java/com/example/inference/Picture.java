package com.example.inference;

import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Iterator;
import javax.imageio.ImageIO;
import javax.imageio.ImageReadParam;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;

/**
 * The brightness of an image's pixels, 0 to 255, in a square of {@value #SIDE} by {@value #SIDE}.
 *
 * @param pixels row by row
 */
record Picture(float[] pixels) {
    static final int SIDE = 64;

    /** Maximum of the uploaded image. A larger image is not decoded. */
    private static final long MOST_PIXELS = 50_000_000;

    float at(int x, int y) {
        return pixels[y * SIDE + x];
    }

    /** @throws IllegalArgumentException if the file is not a readable image, or is too large */
    static Picture decode(byte[] file) {
        try (ImageInputStream in = ImageIO.createImageInputStream(new ByteArrayInputStream(file))) {
            Iterator<ImageReader> readers = ImageIO.getImageReaders(in);
            if (!readers.hasNext()) {
                throw new IllegalArgumentException("expected an image: PNG, JPEG, GIF or BMP");
            }
            ImageReader reader = readers.next();
            try {
                reader.setInput(in, true, true);
                return of(readSmall(reader));
            } finally {
                reader.dispose();
            }
        } catch (IOException | IndexOutOfBoundsException e) {
            throw new IllegalArgumentException("the image cannot be read: " + e.getMessage(), e);
        }
    }

    /** Reads the image. From a large image, it reads only some pixels at regular distances. */
    private static BufferedImage readSmall(ImageReader reader) throws IOException {
        int width = reader.getWidth(0);
        int height = reader.getHeight(0);
        if ((long) width * height > MOST_PIXELS) {
            throw new IllegalArgumentException(
                    "the image has " + width + " by " + height + " pixels, expected " + MOST_PIXELS + " at most");
        }
        ImageReadParam param = reader.getDefaultReadParam();
        int every = Math.max(1, Math.min(width, height) / (4 * SIDE));
        param.setSourceSubsampling(every, every, 0, 0);
        return reader.read(0, param);
    }

    static Picture of(BufferedImage image) {
        BufferedImage small = new BufferedImage(SIDE, SIDE, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = small.createGraphics();
        graphics.setRenderingHint(RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
        graphics.drawImage(image, 0, 0, SIDE, SIDE, null);
        graphics.dispose();
        float[] pixels = new float[SIDE * SIDE];
        for (int i = 0; i < pixels.length; i++) {
            int rgb = small.getRGB(i % SIDE, i / SIDE);
            // ITU-R BT.601
            pixels[i] = 0.299f * (rgb >> 16 & 0xFF) + 0.587f * (rgb >> 8 & 0xFF) + 0.114f * (rgb & 0xFF);
        }
        return new Picture(pixels);
    }
}
