/**
 * Lambda functions as users write them, with AWS's event classes and without code of this project.
 * {@code HandlersIT} runs them in worker processes.
 */
@NullMarked
package io.lambdadispatcher.it.functions;

import org.jspecify.annotations.NullMarked;
