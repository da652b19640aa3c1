#!/usr/bin/env -S python3 -B
"""Runs all drivers, and writes docs/performance/results.md, its plots and the charts in docs/images from their results.

    benchmarks/macro/performance.py                    runs everything except the soak, in about an hour
    benchmarks/macro/performance.py --soak 60          also runs a soak of one hour
    benchmarks/macro/performance.py --from-results     runs nothing, and writes from docs/performance/*.json
    benchmarks/macro/performance.py --smoke            checks in a temporary directory that everything works; its figures mean nothing

Each table comes from one run. If a driver has several reports, the newest report with rows for the table is used. The table of targets
shows the newest runs of any commit, of which docs/performance/targets.json keeps the figures. The page includes the results of JMH (docs/performance/jmh-*.json), but this command does not run JMH.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import charts
import pairs
import plots
import proxies
import residence
import scenarios
import soak
import sweeps
import workers
from driver import by, table
from load import SCENARIOS
from processes import ROOT, Failure, progress, some_of, tool

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = ROOT / "docs/performance"
TARGETS_FILE = "targets.json"
RUNS = 5  # in the table of targets
IMAGES = ROOT / "docs/images"
# For each driver: what --smoke gives it, the programs that it then needs, and the heading of its section.
Smoked = collections.namedtuple("Smoked", "arguments programs heading")
DRIVERS = {
    "residence": Smoked("--quick", "h2load taskset tcpdump nghttpx haproxy", "## Time in the proxy"),
    "proxies": Smoked("--quick --available --only direct,nghttpx,haproxy-h1,haproxy-h2,nginx,dispatcher --scenarios ping,echo", "h2load taskset", "## Beside"),
    "workers": Smoked("--quick --counts 1,10", "h2load taskset openssl nginx haproxy nghttpx", "## Number of workers"),
    "sweeps": Smoked("--quick --only size,tls", "h2load taskset openssl", "## Sweeps"),
    "scenarios": Smoked("--quick", "hey h2load curl openssl", "## Published"),
    "soak": Smoked("--quick", "taskset", "## Soak"),
}


# Results


class Results:
    """All reports of a directory, newest first."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        files = [file for file in sorted(self.directory.glob("*.json")) if file.name != TARGETS_FILE]
        reports = [{**json.loads(file.read_text()), "file": file.name} for file in files]
        self.reports = sorted(reports, key=lambda report: report["meta"]["taken"], reverse=True)

    def of(self, driver):
        return [report for report in self.reports if report["file"].startswith(driver)]

    def with_rows(self, driver, key=None, value=None):
        """Each report of a driver that has rows like these, and the rows, newest first."""
        for report in self.of(driver):
            rows = [row for row in report["results"] if key is None or row.get(key) == value]
            if rows:
                yield report, rows

    def newest(self, driver, key=None, value=None):
        """The newest report that has rows like these, and the rows. (None, []) if none has."""
        return next(self.with_rows(driver, key, value), (None, []))

    def newest_of_each(self, driver, key, values):
        """Each of these values that was measured, with the newest report and its rows."""
        return [(value, report, rows) for value in values for report, rows in [self.newest(driver, key, value)] if report]

    def runs(self, driver, key, value):
        """The matching rows of each report with the same commit as the newest one, newest first."""
        found = list(self.with_rows(driver, key, value))
        return [rows for report, rows in found if report["meta"]["commit"] == found[0][0]["meta"]["commit"]]

    def judged(self):
        """The figures of earlier runs for the targets: a list of {"taken", "commit", "figures": {target: figure}}, newest first."""
        file = self.directory / TARGETS_FILE
        return json.loads(file.read_text()) if file.exists() else []

    def proxies(self):
        return [row for _, _, rows in self.newest_of_each("proxies", "scenario", [scenario.name for scenario in SCENARIOS]) for row in rows]

    def proxy_runs(self, scenario):
        """For each run, its rows by contender."""
        return [{row["contender"]: row for row in rows} for rows in self.runs("proxies", "scenario", scenario)]


# Targets


def known(values):
    return [value for value in values if value is not None]


def of_each_run(scenario, measured):
    """@param measured from the rows of a run by contender; None if they have no such value"""
    return lambda results: known(measured(rows) for rows in results.proxy_runs(scenario))


