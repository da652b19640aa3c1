/** Reports the traces of a dispatcher to OpenTelemetry. */
module io.lambdadispatcher.opentelemetry {
    requires transitive io.lambdadispatcher.core;
    requires transitive io.opentelemetry.api;
    requires io.opentelemetry.context;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports io.lambdadispatcher.opentelemetry;
}
