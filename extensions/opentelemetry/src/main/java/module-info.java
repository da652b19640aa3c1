/** Reports the traces of a dispatcher to OpenTelemetry. */
module io.lambdadispatcher.opentelemetry {
    requires transitive io.lambdadispatcher.core;
    requires io.lambdadispatcher.wire;
    // Automatic, but its manifest names it, so programs may depend on the name.
    requires transitive io.opentelemetry.api;
    requires io.opentelemetry.context;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports io.lambdadispatcher.opentelemetry;
}
