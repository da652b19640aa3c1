/** Inference in plain Java: a dense network with JSON and protobuf, and a classifier of images. */
@NullMarked
package com.example.inference;

import org.jspecify.annotations.NullMarked;
