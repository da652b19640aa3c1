package com.example.inference;

import io.netty.util.AsciiString;

/** One request and its answer in one format. Immutable; any thread. */
interface Inference {
    AsciiString mediaType();

    /** @throws IllegalArgumentException if the body is no such request */
    byte[] answer(byte[] request);
}