def cpu_ratio(scenario, other):
    return of_each_run(scenario, lambda rows: rows["dispatcher"]["cpu_micros"] / rows[other]["cpu_micros"] if {"dispatcher", other} <= rows.keys() else None)


def more_residence(percentile):
    """How much longer a request is in the dispatcher than in nghttpx: the mean of the pairs of a run."""
    differences = lambda results: residence.added(results.newest("residence")[1], percentile, "nghttpx")
    return lambda results: [statistics.mean(differences(results))] if differences(results) else []


def two_loops(scenario, where):
    def measured(rows):
        micros = {row["point"]: row["cpu_micros"] for row in rows if row["scenario"] == scenario}
        one, two = f"1 on {where}", f"2 on {where}"
        return micros[two] / micros[one] if {one, two} <= micros.keys() else None

    return lambda results: known(measured(rows) for rows in results.runs("sweeps", "sweep", "loops"))


allocated = of_each_run("ping", lambda rows: rows.get("dispatcher", {}).get("allocated_bytes"))
# Each target: its text, its maximum, its unit ('' = a ratio), and the figures of all runs.
TARGETS = [
    ("CPU per `/ping` ÷ HAProxy h2→h2c", 0.6, "", cpu_ratio("ping", "haproxy-h2")),
    ("CPU per `/ping` ÷ nghttpx (goal)", 1.0, "", cpu_ratio("ping", "nghttpx")),
    ("CPU per image ÷ nghttpx", 1.0, "", cpu_ratio("image", "nghttpx")),
    ("CPU per image ÷ HAProxy h2→h1 (goal)", 1.0, "", cpu_ratio("image", "haproxy-h1")),
    ("CPU per echo of the image ÷ nghttpx", 1.0, "", cpu_ratio("echo", "nghttpx")),
    ("CPU per echo of the image ÷ HAProxy h2→h1 (goal)", 1.0, "", cpu_ratio("echo", "haproxy-h1")),
    ("time in the dispatcher − time in nghttpx, each at half of its peak rate, p50", 1.0, "ms", more_residence("p50")),
    ("time in the dispatcher − time in nghttpx, each at half of its peak rate, p99", 1.0, "ms", more_residence("p99")),
    ("bytes allocated in the dispatcher per `/ping`", 1024, "B", allocated),
    ("bytes allocated in the dispatcher per `/ping` (goal)", 200, "B", allocated),
    ("CPU per `/ping`, two event loops ÷ one, on two cores", 1.15, "", two_loops("ping", "all cores")),
    ("CPU per image, two event loops ÷ one, on two cores", 1.15, "", two_loops("image", "all cores")),
]


def of_runs(results, title, measured):
    """The figures of the newest runs for a target, newest first."""
    report, _ = results.newest("proxies")
    earlier = [run["figures"].get(title) for run in results.judged() if report is None or run["taken"] < report["meta"]["taken"]]
    return (measured(results) + known(earlier))[:RUNS]


def remember(results):
    """Adds the figures of the newest run to the file of targets."""
    report, _ = results.newest("proxies")
    if report is None:
        return
    run = {"taken": report["meta"]["taken"], "commit": report["meta"]["commit"],
           "figures": {title: round(values[0], 5) for title, _, _, measured in TARGETS if (values := measured(results))}}
    runs = [run, *(earlier for earlier in results.judged() if earlier["taken"] < run["taken"])][:RUNS]
    (results.directory / TARGETS_FILE).write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n")


def targets_table(results):
    return table("target | at most | measured in each run | met", [
        [title, with_unit(limit, unit), ", ".join(with_unit(value, unit) for value in values) or "–", met(values, limit)]
        for title, limit, unit, measured in TARGETS for values in [of_runs(results, title, measured)]])


def met(values, limit):
    within = sum(value <= limit for value in values)
    if not values:
        return "not measured"
    return "yes" if within == len(values) else f"**in {within} of {len(values)} runs**" if within else "**no**"


def with_unit(value, unit):
    text = f"{value:,.0f}" if unit == "B" else f"{value:.2f}"
    return f"{text} {unit}".strip()


# The page


def page(results, drawn):
    parts = ["# Performance results", INTRODUCTION, *summary_section(results), "## Targets", TARGETS_TEXT, targets_table(results)]
    for section in (proxies_section, residence_section, workers_section, sweeps_section, scenarios_section, soak_section, jmh_section):
        parts += section(results, drawn)
    return "\n\n".join([*parts, CAVEATS, *runs_section(results)]) + "\n"


