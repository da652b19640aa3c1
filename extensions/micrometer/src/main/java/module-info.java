/** Metrics of a dispatcher: {@link io.lambdadispatcher.micrometer.DispatcherMetrics}. */
module io.lambdadispatcher.micrometer {
    requires transitive io.lambdadispatcher.core;
    requires transitive micrometer.core;
    requires static transitive org.jspecify;

    exports io.lambdadispatcher.micrometer;
}
