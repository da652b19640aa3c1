package com.example.inference;

import java.awt.image.BufferedImage;
import java.util.Locale;
import java.util.Random;

/**
 * The labels of images, and how to draw each: two colours, mixed by a pattern of random size and
 * position, with some noise.
 */
enum Texture {
    PLAIN {
        @Override
        Pattern pattern(Random random) {
            return (x, y) -> 0;
        }
    },
    GRADIENT {
        @Override
        Pattern pattern(Random random) {
            double angle = random.nextDouble() * 2 * Math.PI;
            return (x, y) -> 0.5 + ((x - 0.5) * Math.cos(angle) + (y - 0.5) * Math.sin(angle)) / 1.4;
        }
    },
    HORIZONTAL_STRIPES {
        @Override
        Pattern pattern(Random random) {
            Pattern waves = waves(random);
            return (x, y) -> waves.at(y, 0);
        }
    },
    VERTICAL_STRIPES {
        @Override
        Pattern pattern(Random random) {
            Pattern waves = waves(random);
            return (x, y) -> waves.at(x, 0);
        }
    },
    DIAGONAL_STRIPES {
        @Override
        Pattern pattern(Random random) {
            Pattern waves = waves(random);
            double sign = random.nextBoolean() ? 1 : -1;
            return (x, y) -> waves.at((x + sign * y) / Math.sqrt(2), 0);
        }
    },
    CHECKERBOARD {
        @Override
        Pattern pattern(Random random) {
            double side = 0.08 + 0.12 * random.nextDouble();
            double moveX = random.nextDouble();
            double moveY = random.nextDouble();
            return (x, y) -> Math.floorMod(floor((x + moveX) / side) + floor((y + moveY) / side), 2);
        }
    },
    DOTS {
        @Override
        Pattern pattern(Random random) {
            double distance = 0.15 + 0.15 * random.nextDouble();
            double radius = distance * (0.2 + 0.12 * random.nextDouble());
            double moveX = random.nextDouble();
            double moveY = random.nextDouble();
            return (x, y) -> Math.hypot(centred(x + moveX, distance), centred(y + moveY, distance)) < radius ? 1 : 0;
        }
    },
    RINGS {
        @Override
        Pattern pattern(Random random) {
            Pattern waves = waves(random);
            double centreX = 0.4 + 0.2 * random.nextDouble();
            double centreY = 0.4 + 0.2 * random.nextDouble();
            return (x, y) -> waves.at(Math.hypot(x - centreX, y - centreY), 0);
        }
    },
    NOISE {
        @Override
        Pattern pattern(Random random) {
            return (x, y) -> random.nextDouble();
        }
    };

    private static final double MOST_NOISE = 16;

    /**
     * Returns the share of the second colour at a position; the image's sides have the length 1.
     */
    interface Pattern {
        double at(double x, double y);
    }

    abstract Pattern pattern(Random random);

    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    private static Pattern waves(Random random) {
        double length = 0.1 + 0.2 * random.nextDouble();
        double phase = random.nextDouble();
        boolean sharp = random.nextBoolean();
        return (x, y) -> {
            double wave = 0.5 + Math.sin(2 * Math.PI * (x / length + phase)) / 2;
            return sharp ? Math.round(wave) : wave;
        };
    }

    private static int floor(double value) {
        return (int) Math.floor(value);
    }

    /** Returns the distance from the middle of the cell. */
    private static double centred(double value, double cell) {
        return value - Math.floor(value / cell) * cell - cell / 2;
    }

    BufferedImage draw(Random random, int side) {
        Pattern pattern = pattern(random);
        int[] first = colour(random);
        int[] second = colour(random);
        while (Math.abs(brightness(first) - brightness(second)) < 60) {
            second = colour(random);
        }
        double noise = random.nextDouble() * MOST_NOISE;
        BufferedImage image = new BufferedImage(side, side, BufferedImage.TYPE_INT_RGB);
        for (int y = 0; y < side; y++) {
            for (int x = 0; x < side; x++) {
                double share = Math.max(0, Math.min(1, pattern.at((x + 0.5) / side, (y + 0.5) / side)));
                double grain = random.nextGaussian() * noise;
                int rgb = 0;
                for (int i = 0; i < 3; i++) {
                    double value = first[i] + share * (second[i] - first[i]) + grain;
                    rgb = rgb << 8 | (int) Math.max(0, Math.min(255, value));
                }
                image.setRGB(x, y, rgb);
            }
        }
        return image;
    }

    private static int[] colour(Random random) {
        return new int[] {random.nextInt(256), random.nextInt(256), random.nextInt(256)};
    }

    private static double brightness(int[] colour) {
        return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2];
    }
}
