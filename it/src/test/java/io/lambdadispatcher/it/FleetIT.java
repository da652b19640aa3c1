package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.FleetSnapshot;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * What operators see of a fleet of two dispatchers: the admin API, the live page, and {@code
 * status}.
 *
 * <p>With {@code -Djvm.flags=-Dlive.screenshots=DIRECTORY}, stores images of the page there.
 */
@Timeout(240)
class FleetIT {
    private final FleetRig fleet = new FleetRig();
    private FleetRig.Member first;
    private FleetRig.Member second;

    @BeforeEach
    void open() throws Exception {
        first = fleet.add("use1-az1", 3);
        second = fleet.add("use1-az2", 3);
        awaitMembers(first, 2);
        awaitMembers(second, 2);
        Await.until("the fleet has a worker", () -> workers(first) == 1 && workers(second) == 1);
    }

    @AfterEach
    void close() throws Exception {
        fleet.close();
    }

    private static FleetSnapshot seen(FleetRig.Member by) {
        FleetSnapshot snapshot = by.dispatcher.fleet();
        assertThat(snapshot).isNotNull();
        return snapshot;
    }

    private static void awaitMembers(FleetRig.Member by, int alive) {
        Await.until(
                alive + " dispatchers are alive",
                () -> seen(by).members().stream()
                                .filter(FleetSnapshot.Member::alive)
                                .count()
                        == alive);
    }

    private static int workers(FleetRig.Member by) {
        return seen(by).functions().stream()
                .mapToInt(FleetSnapshot.FunctionSlots::workers)
                .sum();
    }

    private static void switchLaunching(FleetRig.Member of, String to) throws Exception {
        HttpResponse<String> answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create(of.adminUrl() + "/launching?to=" + to))
                                .header("authorization", "Bearer " + Rig.SECRET)
                                .POST(HttpRequest.BodyPublishers.noBody())
                                .build(),
                        BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    }

    @Test
    void should_answer_as_described() throws Exception {
        AdminApiDescription description = new AdminApiDescription();
        fleet.add("", 4);
        awaitMembers(first, 3);
        Await.until(
                "the other limits are seen",
                () -> seen(first).functions().get(0).conflict() != null);

        HttpResponse<String> answer = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create(first.adminUrl() + "/api/fleet"))
                                .build(),
                        BodyHandlers.ofString());
        String type = answer.headers().firstValue("content-type").orElseThrow();
        assertThat(description.check("get", "/api/fleet", answer.statusCode(), type, answer.body()))
                .isEmpty();
        assertThat(answer.body())
                .contains(
                        "\"alone\":false",
                        "\"leaseValid\":true",
                        "\"workersMax\":3",
                        "\"gbSecondsPerHour\":36000.0",
                        "has other limits: function.max-workers=4, not function.max-workers=3");
        Map<String, Set<String>> unseen = description.unseen();
        unseen.keySet().removeIf(schema -> !schema.startsWith("Fleet"));
        assertThat(unseen)
                .as("members that are described and that no answer has had")
                .isEmpty();

        Process status = ServedProgram.command("status", "--admin-url", first.adminUrl())
                .redirectErrorStream(true)
                .start();
        String text = new String(status.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(text)
                .contains(
                        "Fleet: 3/3 dispatchers alive, lease renewed ",
                        "shop: limits differ: dispatcher ",
                        "\nFLEET-LIMITS  WORKERS ");
    }

    @Test
    @EnabledIf(
            value = "io.lambdadispatcher.it.LivePageIT#hasBrowser",
            disabledReason =
                    "no Chromium is installed (apt-get install chromium), so the live page is not tested in a browser")
    void should_show_the_fleet_on_the_live_page() throws Exception {
        try (Browser browser = Browser.start()) {
            // Which dispatchers are there, and do they agree?
            show(browser, first, 1440, false);
            browser.awaitText("#fleet-members-count", "2 of 2 alive");
            browser.awaitText("#fleet-lease", "This dispatcher may launch workers. It renewed its lease ", " s ago.");
            String id = seen(first).dispatcher().substring(0, 8);
            browser.awaitText("#fleet-members tr:first-child", "alive", id + " (this one)", "use1-az1", "shop: ");
            browser.awaitText(
                    "#fleet-members tr:nth-child(2)",
                    "alive",
                    seen(second).dispatcher().substring(0, 8),
                    "use1-az2",
                    "127.0.0.1:" + second.dispatcher.workerAddress().getPort());
            browser.awaitText("#fleet-functions", "on", "shop", "1 of 3", "of 36,000", "the same everywhere");

            // Does it fit a phone, in both colour schemes? Can the keyboard scroll the tables?
            for (int width : new int[] {360, 1440}) {
                for (boolean dark : new boolean[] {false, true}) {
                    show(browser, first, width, dark);
                    browser.awaitText("#fleet-functions", "shop");
                    assertThat(browser.evaluate("String(document.documentElement.scrollWidth <= innerWidth)"))
                            .as("nothing is wider than %d pixels", width)
                            .isEqualTo("true");
                    keep(browser, "fleet-" + width + (dark ? "-dark" : "") + ".png");
                }
            }
            assertThat(browser.evaluate("[...document.querySelectorAll('#fleet .scroll')].map(each => { each.focus();"
                            + " return document.activeElement === each && each.ariaLabel !== null; }).join()"))
                    .isEqualTo("true,true");

            // Who has paused launching? The switch of one dispatcher is that of the fleet.
            switchLaunching(second, "off");
            browser.awaitText("#fleet-functions", "paused by the kill switch");
            browser.awaitText("#functions", "Launching is paused by the kill switch.");
            switchLaunching(second, "on");
            browser.awaitText("#functions", "Launching is not limited.");

            // Which dispatcher is gone?
            second.ledger.setCutOff(true);
            awaitMembers(first, 1);
            browser.awaitText("#fleet-members-count", "1 of 2 alive");
            browser.awaitText("#fleet-members tr:nth-child(2)", "silent for ");
            keep(browser, "fleet-silent.png");

            // Why does this dispatcher launch no workers?
            show(browser, second, 1440, false);
            browser.awaitText(
                    "#fleet-lease",
                    "This dispatcher launches no workers, because it cannot reach the ledger of the fleet.",
                    "It renewed its lease ",
                    "The tables show what it last read.");
            browser.awaitText("#fleet-members-count", "not known now");
            browser.awaitText("#fleet-members tr:first-child", "cut off from the ledger", "(this one)");
            browser.awaitText("#fleet-members tr:nth-child(2)", "was alive");
            browser.awaitText("#functions", "Launching is blocked because the ledger of the fleet cannot be reached.");
            keep(browser, "fleet-cut-off.png");
            assertThat(browser.problems).isEmpty();
        }
    }

    private static void show(Browser browser, FleetRig.Member member, int width, boolean dark) {
        browser.look(width, 900, dark);
        browser.open(member.adminUrl() + "/");
        browser.awaitText("#connection", "Live");
    }

    private static void keep(Browser browser, String name) {
        String directory = System.getProperty("live.screenshots");
        if (directory != null) {
            browser.screenshot(Path.of(directory, name));
        }
    }
}
