/** A handler that calls S3 and DynamoDB over the connections that {@code worker.aws} keeps. */
@NullMarked
package com.example.aws;

import org.jspecify.annotations.NullMarked;
