package io.lambdadispatcher.it;

/**
 * A wrong use of the API.
 *
 * @param heading the section of {@code wrong-uses.txt} that has it
 * @param name differs from the others of the section
 * @param code returns what the program is told
 */
record Misuse(String heading, String name, Code code) {
    interface Code {
        String run(MisuseRig rig) throws Exception;
    }

    /** Names the test and the row of the page. */
    @Override
    public String toString() {
        return heading + ": " + name;
    }
}
