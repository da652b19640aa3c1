package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TerminationTest {
    @Test
    void should_tell_a_person_at_a_terminal_from_a_program() {
        Termination byPerson = new Termination();
        byPerson.onSignal("INT", 2);
        assertThat(byPerson.isRequested()).isTrue();
        assertThat(byPerson.isInterrupted()).isTrue();

        Termination byProgram = new Termination();
        byProgram.onSignal("TERM", 15);
        assertThat(byProgram.isRequested()).isTrue();
        assertThat(byProgram.isInterrupted()).isFalse();
    }
}
