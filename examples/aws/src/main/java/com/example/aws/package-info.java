/** A handler that calls S3 and DynamoDB with the HTTP client of {@code worker.aws}. */
@NullMarked
package com.example.aws;

import org.jspecify.annotations.NullMarked;
