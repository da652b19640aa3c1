package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.internal.fleet.MemberEntry.MemberDemand;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MemberEntryTest {
    private static final MemberEntry ENTRY = new MemberEntry(
            7,
            List.of("a:1", "b:2"),
            "eu-central-1a",
            "1.2",
            Map.of("f", new MemberDemand(0.125, "maxWorkers=3")),
            9,
            List.of("a", "b"));

    @Test
    void should_be_the_same_after_it_was_written_and_read() {
        assertThat(MemberEntry.parse(ENTRY.text())).isEqualTo(ENTRY);
    }

    /** During an upgrade, dispatchers read the entries of the version before. */
    @Test
    void should_read_an_entry_without_messages() {
        String before = ENTRY.text().replaceFirst(",\"told\".*", "}");
        assertThat(before).endsWith("}}");
        assertThat(MemberEntry.parse(before))
                .isEqualTo(new MemberEntry(
                        7, ENTRY.addresses(), ENTRY.zone(), ENTRY.version(), ENTRY.demands(), 0, List.of()));
    }

    @Test
    void should_name_what_it_cannot_read() {
        assertThatThrownBy(() -> MemberEntry.parse("{}")).hasMessage("a member is missing");
        assertThatThrownBy(() -> MemberEntry.parse(ENTRY.text().replace("125", "true")))
                .hasMessageContaining("has another type");
    }
}
