package io.lambdadispatcher.server.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringReader;
import org.junit.jupiter.api.Test;

class LineReaderTest {
    @Test
    void should_read_lines_without_their_ends() throws IOException {
        LineReader reader = new LineReader(new StringReader("one\r\n\nthree"));

        assertThat(reader.next()).isEqualTo("one");
        assertThat(reader.next()).isEmpty();
        assertThat(reader.next()).isEqualTo("three");
        assertThat(reader.next()).isNull();
    }

    @Test
    void should_cut_endless_lines_into_pieces() throws IOException {
        LineReader reader = new LineReader(new StringReader("a".repeat(LineReader.MAX_LINE_CHARS + 3)));

        assertThat(reader.next()).hasSize(LineReader.MAX_LINE_CHARS);
        assertThat(reader.next()).isEqualTo("aaa");
        assertThat(reader.next()).isNull();
    }

    @Test
    void should_keep_control_characters_from_terminals() throws IOException {
        assertThat(new LineReader(new StringReader("a\u001b[31m\tb")).next()).isEqualTo("a\\u001b[31m b");
    }
}
