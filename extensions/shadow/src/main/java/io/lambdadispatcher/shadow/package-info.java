/** Shadow traffic: a filter that copies requests to another function. */
@NullMarked
package io.lambdadispatcher.shadow;

import org.jspecify.annotations.NullMarked;