INTRODUCTION = """This page is for readers who check a figure: it has all stored results. [Performance](README.md) is shorter.
[benchmarks/README.md](../../benchmarks/README.md) says how each figure is measured. `benchmarks/macro/performance.py` writes this page from the JSON
files beside it, so do not edit it by hand."""

READING = """**How to read the tables.** Compare rows of one table, and prefer ratios to times. **÷ X** is the ratio to X: a value below 1 means less than X.
**RSS** is the resident memory of the processes. **allocated/request** is the number of bytes that the JVM allocates for one request. **errors** counts
failed requests. [Caveats](#caveats) says what the figures leave out."""

TARGETS_TEXT = f"""A target is met if none of the newest {RUNS} runs exceeds the limit. The newest run is the first figure. Runs are of different
commits, so an old one can be from before an improvement. Rows with (goal) are goals, not requirements."""

CAVEATS = """## Caveats

- **One machine.** It has two cores, and other programs may have used it during a run. The measured program has one core. The load generator and the
  backend share the other core. They limit the requests/s of a proxy that does not use its whole core.
- **Backends.** The dispatcher's backend is a worker, which does more for each request than the small Netty server behind the other proxies. The CPU time
  includes neither. Latency and requests/s include both.
- **Settings.** Each proxy has one thread and its default settings. Exceptions are in `benchmarks/macro/contenders.py`: nginx does not buffer bodies,
  because the others do not.
- **Latency.** At a constant rate, it counts from the time at which a request should have started. A run takes seconds, so percentiles above p99 rest on
  few requests.
- **JVM.** The CPU time includes JIT compilation and garbage collection."""


# The summary. Each line comes from the stored results, and is absent if they are.


def summary_section(results):
    lines = [line for part in SUMMARY for line in part(results)]
    return ["## Summary", "\n".join(f"- {line}" for line in lines), READING] if lines else [READING]


def targets_summary(results):
    found = {title: met(of_runs(results, title, measured), limit) for title, limit, _, measured in TARGETS}
    measured = {title: result for title, result in found.items() if result != "not measured"}
    missed = [f"{title} (met {result.replace('*', '').replace('no', 'in no run')})" for title, result in measured.items() if result != "yes"]
    text = f"**Targets:** {len(measured) - len(missed)} of {len(measured)} are met in each of the newest {RUNS} runs."
    return [text + (f" Not met: {'; '.join(missed)}." if missed else "")] if measured else []


def proxies_summary(results):
    lines = []
    for scenario, what in (("ping", "A small request"), ("image", "A download of 168 KB"), ("echo", "An echo of 168 KB")):
        others = [f"{span(values)} times that of {name}" for name, values in (
            ("nghttpx", cpu_ratio(scenario, "nghttpx")(results)), ("HAProxy h2→h2c", cpu_ratio(scenario, "haproxy-h2")(results))) if values]
        if others:
            lines.append(f"**{what}:** the CPU time is {' and '.join(others)}.")
    return lines


def latency_summary(results):
    _, pings = results.newest("proxies", "scenario", "ping")
    return [line + same_rate_lesson(pings) for line in lesson("Latency", residence_lesson, "residence")(results)]


def lesson(title, learn, *rows):
    """What the newest rows teach. @param rows which ones, for Results.newest"""
    return lambda results: [f"**{title}:** {learn(found)}" for _, found in [results.newest(*rows)] if found]


def soak_lesson(rows):
    return f"{rows[0]['total']['answered']:,} requests in {rows[0]['minutes']:g} minutes. {soak_verdict(rows[0])}"


def span(values):
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


# The sections


def plot(drawn, kind, title):
    """The line that shows a plot; empty if there is no plot."""
    return [f"![{title}]({kind}.png)"] if kind in drawn else []


def from_line(report):
    """Names the run. Its commit, time and command are in the table of runs."""
    return f"Run: [{report['file']}](#runs)."


