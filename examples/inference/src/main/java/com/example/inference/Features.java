package com.example.inference;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the inputs of an inference: values by key, from {@code f00} to {@code f41}, in any order.
 * Missing keys are zero.
 */
final class Features {
    private static final Map<String, Integer> PLACES = places();

    private Features() {}

    /**
     * @throws IllegalArgumentException if the numbers of keys and values differ, or a key is
     *     unknown
     */
    static float[] inputs(List<String> keys, List<Float> values) {
        if (keys.size() != values.size()) {
            throw new IllegalArgumentException(
                    keys.size() + " keys and " + values.size() + " values, expected as many");
        }
        float[] inputs = new float[Network.INPUTS];
        for (int i = 0; i < keys.size(); i++) {
            Integer place = PLACES.get(keys.get(i));
            if (place == null) {
                throw new IllegalArgumentException("key '" + keys.get(i) + "', expected f00 to f41");
            }
            inputs[place] = values.get(i);
        }
        return inputs;
    }

    static String key(int place) {
        return place < 10 ? "f0" + place : "f" + place;
    }

    private static Map<String, Integer> places() {
        Map<String, Integer> places = new HashMap<>();
        for (int i = 0; i < Network.INPUTS; i++) {
            places.put(key(i), i);
        }
        return Map.copyOf(places);
    }
}
