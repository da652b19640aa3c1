package com.example.inference;

import io.netty.util.AsciiString;

/** Parses requests and formats answers in one media type. Immutable; any thread. */
interface Inference {
    AsciiString mediaType();

    /** @throws IllegalArgumentException if the body is not a valid request */
    byte[] answer(byte[] request);
}
