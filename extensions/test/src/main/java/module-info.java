/** Tests handlers, and programs that embed a dispatcher. */
module io.lambdadispatcher.test {
    requires transitive io.lambdadispatcher.core;
    requires transitive io.lambdadispatcher.worker;
    requires transitive org.junit.jupiter.api;
    requires static transitive org.jspecify;

    exports io.lambdadispatcher.test;
}
