/** Reports the metrics of a dispatcher to Micrometer. */
module io.lambdadispatcher.micrometer {
    requires transitive io.lambdadispatcher.core;
    requires transitive micrometer.core;
    requires static transitive org.jspecify;

    exports io.lambdadispatcher.micrometer;
}
