package io.lambdadispatcher.core.observe;

/**
 * What a command to drain or to recycle workers does to one of them.
 *
 * @param worker the worker before the command
 * @param outcome what happens to it
 */
public record WorkerCommandResult(WorkerSnapshot worker, Outcome outcome) {

    /** What happens to a worker. */
    public enum Outcome {
        /** It now drains, or is going to be replaced. */
        DONE,
        /** Nothing changes, because it drains already. */
        DRAINS_ALREADY,
        /** Nothing changes, because it has no connection. */
        NOT_CONNECTED,
        /** Nothing changes, because this dispatcher has not launched it, so cannot replace it. */
        NOT_LAUNCHED_HERE
    }
}
