#!/usr/bin/env python3
"""Runs all drivers, and writes docs/performance/results.md, its plots and the charts in docs/images from their results.

    benchmarks/macro/performance.py                    runs everything except the soak, in about 45 minutes
    benchmarks/macro/performance.py --soak 60          also runs a soak of one hour
    benchmarks/macro/performance.py --from-results     runs nothing, and writes from docs/performance/*.json
    benchmarks/macro/performance.py --smoke            checks in a temporary directory that everything works; its figures mean nothing

Each table comes from one run. If a driver has several reports, the newest report with rows for the table is used. The table of targets
shows all runs of the commit of that report. The page includes the results of JMH (docs/performance/jmh-*.json), but this command does not run JMH.
"""

import argparse
import contextlib
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import charts  # noqa: E402
import plots  # noqa: E402
import processes  # noqa: E402
import proxies  # noqa: E402
import sweeps  # noqa: E402
from load import SCENARIOS  # noqa: E402
from machine import progress  # noqa: E402
from processes import ROOT, Failure  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = ROOT / "docs/performance"
IMAGES = ROOT / "docs/images"
DRIVERS = ("proxies", "sweeps", "scenarios", "soak")
TOOLS = {
    "proxies": ("h2load", "taskset"),
    "sweeps": ("h2load", "taskset", "openssl"),
    "scenarios": ("hey", "h2load", "curl", "openssl"),
    "soak": ("taskset",),
}
SMOKE = {
    "proxies": "--available --only direct,nghttpx,haproxy-h1,haproxy-h2,nginx,dispatcher --scenarios ping,echo "
    "--rounds 1 --seconds 0.1 --warm-up 0.1 --jvm-warm-up 0.5 --latency-rounds 1 --latency-seconds 0.3",
    "sweeps": "--quick --only size,workers,tls",
    "scenarios": "--smoke",
    "soak": "--minutes 0.1 --load 0.2 --warm-up 2 --peak-seconds 1 --growth 10",
}


# Results


