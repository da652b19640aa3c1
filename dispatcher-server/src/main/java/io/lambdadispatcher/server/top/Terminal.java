package io.lambdadispatcher.server.top;

import java.io.IOException;

/** The terminal that shows the screen. One thread, except for {@link #leave}. */
public interface Terminal {
    /** The key that {@link #key} returns if none was pressed. */
    int NO_KEY = -1;

    /**
     * The size of a screen.
     *
     * @param columns at least 1
     * @param rows at least 1
     */
    record Size(int columns, int rows) {}

    Size size() throws IOException;

    /** Makes the terminal report each key immediately, and saves its previous mode. */
    void enter() throws IOException;

    /** Waits up to one second for a key. */
    int key() throws IOException;

    /** Restores the mode that {@link #enter} has saved. */
    void leave();
}
