package com.example.inference;

/**
 * Calculates the features by which textures differ, independent of their colours: contrast, edges
 * and their directions, repetition, and the distribution of brightness.
 */
final class TextureFeatures {
    private static final int DIRECTIONS = 8;
    private static final int SHORTEST_LAG = 3;
    private static final int LONGEST_LAG = 24;
    private static final double EDGE = 0.5;
    private static final int SIDE = Picture.SIDE;

    static final int COUNT = DIRECTIONS + 12;

    private final Picture picture;
    private final double mean;
    private final double spread;
    private final double[] features = new double[COUNT];
    private int filled;

    private TextureFeatures(Picture picture) {
        this.picture = picture;
        double sum = 0;
        double squares = 0;
        for (float pixel : picture.pixels()) {
            sum += pixel;
            squares += pixel * pixel;
        }
        int pixels = picture.pixels().length;
        mean = sum / pixels;
        spread = Math.sqrt(Math.max(0, squares / pixels - mean * mean));
    }

    static double[] of(Picture picture) {
        TextureFeatures features = new TextureFeatures(picture);
        features.add(Math.log1p(features.spread));
        features.addEdges();
        features.addMoments();
        features.addRepetition(1, 0);
        features.addRepetition(0, 1);
        features.addRepetition(1, 1);
        return features.features;
    }

    private void add(double feature) {
        features[filled++] = feature;
    }

    /** Normalises the contrast. */
    private double at(int x, int y) {
        return (picture.at(x, y) - mean) / (spread + 1);
    }

    /** Adds the number of edges, their directions, and whether they run around the middle. */
    private void addEdges() {
        double[] byDirection = new double[DIRECTIONS];
        double all = 1e-6;
        double around = 0;
        int edges = 0;
        for (int y = 1; y < SIDE - 1; y++) {
            for (int x = 1; x < SIDE - 1; x++) {
                double dx = at(x + 1, y) - at(x - 1, y);
                double dy = at(x, y + 1) - at(x, y - 1);
                double strength = Math.hypot(dx, dy);
                double angle = Math.atan2(dy, dx);
                double turn = (angle / Math.PI + 1) % 1;
                byDirection[(int) Math.round(turn * DIRECTIONS) % DIRECTIONS] += strength;
                around += strength * Math.abs(Math.cos(angle - Math.atan2(y - SIDE / 2.0, x - SIDE / 2.0)));
                all += strength;
                edges += strength > EDGE ? 1 : 0;
            }
        }
        for (double direction : byDirection) {
            add(direction / all);
        }
        add(around / all);
        add((double) edges / (SIDE * SIDE));
    }

    private void addMoments() {
        double third = 0;
        double fourth = 0;
        for (int y = 0; y < SIDE; y++) {
            for (int x = 0; x < SIDE; x++) {
                double value = at(x, y);
                third += value * value * value;
                fourth += value * value * value * value;
            }
        }
        add(Math.abs(third / (SIDE * SIDE)));
        add(fourth / (SIDE * SIDE));
        // Neighbouring pixels of noise are independent.
        add(likeness(1, 1));
    }

    /**
     * Compares the picture with itself, shifted in one direction. Adds the lowest likeness, and the
     * highest likeness after it.
     */
    private void addRepetition(int dx, int dy) {
        double worst = 1;
        double bestAfter = -1;
        for (int lag = SHORTEST_LAG; lag <= LONGEST_LAG; lag++) {
            double likeness = likeness(lag * dx, lag * dy);
            if (likeness < worst) {
                worst = likeness;
                bestAfter = likeness;
            }
            bestAfter = Math.max(bestAfter, likeness);
        }
        add(worst);
        add(bestAfter);
    }

    private double likeness(int dx, int dy) {
        double sum = 0;
        for (int y = 0; y < SIDE - dy; y++) {
            for (int x = 0; x < SIDE - dx; x++) {
                sum += at(x, y) * at(x + dx, y + dy);
            }
        }
        return sum / ((SIDE - dx) * (SIDE - dy));
    }
}
