/** What we claim to be better than, measured beside what we do instead. */
@NullMarked
package io.lambdadispatcher.bench.baseline;

import org.jspecify.annotations.NullMarked;
