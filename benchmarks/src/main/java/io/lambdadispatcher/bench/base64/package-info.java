/**
 * Base64 codecs side by side. The exchanges that use base64 are measured in dispatcher-core's test
 * sources.
 */
@NullMarked
package io.lambdadispatcher.bench.base64;

import org.jspecify.annotations.NullMarked;
