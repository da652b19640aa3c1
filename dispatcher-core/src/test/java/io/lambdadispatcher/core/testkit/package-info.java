/** What the tests of several packages and modules share. */
@NullMarked
package io.lambdadispatcher.core.testkit;

import org.jspecify.annotations.NullMarked;
