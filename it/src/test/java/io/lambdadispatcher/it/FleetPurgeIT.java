package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A command for a filter that one dispatcher of a fleet gets holds for all of them. */
@StartsPrograms
@Timeout(400)
class FleetPurgeIT {
    private static final String TOKEN = "0123456789abcdef";

    @TempDir
    Path directory;

    private ServedProgram start(Path ledger) throws Exception {
        Map<String, String> settings = new HashMap<>();
        settings.put("FLEET_TABLE", ledger.toString());
        settings.put("WORKERS_SECRET", Rig.SECRET);
        settings.put("ADMIN_TOKEN", TOKEN);
        settings.put("FUNCTION_HANDLER", LastingHandler.class.getName());
        settings.put("FUNCTION_CACHE", "on");
        return ServedProgram.start(settings);
    }

    private static String stored(ServedProgram program) throws Exception {
        return program.get("/").get().headers().firstValue("cache-status").orElseThrow();
    }

    private static HttpResponse<String> clear(ServedProgram program) throws Exception {
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create(program.adminUrl() + "/api/cache/clear"))
                                .header("authorization", "Bearer " + TOKEN)
                                // As the command.
                                .timeout(Duration.ofSeconds(5))
                                .POST(BodyPublishers.noBody())
                                .build(),
                        BodyHandlers.ofString());
    }

    @Test
    void should_remove_stored_responses_from_all_dispatchers() throws Exception {
        Path folder = Files.createDirectory(directory.resolve("ledger"));
        Path ledger = folder.resolve("fleet");
        try (ServedProgram first = start(ledger);
                ServedProgram second = start(ledger)) {
            for (ServedProgram program : new ServedProgram[] {first, second}) {
                assertThat(stored(program)).contains("stored");
                assertThat(stored(program)).contains("hit");
            }
            HttpResponse<String> cleared = clear(first);
            assertThat(cleared.body()).startsWith("{\"bytes\":");
            assertThat(cleared.statusCode()).isEqualTo(200);
            assertThat(stored(first)).doesNotContain("hit");
            Await.until(
                    "the second dispatcher has done it, too",
                    Duration.ofSeconds(10),
                    () -> second.log().contains("cache clear as on another dispatcher of the fleet: "));
            assertThat(stored(second)).doesNotContain("hit");
            assertThat(first.log()).doesNotContain("cache clear as on another");

            // The ledger is gone, so only this dispatcher can do it.
            Files.move(folder, directory.resolve("moved"));
            HttpResponse<String> alone = clear(second);
            assertThat(alone.body())
                    .contains(
                            "this dispatcher has done it. The others of its fleet do it when it can reach the ledger");
            assertThat(alone.statusCode()).isEqualTo(503);
            assertThat(stored(second)).doesNotContain("hit");
            Files.move(directory.resolve("moved"), folder);
            Await.until(
                    "the first dispatcher has done it, too",
                    Duration.ofSeconds(20),
                    () -> first.log().contains("cache clear as on another dispatcher of the fleet: "));
        }
    }
}
