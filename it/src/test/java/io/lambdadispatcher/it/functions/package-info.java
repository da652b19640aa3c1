/**
 * Lambda functions as their users write them, with AWS's event classes and nothing of ours; {@code
 * HandlersIT} runs them in worker processes.
 */
@NullMarked
package io.lambdadispatcher.it.functions;

import org.jspecify.annotations.NullMarked;
