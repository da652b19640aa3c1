package io.lambdadispatcher.core.options;

/** How important a request is if a function has more requests than its workers can serve. */
public enum Priority {
    /** Served before others, and refused only as all requests are without priorities. */
    CRITICAL,
    /** Refused if requests of this priority wait for four times as long as sheddable ones may. */
    NORMAL,
    /** Refused first. */
    SHEDDABLE
}
