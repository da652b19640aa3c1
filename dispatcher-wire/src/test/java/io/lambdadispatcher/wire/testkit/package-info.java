/** What the tests of every module share: the leak check and the ways to cut bytes into pieces. */
@NullMarked
package io.lambdadispatcher.wire.testkit;

import org.jspecify.annotations.NullMarked;
