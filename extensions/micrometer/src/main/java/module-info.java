/** Reports the metrics of a dispatcher to Micrometer. */
module io.lambdadispatcher.micrometer {
    requires transitive io.lambdadispatcher.core;
    // Automatic, but its manifest names it, so programs may depend on the name.
    requires transitive micrometer.core;
    requires static transitive org.jspecify;

    exports io.lambdadispatcher.micrometer;
}
