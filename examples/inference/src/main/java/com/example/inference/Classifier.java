package com.example.inference;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

/**
 * Recognises {@link Texture}s with naive Bayes, which has a normal distribution for each feature of
 * each texture. At its first use, it draws images and learns from them. The images are always the
 * same. Because it only knows textures, a photograph gets the labels of similar textures.
 * Immutable; any thread.
 */
final class Classifier {
    private static final int IMAGES_OF_TEXTURE = 60;
    private static final long SEED = 1;

    /** Lower limit of the variance of a feature, because there are few training images. */
    private static final double LEAST_VARIANCE = 1e-3;

    /**
     * Divides the scores: naive Bayes ignores that features depend on each other, so it is too
     * sure.
     */
    private static final double DOUBT = 8;

    private static final class Holder {
        static final Classifier SHARED = trained(SEED, IMAGES_OF_TEXTURE);
    }

    private final double[][] means;
    private final double[][] variances;

    private Classifier(double[][] means, double[][] variances) {
        this.means = means;
        this.variances = variances;
    }

    static Classifier shared() {
        return Holder.SHARED;
    }

    static Classifier trained(long seed, int imagesOfTexture) {
        Random random = new Random(seed);
        Texture[] textures = Texture.values();
        double[][] means = new double[textures.length][TextureFeatures.COUNT];
        double[][] variances = new double[textures.length][TextureFeatures.COUNT];
        for (Texture texture : textures) {
            learn(texture, random, imagesOfTexture, means[texture.ordinal()], variances[texture.ordinal()]);
        }
        return new Classifier(means, variances);
    }

    private static void learn(Texture texture, Random random, int images, double[] means, double[] variances) {
        for (int i = 0; i < images; i++) {
            double[] features = TextureFeatures.of(Picture.of(texture.draw(random, Picture.SIDE)));
            for (int feature = 0; feature < features.length; feature++) {
                means[feature] += features[feature] / images;
                variances[feature] += features[feature] * features[feature] / images;
            }
        }
        for (int feature = 0; feature < means.length; feature++) {
            variances[feature] = Math.max(LEAST_VARIANCE, variances[feature] - means[feature] * means[feature]);
        }
    }

    /** @param probability all guesses together have 1 */
    record Guess(Texture texture, double probability) {}

    /** @return all textures, the most probable first */
    List<Guess> classify(Picture picture) {
        double[] features = TextureFeatures.of(picture);
        Texture[] textures = Texture.values();
        double[] scores = new double[textures.length];
        for (int i = 0; i < scores.length; i++) {
            scores[i] = logLikelihood(features, means[i], variances[i]) / DOUBT;
        }
        double best = Arrays.stream(scores).max().orElseThrow();
        double[] shares =
                Arrays.stream(scores).map(score -> Math.exp(score - best)).toArray();
        double all = Arrays.stream(shares).sum();
        return Arrays.stream(textures)
                .map(texture -> new Guess(texture, shares[texture.ordinal()] / all))
                .sorted(Comparator.comparingDouble(Guess::probability).reversed())
                .toList();
    }

    private static double logLikelihood(double[] features, double[] means, double[] variances) {
        double sum = 0;
        for (int i = 0; i < features.length; i++) {
            double distance = features[i] - means[i];
            sum -= (distance * distance / variances[i] + Math.log(variances[i])) / 2;
        }
        return sum;
    }
}