def proxies_section(results, drawn):
    parts = []
    for scenario, report, rows in results.newest_of_each("proxies", "scenario", PROXIED):
        notes = report["meta"]["contenders"]
        parts += [f"### {scenario}", f"{PROXIED[scenario]} {from_line(report)}", proxies.cpu_table(scenario, rows, notes)]
        if any(row["latency"] for row in rows):
            parts.append(proxies.latency_table(scenario, rows, notes))
        parts += proxies_lesson(rows)
    shown = plot(drawn, "proxies", "CPU time per request") + plot(drawn, "latency", "Latency at the same rate for all proxies")
    return ["## Beside other proxies", PROXIES_TEXT, *shown, *parts] if parts else []


PROXIES_TEXT = """The load is `h2load -c 10 -m 10`: HTTP/2 without TLS, 100 requests in flight. Each proxy has one thread on a core of its own. CPU times
are medians of all rounds. A ratio compares the medians. The ratio in parentheses compares the lowest rounds. **added** is the latency of the proxy minus
that of the backend without a proxy. A row whose rate is not kept has no latency."""
PROXIED = {
    "ping": "The response has 4 bytes.",
    "image": "The response has 168,161 bytes.",
    "echo": "The client posts 168,161 bytes and gets them back.",
}


def beside_others(values, text, others_text):
    """Compares the dispatcher with the least and the most of the others; empty if one of them was not measured. @param values by contender"""
    others = [value for name, value in values.items() if name not in ("direct", "dispatcher")]
    return text.format(values["dispatcher"]) + " " + others_text.format(min(others), max(others)) if "dispatcher" in values and others else ""


def proxies_lesson(rows):
    text = beside_others(
        {row["contender"]: row["cpu_micros"] for row in rows},
        "The dispatcher takes {:.2f} µs of CPU time for a request.", "The other proxies take {:.2f} to {:.2f} µs.")
    return [text + same_rate_lesson(rows)] if text else []


def same_rate_lesson(rows):
    return beside_others(
        {row["contender"]: row["latency"]["added_millis"]["p99"] for row in rows if row["latency"].get("added_millis")},
        " At the same rate for all, the dispatcher adds {:.2f} ms of latency at p99.", "The other proxies add {:.2f} to {:.2f} ms.")


def residence_section(results, drawn):
    report, rows = results.newest("residence")
    return ["## Time in the proxy", RESIDENCE_TEXT, from_line(report), residence.rows(rows, report["meta"]["contenders"]),
            "E" + residence_lesson(rows)[1:]] if report else []


def residence_lesson(rows):
    own = {row["contender"]: row["rounds"] for row in rows}["dispatcher"]
    times = [f"{statistics.median(sample['residence_millis'][name] for sample in own):.2f} ms at {name}" for name in ("p50", "p99")]
    text = f"each at half of its peak rate, requests and their responses are in the dispatcher for {' and '.join(times)}"
    differences = {name: residence.added(rows, name, "nghttpx") for name in ("p50", "p99")}
    if differences["p99"]:
        parts = ["{:+.2f} ms ({:+.2f} to {:+.2f}) at {}".format(*pairs.interval(values), name) for name, values in differences.items()]
        text += f". The difference to nghttpx in the same round is {' and '.join(parts)} (means of {len(differences['p99'])} rounds, 95 % intervals)"
    return text + "."


RESIDENCE_TEXT = """With two cores, most of the latency of a client is that of the load generator and the backend, which share a core. So this table has the
time for which a request and its response are in the proxy, from packet to packet. The load is a POST of 28 bytes, sent at even intervals. Each column has
the median of ten rounds, which alternate between the proxies, and the lowest and the highest."""


def workers_section(results, drawn):
    parts = []
    for front, report, rows in results.newest_of_each("workers", "front", FRONTS):
        parts += [f"### {FRONTS[front]}", from_line(report)]
        parts += plot(drawn, "workers", "CPU time per request against the number of workers") if front == "h2" else []
        for load, heading in workers.LOADS.items():
            found = [row for row in rows if load in row]
            parts += [f"**{heading.format(rate=report['meta']['rate'])}**", workers.rows(found, load)] if found else []
        parts.append(workers_lesson(rows))
    return ["## Number of workers", WORKERS_TEXT, *parts] if parts else []


WORKERS_TEXT = """The question: what does a request cost if its function has many workers? The request is `/ping`. nghttpx and HAProxy have one backend for
each worker. **Bursts** are ten requests at once on each of 10 connections. At **even intervals**, each request arrives alone, so no two requests can share a
system call."""
FRONTS = {"h2": "Clients with HTTP/2", "tls": "Clients with HTTP/2 over TLS", "h1": "Clients with HTTP/1.1"}


