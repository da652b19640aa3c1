/** Writes a line for each request: {@link io.lambdadispatcher.accesslog.AccessLog}. */
module io.lambdadispatcher.accesslog {
    requires transitive io.lambdadispatcher.core;
    requires io.lambdadispatcher.wire;
    requires org.slf4j;
    requires static transitive org.jspecify;

    exports io.lambdadispatcher.accesslog;
}
