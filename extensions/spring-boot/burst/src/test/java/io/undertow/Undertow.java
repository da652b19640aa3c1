package io.undertow;

/**
 * Stands for the web server that only Spring Boot 3.5 supports. Spring Boot 4 looks for no such
 * class.
 */
public final class Undertow {
    private Undertow() {}
}