def workers_lesson(rows):
    """Compares the largest number of workers with nghttpx and HAProxy, and with one worker."""
    ours = {row["workers"]: row for row in rows if row["contender"] == "dispatcher"}
    most, least = ours[max(ours)], ours[min(ours)]
    found = []
    for load, title in (("maximum", "at maximum load"), ("burst", "in bursts"), ("even", "at even intervals")):
        others = {row["contender"]: row[load]["cpu_micros"] for row in rows if row["workers"] == most["workers"] and load in row}
        ratios = [f"{others['dispatcher'] / others[name]:.2f} times that of {title_of}" for name, title_of in (
            ("nghttpx", "nghttpx"), ("haproxy-h1", "HAProxy h2→h1")) if {name, "dispatcher"} <= others.keys()]
        found += [f"{title} {' and '.join(ratios)}"] if ratios else []
    text = f"With {most['workers']:,} workers, the CPU time of a request is {'; '.join(found)}." if found else ""
    if least is not most:
        text += f" At maximum load it is {most['maximum']['cpu_micros'] / least['maximum']['cpu_micros']:.2f} times that with {least['workers']:,} worker(s)."
    return text.strip()


def sweeps_section(results, drawn):
    parts = []
    for name, report, rows in results.newest_of_each("sweeps", "sweep", SWEEPS):
        title, what, lesson = SWEEPS[name]
        parts += [f"### {title}", f"{what} {from_line(report)}", *plot(drawn, name, title), sweeps.rows(name, rows), lesson(rows)]
    return ["## Sweeps", SWEEPS_TEXT, *parts] if parts else []


SWEEPS_TEXT = """A sweep changes one parameter. The dispatcher has one event loop on one core, except in [Event loops](#event-loops). **CPU ÷ first** compares a
row with the first row of the same request."""


def size_lesson(rows):
    large = [row for row in rows if row["bytes"] >= 100_000]
    if not large:
        return "No large body was measured."
    each = [row["cpu_micros"] / row["bytes"] * 1e6 for row in large]
    allocated = max(row["allocated_bytes"] / row["bytes"] for row in large)
    return (f"From {large[0]['bytes']:,} bytes on, 1 MB costs {min(each):,.0f} to {max(each):,.0f} µs of CPU time. The JVM allocates at most "
            f"{allocated:.2f} bytes for each byte of a body, because bodies are passed on by reference.")


def lesson_of_ends(what, conclusion):
    """Compares the cost of the first and of the last row."""
    return lambda rows: (f"A request costs {rows[0]['cpu_micros']:.1f} µs with {rows[0]['point']:,} {what}, "
                         f"and {rows[-1]['cpu_micros']:.1f} µs with {rows[-1]['point']:,}. {conclusion}")


def loops_lesson(rows):
    micros = {(row["scenario"], row["point"]): row["cpu_micros"] for row in rows}
    found = [f"{micros[scenario, '2 on all cores'] / micros[scenario, '1 on all cores']:.2f} times the CPU time for `{scenario}`"
             for scenario in ("ping", "image") if {(scenario, "1 on all cores"), (scenario, "2 on all cores")} <= micros.keys()]
    return f"With a second event loop on all cores, a request takes {' and '.join(found)}." if found else "No two points can be compared."


def tls_lesson(rows):
    found = [f"{same[-1]['cpu_micros'] / same[0]['cpu_micros']:.2f} for `{scenario}`" for scenario, same in by(rows, "scenario").items()]
    return f"TLS to clients and to workers multiplies the CPU time by {' and '.join(found)}."


def jvm_lesson(rows):
    points = {scenario: sorted((row["cpu_micros"], row["point"]) for row in same) for scenario, same in by(rows, "scenario").items()}
    found = [f"For `{scenario}`, the lowest CPU time is {found[0][0]:.1f} µs ({found[0][1]}) and the highest is {found[-1][0]:.1f} µs "
             f"({found[-1][1]})." for scenario, found in points.items()]
    return " ".join([*found, "Ignore differences that are smaller than the ranges in parentheses."])


