/**
 * A handler whose requests go on to S3 and DynamoDB. What it needs beside the worker is the AWS SDK; nothing in it blocks, so that an
 * environment of one thread serves as many requests at once as its worker has streams.
 */
@NullMarked
package io.lambdadispatcher.it.awsdemo;

import org.jspecify.annotations.NullMarked;
