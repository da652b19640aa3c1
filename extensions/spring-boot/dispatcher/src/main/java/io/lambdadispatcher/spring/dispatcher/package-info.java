/**
 * A dispatcher inside a Spring Boot application. Settings are in {@link
 * io.lambdadispatcher.spring.dispatcher.DispatcherProperties}. A {@link
 * io.lambdadispatcher.spring.dispatcher.DispatcherCustomizer} bean sets everything else.
 */
@NullMarked
package io.lambdadispatcher.spring.dispatcher;

import org.jspecify.annotations.NullMarked;
