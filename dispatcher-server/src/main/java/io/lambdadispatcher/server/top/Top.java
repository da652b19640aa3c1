package io.lambdadispatcher.server.top;

import io.lambdadispatcher.server.top.Line.Style;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Shows what one dispatcher does now. Each of the two methods is called by one thread. */
public final class Top {
    private static final String ESCAPE = "\u001b[";
    /** The alternate screen, without cursor. */
    private static final String ENTER = ESCAPE + "?1049h" + ESCAPE + "?25l";

    private static final String LEAVE = ESCAPE + "?25h" + ESCAPE + "?1049l";
    private static final String FIRST_COLUMN_OF_FIRST_ROW = ESCAPE + "H";
    private static final String CLEAR_ROW = ESCAPE + "2K";
    /** Clears this row, too, if the cursor is in its first column. */
    private static final String CLEAR_BELOW = ESCAPE + "J";

    private static final String END_OF_STYLE = ESCAPE + "0m";

    private final URI adminUrl;
    private final AdminRequest port;
    private final Terminal terminal;
    private final PrintWriter out;
    private final boolean colours;
    private Phase phase = Phase.BEFORE;

    private enum Phase {
        BEFORE,
        SHOWN,
        LEFT
    }

    /**
     * @param adminUrl the admin port of the dispatcher
     * @param port sends requests to it
     * @param out writes to the terminal
     * @param colours whether to show colours
     */
    public Top(URI adminUrl, AdminRequest port, Terminal terminal, PrintWriter out, boolean colours) {
        this.adminUrl = adminUrl;
        this.port = port;
        this.terminal = terminal;
        this.out = out;
        this.colours = colours;
    }

    private Watcher watcher() {
        return new Watcher(URI.create(adminUrl.toString().replaceFirst("/+$", "") + "/events"), port);
    }

    /**
     * Prints one screen as text.
     *
     * @throws TopException if the dispatcher does not say its state
     */
    public void once() throws TopException, IOException, InterruptedException {
        try (Watcher watcher = watcher()) {
            StateEvents.Event first = watcher.first();
            if (first.state() == null) {
                throw new TopException(adminUrl + ": " + first.problem() + ". Try again later.");
            }
            screen(watcher, "").forEach(line -> out.println(line.text()));
            out.flush();
        }
    }

    /**
     * Shows a screen each second until the user presses q, or until {@link #leave}.
     *
     * @throws TopException if the dispatcher cannot be reached at first
     */
    public void live() throws TopException, IOException, InterruptedException {
        try (Watcher watcher = watcher()) {
            watcher.first();
            try {
                enter();
                do {
                    show(screen(watcher, " Press q to quit."));
                } while (terminal.key() != 'q');
            } finally {
                leave();
            }
        }
    }

    private List<Line> screen(Watcher watcher, String hint) throws IOException {
        Terminal.Size size = terminal.size();
        Members state = watcher.state();
        return new Screen(size.columns(), size.rows())
                .draw(status(state, watcher.problem(), hint), state == null ? new Members(Map.of()) : state);
    }

    private Line status(@Nullable Members state, @Nullable String problem, String hint) {
        String name = "Lambda Dispatcher at " + adminUrl + ": ";
        if (problem != null) {
            return new Line(name + problem + hint, Style.BAD);
        }
        String time = state == null ? Members.UNKNOWN : Words.time(state.text("time"));
        return new Line(name + "live, " + time + " UTC." + hint, Style.TITLE);
    }

    private synchronized void enter() throws IOException {
        if (phase == Phase.BEFORE) {
            phase = Phase.SHOWN;
            terminal.enter();
            out.print(ENTER);
            out.flush();
        }
    }

    /** In one write, so that the terminal does not flicker. */
    private synchronized void show(List<Line> lines) {
        if (phase != Phase.SHOWN) {
            return;
        }
        StringBuilder text = new StringBuilder(FIRST_COLUMN_OF_FIRST_ROW);
        for (int i = 0; i < lines.size(); i++) {
            Line line = lines.get(i);
            String code = colours ? line.style().code : "";
            text.append(i == 0 ? "" : "\r\n").append(i == lines.size() - 1 ? CLEAR_BELOW : CLEAR_ROW);
            text.append(code.isEmpty() ? line.text() : ESCAPE + code + "m" + line.text() + END_OF_STYLE);
        }
        out.print(text);
        out.flush();
    }

    /** Restores the terminal. Does nothing the second time. Any thread. */
    public synchronized void leave() {
        if (phase == Phase.SHOWN) {
            terminal.leave();
            out.print(LEAVE);
            out.flush();
        }
        phase = Phase.LEFT;
    }
}
