/** The access log: an observer that writes one line of JSON for each request. */
@NullMarked
package io.lambdadispatcher.accesslog;

import org.jspecify.annotations.NullMarked;
