package io.lambdadispatcher.spring.dispatcher;

import io.lambdadispatcher.core.DispatcherBuilder;

/**
 * Sets options of the dispatcher that have no property. Beans of this type are called in their
 * order, after the properties and all other beans have been applied, and before the dispatcher
 * starts.
 */
@FunctionalInterface
public interface DispatcherCustomizer {
    void customize(DispatcherBuilder builder);
}