# By name: the title, what is measured, and what the rows teach.
SWEEPS = {
    "size": ("Body size", "The request is `echo`, with 10 in flight.", size_lesson),
    "concurrency": ("Requests in flight", "The request is `/ping`. One worker has 1,000 streams.", lesson_of_ends(
        "in flight", "The more requests are in flight, the more of them share a system call.")),
    "streams": ("Streams of one worker", "The request is `/ping`, with 100 in flight.", lesson_of_ends(
        "worker stream(s)", "If there are fewer streams than requests in flight, the other requests wait in the queue.")),
    "loops": ("Event loops", "The event loops run on one core, or on all cores together with load generator and worker.", loops_lesson),
    "tls": ("TLS", "100 requests are in flight on 10 connections.", tls_lesson),
    "jvm": ("JDKs, garbage collectors and allocators", "100 requests are in flight on 10 connections. The allocators are Netty's.", jvm_lesson),
}


SCENARIOS_TEXT = """Others have published the figures in the last two columns; [below](#who-published-the-figures) are their names. **dispatch** uses workers. **direct** uses
one Lambda invocation for each request, on a stand-in for Lambda on the same machine, not on AWS. Both are measured in one run.

- **c, n** are the requests in flight and in total. **rps** is requests per second.
- **CPU-s per 1,000** is the CPU time in seconds for 1,000 requests: dispatcher + functions.
- Here, all processes share one machine, and environments have no memory or CPU limit. Compare our figures with each other, not with the published ones."""

SCENARIOS_SOURCES = """### Who published the figures

| scenarios | published by | measured there |
| --- | --- | --- |
| `/ping`, images, `/echo` | [lambda-dispatch](https://github.com/pwrdrvr/lambda-dispatch/blob/4615f1e2a40c2478b6a8ed4609da4ba40397d199/PERFORMANCE.md), 8 April 2025 | dispatch: 20 workers of 512 MB (2 for the large body) behind a router with 1 vCPU. direct: 100 Lambdas of 512 MB |
| inference | [TFaaS](https://github.com/vkuznet/TFaaS/blob/b6713ade5a18f99df212393693fb8095f69be3c1/doc/Benchmarks.md), 19 January 2025 | a server for TensorFlow models with 16 cores and 30 GB. It does not use Lambda |
| database puts | [Yan Cui](https://theburningmonk.com/2019/02/lambda-optimization-tip-enable-http-keep-alive/), February 2019 | a Lambda function with DynamoDB, behind API Gateway |
| 200 rps | [Belfrage](https://github.com/bbc/belfrage), a router for web pages of the BBC. No copy of a page with these figures was found | unknown |

The dates are those of the copies that were read on 28 November 2026."""


def scenarios_lesson(rows):
    rated = [row["rps_ratio"] for row in rows if row["rps_ratio"]]
    return f"With workers, the dispatcher serves {min(rated):.2f} to {max(rated):.2f} times as many requests/s. The gain is smallest if the handler waits for something else."


def scenarios_section(results, drawn):
    report, rows = results.newest("scenarios")
    return ["## Published scenarios", SCENARIOS_TEXT, from_line(report), scenarios.tables(report), scenarios_lesson(rows), SCENARIOS_SOURCES] if report else []


def soak_section(results, drawn):
    report, rows = results.newest("soak")
    if report is None:
        return []
    mix = ", ".join(f"{weight} `{name}`" for name, weight in rows[0]["mix"].items())
    text = f"A soak offers a constant rate for a long time. The mix of requests is {mix}. {soak_verdict(rows[0])} {from_line(report)}"
    return ["## Soak", text, *plot(drawn, "soak", "Latency and memory over time"), soak.rows(rows)]


def soak_verdict(row):
    return "; ".join(row["failures"]) if row["failures"] else "No request failed, and memory did not grow."


# What the summary has, in this order.
SUMMARY = (
    targets_summary, proxies_summary, lesson("Many workers", workers_lesson, "workers", "front", "h2"), latency_summary,
    lesson("TLS", tls_lesson, "sweeps", "sweep", "tls"), lesson("Beside one invocation for each request", scenarios_lesson, "scenarios"),
    lesson("Soak", soak_lesson, "soak"))


