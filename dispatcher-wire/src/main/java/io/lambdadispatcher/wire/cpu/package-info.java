/**
 * The processor time that a process has used and may use, and how many requests it serves
 * concurrently with it. No threads: the owner of each object calls it from time to time.
 */
@NullMarked
package io.lambdadispatcher.wire.cpu;

import org.jspecify.annotations.NullMarked;
