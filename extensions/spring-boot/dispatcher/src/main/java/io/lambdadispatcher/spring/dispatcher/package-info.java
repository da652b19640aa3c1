/**
 * A dispatcher inside a Spring Boot application. {@link
 * io.lambdadispatcher.spring.dispatcher.DispatcherProperties} lists the properties. A {@link
 * io.lambdadispatcher.spring.dispatcher.DispatcherCustomizer} bean sets all other options:
 *
 * <pre>{@code
 * @Bean
 * DispatcherCustomizer problemJson() {
 *     return dispatcher -> dispatcher.errorRenderer(ErrorRenderer.problemJson());
 * }
 * }</pre>
 */
@NullMarked
package io.lambdadispatcher.spring.dispatcher;

import org.jspecify.annotations.NullMarked;
