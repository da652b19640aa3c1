package io.lambdadispatcher.core.spi;

/**
 * Thrown by a {@link RequestRouter} for a path that an application could take for a path of another
 * route, such as {@code /%6Cogin} for {@code /login}. The client receives 400. There is one object,
 * without a stack trace.
 */
public final class AmbiguousPathException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The only object. */
    public static final AmbiguousPathException INSTANCE = new AmbiguousPathException();

    private AmbiguousPathException() {
        super("the path can be read as a path of another route, expected a normal form", null, false, false);
    }
}