def jmh_section(results, drawn):
    exchanges, others = [], {}
    for report in results.of("jmh"):
        jdk = f"JDK {feature(report['meta'].get('jdk', '?'))}. {from_line(report)}"
        ours = [row for row in report["results"] if "ExchangeBenchmark" in row["benchmark"]]
        exchanges += [jdk, exchange_table(ours), *exchange_lesson(ours)] if ours else []
        others_of = [{**row, "class": row["benchmark"].split(".")[-2]} for row in report["results"] if row not in ours]
        for owner, rows in by(others_of, "class").items():
            others.setdefault(owner, []).extend([jdk, jmh_table(rows)])
    if not exchanges and not others:
        return []
    single = [part for owner, parts in others.items() for part in (f"#### {JMH_QUESTIONS[owner]}", *parts)]
    return ["## JMH", JMH_TEXT, *(["### How much do base64 and JSON cost?", EXCHANGES, *exchanges] if exchanges else []),
            *(["### Single operations", JMH_COLUMNS, *single] if single else [])]


def feature(jdk):
    """The feature release in what a JVM says of itself."""
    found = re.search(r"(\d+)[.+]", jdk)
    return found.group(1) if found else jdk


JMH_TEXT = "JMH measures parts of the program in one JVM. [benchmarks/README.md](../../benchmarks/README.md#jmh) describes each benchmark and its limits."
JMH_COLUMNS = """**÷ first** compares a row with the first row of the same class and parameters. **±** is half of JMH's confidence interval of 99.9 %, as a value
and as a part of the score. A score whose interval is half as large as itself says little."""
# What each table answers, by the class of the benchmark.
JMH_QUESTIONS = {
    "DataFrameBenchmark": "What does a DATA frame of the worker protocol cost?",
    "HeadBenchmark": "How much cheaper are headers that resemble those of the request before?",
    "DispatchBenchmark": "Does the choice of a worker stream take longer with more streams?",
    "LeastOutstandingBenchmark": "Does finding the least busy worker take longer with more workers?",
    "PendingQueueBenchmark": "Does the queue take longer with more queued requests?",
    "LoopbackBenchmark": "How long does a ping take through client, dispatcher and worker on one machine?",
    "CodecBenchmark": "Which base64 library is the fastest?",
}
EXCHANGES = """A body goes to the function and back, without sockets, and both ends are measured. An event carries the body as JSON with base64, in one of two
formats of AWS. A worker stream carries it in frames, by reference. Cells show µs with their uncertainty of 99.9 %, and the bytes allocated in parentheses."""


def exchanges_of(rows):
    """By size of the body: the rows by event format (`stream` is none), and the time of an ALB event as a ratio to that of a worker stream, or None."""
    found = {}
    for row in rows:
        found.setdefault(int(row["params"]["bodyBytes"]), {})[row["params"].get("shape", "stream")] = row
    return {size: (same, same["ALB"]["score"] / same["stream"]["score"] if {"ALB", "stream"} <= same.keys() else None) for size, same in sorted(found.items())}


def exchange_lesson(rows):
    ratios = [(size, ratio) for size, (_, ratio) in exchanges_of(rows).items() if ratio]
    if not ratios:
        return []
    (small, low), (large, high) = ratios[0], ratios[-1]
    return [f"An ALB event takes {low:,.1f} times as long as a worker stream with {small:,} bytes, and {high:,.1f} times as long with {large:,} bytes."]


def exchange_table(rows):
    """A row for each size of body, with both event formats and the worker stream."""
    return table("body bytes | event, ALB | event, HTTP API v2 | worker stream | ALB ÷ worker stream", [
        [f"{size:,}", *(exchange_cell(found.get(column)) for column in ("ALB", "HTTP_API_V2", "stream")), f"**{ratio:,.1f}**" if ratio else "–"]
        for size, (found, ratio) in exchanges_of(rows).items()])


def exchange_cell(row):
    if not row:
        return "–"
    share = spread(row)
    return f"{row['score'] / 1000:,.1f}{'' if share is None else f' ± {share:.0%}'} ({row['allocated_bytes']:,.0f})"


def spread(row):
    """The uncertainty of a score as a part of it; None if it is not known."""
    error = row.get("error")
    return error / row["score"] if isinstance(error, (int, float)) and error == error and row["score"] else None


