package io.lambdadispatcher.core.options;

/** How important a request is if a function has more requests than its workers can serve. */
public enum Priority {
    /** Served before others, and refused only if the queue is full or its timeout expires. */
    CRITICAL,
    /** Refused if requests of this priority wait for four times as long as sheddable ones may. */
    NORMAL,
    /** Refused first. */
    SHEDDABLE
}