class Results:
    """All reports of a directory, newest first."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.reports = []
        for file in sorted(self.directory.glob("*.json")):
            report = json.loads(file.read_text())
            if isinstance(report, dict) and "meta" in report and "results" in report:
                self.reports.append((file, report))
        self.reports.sort(key=lambda pair: pair[1]["meta"]["taken"], reverse=True)

    def of(self, driver):
        return [(file, report) for file, report in self.reports if file.name.startswith(driver)]

    def newest(self, driver, key=None, value=None):
        """The newest report that has matching rows, and these rows. (None, []) if no report has any."""
        for _, report in self.of(driver):
            rows = [row for row in report["results"] if key is None or row.get(key) == value]
            if rows:
                return report, rows
        return None, []

    def runs(self, driver, key, value):
        """The matching rows of each report with the same commit as the newest one, newest first."""
        newest, _ = self.newest(driver, key, value)
        found = []
        for _, report in self.of(driver):
            rows = [row for row in report["results"] if row.get(key) == value]
            if rows and report["meta"]["commit"] == newest["meta"]["commit"]:
                found.append(rows)
        return found

    def proxies(self):
        return [row for scenario in SCENARIOS for row in self.newest("proxies", "scenario", scenario.name)[1]]

    def proxy_runs(self, scenario):
        """For each run, its rows by contender."""
        return [{row["contender"]: row for row in rows} for rows in self.runs("proxies", "scenario", scenario)]


# Targets


def of_each_run(scenario, measured):
    """@param measured takes the rows of a run by contender; returns None if they lack the figure"""
    return lambda results: known(measured(rows) for rows in results.proxy_runs(scenario))


def known(values):
    return [value for value in values if value is not None]


def cpu_ratio(scenario, other):
    def measured(rows):
        if "dispatcher" not in rows or other not in rows:
            return None
        return rows["dispatcher"]["cpu_micros"] / rows[other]["cpu_micros"]

    return of_each_run(scenario, measured)


def added_latency(percentile, scenario="ping"):
    def measured(rows):
        found = rows.get("dispatcher", {}).get("latency", {}).get("half", {})
        return found.get("added_millis", {}).get(percentile)

    return of_each_run(scenario, measured)


def allocated(results):
    return of_each_run("ping", lambda rows: rows.get("dispatcher", {}).get("allocated_bytes"))(results)


def two_loops(scenario, where):
    def measured(rows):
        by_point = {row["point"]: row["cpu_micros"] for row in rows if row["scenario"] == scenario}
        one, two = by_point.get(f"1 on {where}"), by_point.get(f"2 on {where}")
        return two / one if one and two else None

    return lambda results: known(measured(rows) for rows in results.runs("sweeps", "sweep", "loops"))


# Each target: its text, its maximum, its unit ('' = a ratio), and the figures of all runs.
TARGETS = [
    ("CPU per `/ping` ÷ HAProxy h2→h2c", 0.6, "", cpu_ratio("ping", "haproxy-h2")),
    ("CPU per `/ping` ÷ nghttpx (goal)", 1.0, "", cpu_ratio("ping", "nghttpx")),
    ("CPU per image ÷ nghttpx", 1.0, "", cpu_ratio("image", "nghttpx")),
    ("CPU per image ÷ HAProxy h2→h1 (goal)", 1.0, "", cpu_ratio("image", "haproxy-h1")),
    ("CPU per echo of the image ÷ nghttpx", 1.0, "", cpu_ratio("echo", "nghttpx")),
    ("CPU per echo of the image ÷ HAProxy h2→h1 (goal)", 1.0, "", cpu_ratio("echo", "haproxy-h1")),
    ("latency added to `/ping` at half of the peak rate, p50", 1.0, "ms", added_latency("p50")),
    ("latency added to `/ping` at half of the peak rate, p99", 2.0, "ms", added_latency("p99")),
    ("bytes allocated in the dispatcher per `/ping`", 1024, "B", allocated),
    ("bytes allocated in the dispatcher per `/ping` (goal)", 200, "B", allocated),
    ("CPU per `/ping`, two event loops ÷ one, on two cores", 1.15, "", two_loops("ping", "all cores")),
    ("CPU per image, two event loops ÷ one, on two cores", 1.15, "", two_loops("image", "all cores")),
]


def targets_table(results):
    lines = ["| target | at most | measured in each run | met |", "| --- | --- | --- | --- |"]
    for title, limit, unit, measured in TARGETS:
        values = measured(results)
        shown = ", ".join(with_unit(value, unit) for value in values) or "–"
        lines.append(f"| {title} | {with_unit(limit, unit)} | {shown} | {met(values, limit)} |")
    return "\n".join(lines)


def met(values, limit):
    within = sum(value <= limit for value in values)
    if not values:
        return "not measured"
    if within == len(values):
        return "yes"
    return f"**in {within} of {len(values)} runs**" if within else "**no**"


def with_unit(value, unit):
    text = f"{value:,.0f}" if unit == "B" else f"{value:.2f}"
    return f"{text} {unit}".strip()


# The page


def page(results, drawn):
    parts = [
        "# Performance results",
        "This page lists all stored results for readers who check a figure. [Performance](README.md) has a summary, and "
        "[benchmarks/README.md](../../benchmarks/README.md) says how each figure is measured.",
        INTRODUCTION,
        "## Targets",
        targets_table(results),
    ]
    for section in (proxies_section, sweeps_section, scenarios_section, soak_section, jmh_section):
        parts += section(results, drawn)
    parts += ["## Runs", runs_table(results), CAVEATS]
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """- `benchmarks/macro/performance.py` writes this page from the JSON files beside it. Do not edit it by hand.
- Compare only rows of one table, and prefer ratios to times. Other programs may have used the machine during a run.
- [Caveats](#caveats) at the end say what the figures leave out, and [Runs](#runs) names the command of each result.

In all tables, **RSS** is the resident memory of the processes, **allocated/request** counts the bytes that the JVM allocates for one request, and
**errors** counts failed requests. **÷ X** is the ratio to X, so a value below 1 means less than X."""

CAVEATS = """## Caveats

- The machine has two cores. What is measured has one core, and load generator and backend share the other. If a proxy uses less than its whole core,
  its requests/s are limited by load generator and backend.
- The backend of nghttpx, HAProxy, nginx and the gateways is a small Netty server. The backend of the dispatcher is a worker, which does more for each
  request. The CPU time includes neither. Latency and requests/s include both.
- Proxies run with their default settings, except for those in `benchmarks/macro/contenders.py`: all have one thread, and nginx has its buffering off,
  because all others pass on bodies as they arrive.
- Latency at a constant rate counts from the time at which a request should have started. Percentiles above p99 rest on few requests, because a run
  takes only seconds.
- The CPU time of JVMs includes JIT compilation and garbage collection."""


def plot(results, drawn, kind, report, title):
    """The line that shows a plot; empty if there is no plot."""
    if report is None or kind not in drawn:
        return []
    return [f"![{title}]({kind}.png)"]


def from_line(report):
    meta = report["meta"]
    dirty = " with changes" if meta["dirty"] else ""
    return f"Measured at commit {meta['commit'][:12]}{dirty} on {meta['taken'][:16].replace('T', ' ')} UTC."


def proxies_section(results, drawn):
    parts = []
    for scenario in (scenario.name for scenario in SCENARIOS):
        report, rows = results.newest("proxies", "scenario", scenario)
        if report is None:
            continue
        parts += [f"### {scenario}", from_line(report), proxies.cpu_table(scenario, rows, report["meta"]["contenders"])]
        if any(row["latency"] for row in rows):
            parts.append(proxies.latency_table(scenario, rows, report["meta"]["contenders"]))
    if not parts:
        return []
    report, _ = results.newest("proxies")
    shown = plot(results, drawn, "proxies", report, "CPU time per request") + plot(results, drawn, "latency", report, "Latency at the same rate for all proxies")
    text = ("The load is `h2load -c 10 -m 10`: HTTP/2 without TLS, 100 requests in flight. Each proxy has one thread on a core of its own. `ping` gets 4 bytes, "
            "`image` gets 168,161 bytes, and `echo` posts the image and gets it back. CPU times are medians of all rounds. A ratio compares the medians, and "
            "the ratio in parentheses compares the lowest rounds.")
    return ["## Beside other proxies", text, *shown, *parts]


SWEEPS = {
    "size": "Body size: echo, 10 requests in flight",
    "concurrency": "Requests in flight: `/ping`, one worker with 1,000 streams",
    "streams": "Streams of one worker: `/ping`, 100 requests in flight",
    "workers": "Workers with 100 streams each, in one process: `/ping`, 100 requests in flight",
    "loops": "Event loops, on one core and on all cores, which load generator and worker share",
    "tls": "TLS",
    "jvm": "JDKs, garbage collectors and Netty's allocators",
}


SWEEPS_TEXT = "A sweep changes one parameter. The dispatcher has one event loop on one core. The ratio of CPU time is to the first row with the same request."


def sweeps_section(results, drawn):
    parts = []
    for name, title in SWEEPS.items():
        report, rows = results.newest("sweeps", "sweep", name)
        if report is None:
            continue
        parts += [f"### {title}", from_line(report), *plot(results, drawn, name, report, title), sweeps.table(name, rows)]
    return ["## Sweeps", SWEEPS_TEXT, *parts] if parts else []


SCENARIOS_TEXT = (
    "These are the scenarios that a comparable hosted dispatcher publishes. **dispatch** uses workers, and **direct** uses one Lambda invocation for each "
    "request. Both run in one run against a stand-in for Lambda on the same machine, not on AWS. **c, n** are requests in flight and in total, **rps** is "
    "requests per second, and **CPU-s per 1,000** is the CPU time in seconds for 1,000 requests: dispatcher + functions.")


def scenarios_section(results, drawn):
    report, _ = results.newest("scenarios")
    if report is None:
        return []
    import scenarios

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        scenarios.print_table(report)
    # The first printed line repeats what `from_line` says.
    return ["## Published scenarios", SCENARIOS_TEXT, from_line(report), printed.getvalue().partition("\n")[2].strip()]


def soak_section(results, drawn):
    report, rows = results.newest("soak")
    if report is None:
        return []
    row = rows[0]
    total, latency = row["total"], row["total"]["latency_millis"]
    lines = [
        "| minutes | share of peak rate | requests/s | answered | failed | p50, p99, p99.9, max ms | RSS in the last third ÷ second third: dispatcher, worker |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        f"| {row['minutes']:g} | {row['offered_rate'] / row['peak_rate']:.0%} | {row['offered_rate']:,.0f} | {total['answered']:,} | {total['errors']} "
        f"| {latency['p50']:.2f}, {latency['p99']:.2f}, {latency['p99.9']:.2f}, {latency['max']:.1f} "
        f"| {amount(row['growth']['dispatcher_mib'])}, {amount(row['growth']['worker_mib'])} |",
    ]
    verdict = "; ".join(row["failures"]) if row["failures"] else "No request failed, and memory did not grow."
    mix = ", ".join(f"{weight} {name}" for name, weight in row["mix"].items())
    text = f"A soak offers a constant rate for a long time. Of every {sum(row['mix'].values())} requests: {mix}. {verdict}"
    return ["## Soak", from_line(report), text, *plot(results, drawn, "soak", report, "Latency and memory over time"), "\n".join(lines)]


def amount(value):
    return "–" if value is None else f"{value:.3f}"


def jmh_section(results, drawn):
    parts = []
    for file, report in results.of("jmh"):
        exchanges = [row for row in report["results"] if "ExchangeBenchmark" in row["benchmark"]]
        others = [row for row in report["results"] if row not in exchanges]
        parts += [f"### {file.stem}", f"{from_line(report)} {report['meta'].get('jdk', '')}"]
        parts += [EXCHANGES, exchange_table(exchanges)] if exchanges else []
        parts += [JMH_RATIOS, jmh_table(others)] if others else []
    return ["## JMH", *parts] if parts else []


JMH_RATIOS = "Ratios are to the first row with the same benchmark class and parameters."
EXCHANGES = (
    "A body goes to the function and back, without sockets. Both ends are measured. An event carries the body as JSON with base64, in one of the two formats "
    "of AWS. A worker stream carries it in frames, which pass on bytes by reference. Cells show µs, and in parentheses the bytes allocated. "
    "[JMH](../../benchmarks/README.md#jmh) says what is compared."
)


def exchange_table(rows):
    """A row for each size of body, with both event formats and the worker stream."""
    columns = ("ALB", "HTTP_API_V2", "stream")
    by_size = {}
    for row in rows:
        column = row["params"].get("shape", "stream")
        by_size.setdefault(int(row["params"]["bodyBytes"]), {})[column] = row
    lines = ["| body bytes | event, ALB | event, HTTP API v2 | worker stream | ALB ÷ worker stream |", "| --- | --- | --- | --- | --- |"]
    for size, found in sorted(by_size.items()):
        cells = [exchange_cell(found.get(column)) for column in columns]
        paired = "ALB" in found and "stream" in found
        ratio = f"**{found['ALB']['score'] / found['stream']['score']:,.1f}**" if paired else "–"
        lines.append(f"| {size:,} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(lines)


def exchange_cell(row):
    return f"{row['score'] / 1000:,.1f} ({row['allocated_bytes']:,.0f})" if row else "–"


def jmh_table(rows):
    """Rows in their order. The ratio compares each row with the first row of its kind."""
    lines = ["| benchmark | parameters | ÷ first | score | unit | B/op |", "| --- | --- | --- | --- | --- | --- |"]
    first = {}
    for row in rows:
        owner, _, method = row["benchmark"].rpartition(".")
        short = f"{owner.rpartition('.')[2]}.{method}"
        parameters = ", ".join(f"{key} {value}" for key, value in (row.get("params") or {}).items())
        base = first.setdefault((owner, parameters, row["unit"]), row)
        ratio = f"{row['score'] / base['score']:.2f}" if base["score"] else "–"
        error = row.get("error")
        score = f"{row['score']:,.1f}" + (f" ± {error:,.1f}" if isinstance(error, (int, float)) and error == error else "")
        allocated = row.get("allocated_bytes")
        lines.append(f"| {short} | {parameters or '–'} | {ratio} | {score} | {row['unit']} | {'–' if allocated is None else f'{allocated:,.0f}'} |")
    return "\n".join(lines)


def runs_table(results):
    lines = ["| results | measured, UTC | commit | JDK | flags | machine | command |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for file, report in sorted(results.reports, key=lambda pair: pair[0].name):
        meta = report["meta"]
        machine = f"{meta.get('cpu', '?')}, {meta.get('cores', '?')} cores, Linux {meta.get('kernel', '?')}"
        lines.append(
            f"| [{file.name}]({file.name}) | {meta['taken'][:16].replace('T', ' ')} | {meta['commit'][:12]}{' with changes' if meta['dirty'] else ''} "
            f"| {meta.get('jdk', '?')} | `{' '.join(meta.get('flags', [])) or '–'}` | {machine} | `{meta.get('command', '?')}` |")
    return "\n".join(lines)


def draw_all(results):
    """@return the kinds of plots that now exist"""
    drawn = set()
    for kind, (driver, key, value) in plots.SOURCES.items():
        rows = results.proxies() if driver == "proxies" else results.newest(driver, key, value)[1]
        if kind == "latency":
            rows = [row for row in rows if row["latency"]]
        if rows and plots.draw(kind, rows, results.directory / f"{kind}.png"):
            drawn.add(kind)
    return drawn


def write(directory, target):
    results = Results(directory)
    if not results.reports:
        raise Failure(f"no results in {directory}")
    drawn = draw_all(results)
    target.write_text(page(results, drawn))
    progress(f"wrote {target}")
    return target.read_text()


def write_documents():
    """Writes the page, and the charts that other documents show."""
    write(RESULTS, RESULTS / "results.md")
    IMAGES.mkdir(exist_ok=True)
    for name, drawing in drawings(Results(RESULTS)).items():
        (IMAGES / name).write_text(drawing)


def drawings(results):
    return {"speed.svg": charts.speed(results.proxies()), "cost.svg": charts.cost()}


# Runs


def run(driver, directory, more, required=True):
    command = [sys.executable, str(HERE / f"{driver}.py"), "--json", str(directory / f"{driver}.json"), *more]
    progress(" ".join(command[1:]))
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code != 0 and required:
        raise Failure(f"{driver} ended with exit code {code}")


def everything(options):
    RESULTS.mkdir(parents=True, exist_ok=True)
    jdk = ["--jdk", options.jdk] if options.jdk else []
    for driver in options.only.split(","):
        if driver not in DRIVERS:
            raise Failure(f"--only {driver}: expected some of {','.join(DRIVERS)}")
        if driver != "soak":
            run(driver, RESULTS, jdk)
    if options.soak:
        # The result of a failed soak is shown, too.
        run("soak", RESULTS, ["--minutes", str(options.soak), *jdk], required=False)
    write_documents()


def smoke(only):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="performance-"))
    ran = []
    for driver in only.split(","):
        missing = [name for name in TOOLS[driver] if processes.tool(name) is None]
        if missing:
            progress(f"{driver} left out: no {', '.join(missing)}")
        else:
            run(driver, directory, SMOKE[driver].split())
            ran.append(driver)
    text = write(directory, directory / "results.md")
    headings = {"proxies": "## Beside", "sweeps": "## Sweeps", "scenarios": "## Published", "soak": "## Soak"}
    lost = [driver for driver in ran if headings[driver] not in text]
    if lost:
        raise Failure(f"the page has no section for {', '.join(lost)}")
    shutil.rmtree(directory)
    progress(f"{', '.join(ran)} and the page work")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from-results", action="store_true", help="runs nothing")
    parser.add_argument("--smoke", action="store_true", help="runs each driver whose tools are installed, for a moment")
    parser.add_argument("--only", default=",".join(DRIVERS), help="runs some of %(default)s; the page shows all stored results")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="also runs a soak for this time")
    parser.add_argument("--jdk", metavar="PATH", help="uses this JDK instead of JAVA_HOME or the java in PATH")
    options = parser.parse_args()
    try:
        if options.smoke:
            smoke(options.only)
        elif options.from_results:
            write_documents()
        else:
            everything(options)
    except Failure as failure:
        sys.exit(f"performance: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