def jmh_table(rows):
    """Rows in their order. The ratio compares each row with the first row of its kind."""
    cells, first = [], {}
    for row in rows:
        owner, _, method = row["benchmark"].rpartition(".")
        short = f"{owner.rpartition('.')[2]}.{method}"
        parameters = ", ".join(f"{key} {value}" for key, value in (row.get("params") or {}).items())
        base = first.setdefault((owner, parameters, row["unit"]), row)
        ratio = f"{row['score'] / base['score']:.2f}" if base["score"] else "–"
        allocated = row.get("allocated_bytes")
        cells.append([short, parameters or "–", ratio, f"{row['score']:,.1f}", uncertainty(row), row["unit"],
                      "–" if allocated is None else f"{allocated:,.0f}"])
    return table("benchmark | parameters | ÷ first | score | ± | unit | B/op", cells)


def uncertainty(row):
    return "–" if spread(row) is None else f"{row['error']:,.1f} ({spread(row):.0%})"


def runs_section(results):
    metas = [report["meta"] for report in results.reports]
    machines = {f"{meta['cpu']}, {meta['cores']} cores, Linux {meta['kernel']}" for meta in metas}
    drivers, cells = {}, []
    for report in sorted(results.reports, key=lambda report: report["file"]):
        meta, file = report["meta"], report["file"]
        drivers.setdefault(" ".join(meta.get("flags", [])) or "–", set()).add(re.match(r"\w+", file).group())
        cells.append([
            f"[{file}]({file})", meta["taken"][:16].replace("T", " "), f"{meta['commit'][:12]}{' with changes' if meta['dirty'] else ''}",
            re.sub(r".*?(\d+\.[^ )]*).*", r"\1", meta["jdk"]), f"`{meta['command']}`"])
    flags = [f"- JVM flags for {', '.join(sorted(names))}: `{found}`" for found, names in sorted(drivers.items())]
    return ["## Runs", f"Machine: {'; '.join(sorted(machines))}.", "\n".join(flags), table("results | measured, UTC | commit | JDK | command", cells)]


def draw_all(results):
    """@return the kinds of plots that now exist"""
    drawn = set()
    for kind, (name, key, value) in plots.SOURCES.items():
        rows = results.proxies() if name == "proxies" else results.newest(name, key, value)[1]
        if any(row["latency"] for row in rows) if kind == "latency" else rows:
            drawn |= {kind} if plots.draw(kind, rows, results.directory / f"{kind}.png") else set()
    return drawn


def write(directory):
    """Writes the plots and the page. @return the results and the page"""
    results = Results(directory)
    if not results.reports:
        raise Failure(f"no results in {directory}")
    text = page(results, draw_all(results))
    (results.directory / "results.md").write_text(text)
    progress(f"wrote {results.directory / 'results.md'}")
    return results, text


def write_documents():
    """Writes the page, and the charts that other documents show."""
    remember(Results(RESULTS))
    results, _ = write(RESULTS)
    for name, drawing in drawings(results).items():
        (IMAGES / name).write_text(drawing)


def drawings(results):
    drawn = {"speed.svg": charts.speed(results.proxies()), "cost.svg": charts.cost()}
    _, rows = results.newest("workers", "front", "h2")
    return {**drawn, "workers.svg": charts.workers(rows)} if rows else drawn


# Runs


def run(driver, directory, *more, may_fail=False):
    command = [sys.executable, "-B", str(HERE / f"{driver}.py"), "--json", str(directory / f"{driver}.json"), *more]
    progress(" ".join(command[2:]))
    with subprocess.Popen(command, cwd=ROOT) as child:
        try:
            code = child.wait()
        finally:
            # If this script is ended, the driver ends what it has started.
            child.terminate()
    if code != 0 and not may_fail:
        raise Failure(f"{driver} ended with exit code {code}")


def everything(options):
    for driver in options.only:
        if driver != "soak":
            run(driver, RESULTS)
    if options.soak:
        # The result of a failed soak is shown, too.
        run("soak", RESULTS, "--minutes", str(options.soak), may_fail=True)
    write_documents()


def smoke(only):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="performance-"))
    ran = []
    for driver in only:
        missing = [name for name in DRIVERS[driver].programs.split() if tool(name) is None]
        if missing:
            progress(f"{driver} left out: no {', '.join(missing)}")
        else:
            run(driver, directory, *DRIVERS[driver].arguments.split())
            ran.append(driver)
    _, text = write(directory)
    lost = [driver for driver in ran if DRIVERS[driver].heading not in text]
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
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        options.only = some_of("only", options.only, DRIVERS)
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
