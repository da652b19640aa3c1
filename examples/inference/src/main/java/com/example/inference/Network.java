package com.example.inference;

import java.util.Random;

/**
 * A small dense network, 42-128-128-128-64-64-1, with rectifiers and a final sigmoid. It is not
 * trained: a fixed seed determines its weights. So all processes return the same answers. The
 * answers mean nothing, but take as long as real ones. Immutable; any thread.
 */
final class Network {
    static final int INPUTS = 42;
    static final Network SHARED = new Network(INPUTS, 128, 128, 128, 64, 64, 1);

    private static final long SEED = 42;

    private final Layer[] layers;

    private Network(int... widths) {
        Random random = new Random(SEED);
        layers = new Layer[widths.length - 1];
        for (int i = 0; i < layers.length; i++) {
            layers[i] = Layer.random(widths[i], widths[i + 1], random);
        }
    }

    /** @param inputs {@value #INPUTS} values, which are not changed */
    float probability(float[] inputs) {
        if (inputs.length != INPUTS) {
            throw new IllegalArgumentException(inputs.length + " inputs, expected " + INPUTS);
        }
        float[] values = inputs;
        for (int i = 0; i < layers.length - 1; i++) {
            values = rectified(layers[i].apply(values));
        }
        float last = layers[layers.length - 1].apply(values)[0];
        return (float) (1 / (1 + StrictMath.exp(-last)));
    }

    private static float[] rectified(float[] values) {
        for (int i = 0; i < values.length; i++) {
            values[i] = Math.max(0, values[i]);
        }
        return values;
    }

    /** @param weights one row for each output */
    private record Layer(float[][] weights, float[] biases) {
        /** Uses a standard deviation that keeps signals stable from layer to layer. */
        static Layer random(int inputs, int outputs, Random random) {
            double spread = Math.sqrt(2.0 / inputs);
            float[][] weights = new float[outputs][inputs];
            float[] biases = new float[outputs];
            for (int row = 0; row < outputs; row++) {
                for (int column = 0; column < inputs; column++) {
                    weights[row][column] = (float) (random.nextGaussian() * spread);
                }
                biases[row] = (float) (random.nextGaussian() * 0.1);
            }
            return new Layer(weights, biases);
        }

        float[] apply(float[] values) {
            float[] sums = biases.clone();
            for (int row = 0; row < sums.length; row++) {
                float[] factors = weights[row];
                float sum = sums[row];
                for (int column = 0; column < factors.length; column++) {
                    sum += factors[column] * values[column];
                }
                sums[row] = sum;
            }
            return sums;
        }
    }
}
