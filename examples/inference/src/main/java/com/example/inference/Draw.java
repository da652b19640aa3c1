package com.example.inference;

import java.io.File;
import java.io.IOException;
import java.util.Locale;
import java.util.Random;
import javax.imageio.ImageIO;

/**
 * Draws an image, to try the classifier. Arguments: the texture, a random seed, and the PNG file to
 * write.
 */
public final class Draw {
    private static final int SIDE = 256;

    private Draw() {}

    public static void main(String[] args) throws IOException {
        if (args.length != 3) {
            throw new IllegalArgumentException(args.length + " arguments, expected texture, number and file");
        }
        Texture texture = Texture.valueOf(args[0].toUpperCase(Locale.ROOT).replace('-', '_'));
        ImageIO.write(texture.draw(new Random(Long.parseLong(args[1])), SIDE), "png", new File(args[2]));
    }
}
