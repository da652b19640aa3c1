#!/usr/bin/env python3
"""Measures the dispatcher while one condition changes: body size, concurrent requests, streams, event loops, TLS, JVM.

    benchmarks/macro/sweeps.py                       all sweeps, about a quarter of an hour
    benchmarks/macro/sweeps.py --only size,tls --quick

The dispatcher has core 0 and one event loop, except in the sweep of event loops. h2load and the workers share core 1. If the points of a
sweep need separate dispatchers, all are started first, and the rounds alternate between them. `--quick` only checks that everything
works.
"""

import argparse
import collections
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import machine  # noqa: E402
import processes  # noqa: E402
from contenders import LambdaDispatcher  # noqa: E402
from load import IMAGE, IMAGE_BYTES, LARGE_BYTES, LOAD_CORE, PING, PROXY_CORE, echo_of  # noqa: E402
from machine import progress  # noqa: E402
from measure import Shape, await_answers, measure, summary, warm  # noqa: E402
from processes import Failure, Process  # noqa: E402

SIZES = (0, 4, 1 << 10, 16 << 10, IMAGE_BYTES, 1 << 20, LARGE_BYTES, 64 << 20)
COUNTS = (1, 3, 10, 30, 100, 300, 1000)
STREAMS_PER_WORKER = (1, 3, 10, 30, 100, 300, 1000)
COLLECTORS = {"Serial": "-XX:+UseSerialGC", "G1": "-XX:+UseG1GC", "Parallel": "-XX:+UseParallelGC", "ZGC": "-XX:+UseZGC"}
ALLOCATORS = ("adaptive", "pooled")
RELEASES = (17, 25)


class Sweeps:
    def __init__(self, options):
        self.options = options
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sweeps-"))
        self.java = machine.java_of(options.jdk)
        self.results = []

    def flags(self, java, more=()):
        return machine.jvm_flags(java, [*self.options.jvm_flags.split(), *more])

    def dispatcher(self, name, shape=(1, 100), java=None, more_flags=(), kind=LambdaDispatcher):
        java = java or self.java
        return kind(java, self.flags(java, more_flags), self.options.worker_flags.split(), shape, name)

    def some(self, points):
        """All points; with --quick only the first and the last."""
        return (points[0], points[-1]) if self.options.quick else points

    def start(self, dispatcher, scenario=PING, shape=Shape()):
        dispatcher.start(self)
        await_answers(dispatcher, scenario, self.directory, shape)
        return dispatcher

    def point(self, sweep, point, dispatcher, scenario, shape=Shape(), warm_seconds=None):
        """Warms up, then measures. Used if the points share a dispatcher."""
        options = self.options
        await_answers(dispatcher, scenario, self.directory, shape)
        requests = warm(
            dispatcher, scenario, self.directory, options.warm_up if warm_seconds is None else warm_seconds, options.seconds, shape)
        samples = [measure(dispatcher, scenario, requests, self.directory, shape) for _ in range(options.rounds)]
        self.add(sweep, point, dispatcher, scenario, shape, samples)

    def alternating(self, sweep, points, scenarios, shapes=None):
        """Measures points that have separate dispatchers, by title. Warms all of them up first, then measures round by round."""
        options, shapes = self.options, shapes or {}
        requests, samples = {}, collections.defaultdict(list)
        for title, dispatcher in points.items():
            for scenario in scenarios:
                shape = shapes.get(title, Shape())
                await_answers(dispatcher, scenario, self.directory, shape)
                requests[title, scenario] = warm(
                    dispatcher, scenario, self.directory, options.jvm_warm_up, options.seconds, shape)
        for _ in range(options.rounds):
            for scenario in scenarios:
                for title, dispatcher in points.items():
                    samples[title, scenario].append(
                        measure(dispatcher, scenario, requests[title, scenario], self.directory, shapes.get(title, Shape())))
        for (title, scenario), found in samples.items():
            self.add(sweep, title, points[title], scenario, shapes.get(title, Shape()), found)
        for dispatcher in points.values():
            dispatcher.stop()

    def add(self, sweep, point, dispatcher, scenario, shape, samples):
        found = {
            "sweep": sweep,
            "point": point,
            "scenario": scenario.name,
            "bytes": scenario.size,
            "connections": shape.connections,
            "streams": shape.streams,
            "rss_mib": dispatcher.rss_mib(),
            **summary(samples),
        }
        self.results.append(found)
        progress(f"{sweep} {point}, {scenario.name}: {found['cpu_micros']:.1f} µs, {found['requests_per_second']:,.0f} requests/s, "
                 f"p99 {found['p99_millis']:.1f} ms, {found['rss_mib']:.0f} MiB, {found['errors']} errors")

    def warmed(self, name, shape=(1, 100), scenario=PING):
        dispatcher = self.start(self.dispatcher(name, shape))
        warm(dispatcher, scenario, self.directory, self.options.jvm_warm_up, self.options.seconds)
        return dispatcher

    def size(self):
        """Echoes bodies of several sizes, ten concurrently. Each byte passes the dispatcher twice."""
        dispatcher = self.warmed("size", scenario=echo_of(IMAGE_BYTES))
        for size in self.some(SIZES):
            self.point("size", size, dispatcher, echo_of(size), Shape(10, 1))
        dispatcher.stop()

    def concurrency(self):
        dispatcher = self.warmed("concurrency", (1, 1000))
        for count in self.some(COUNTS):
            connections = min(10, count)
            self.point("concurrency", count, dispatcher, PING, Shape(connections, count // connections))
        dispatcher.stop()

    def streams(self):
        """One worker with this number of streams, and a hundred concurrent requests. With fewer streams, requests wait."""
        dispatcher = self.warmed("streams")
        for count in self.some(STREAMS_PER_WORKER):
            dispatcher.worker.stop()
            dispatcher.worker_shape = (1, count)
            dispatcher.worker = dispatcher.start_worker(self)
            self.point("streams", count, dispatcher, PING, warm_seconds=self.options.worker_warm_up)
        dispatcher.stop()

    def loops(self):
        """
        The worker always has two connections, so that each of two loops has one. Measured on core 0, and on all cores together with load
        and worker.
        """
        points = {}
        for where, core in (("core 0", PROXY_CORE), ("all cores", None)):
            for count in (1, 2):
                dispatcher = self.dispatcher(f"loops-{count}-{where.replace(' ', '-')}", (2, 50))
                dispatcher.flags["event-loops"] = count
                dispatcher.core = core
                points[f"{count} on {where}"] = self.start(dispatcher)
        self.alternating("loops", points, [PING, IMAGE])

    def tls(self):
        certificate, key = machine.certificate(self.directory)
        plain = self.start(self.dispatcher("plain"))
        secured = self.dispatcher("tls")
        secured.flags.update({
            "public-plain-port": "off", "public-tls-host": "127.0.0.1", "public-tls-port": secured.port,
            "public-tls-certificate": certificate, "public-tls-key": key})
        both = self.dispatcher("tls-both", kind=Secured)
        both.certificate = certificate
        both.worker_tls = True
        both.flags.update({**secured.flags, "public-tls-port": both.port, "workers-tls-certificate": certificate, "workers-tls-key": key})
        over_tls = Shape(tls=True)
        points = {"plain": plain, "TLS to clients": self.start(secured, shape=over_tls), "TLS to workers, too": self.start(both, shape=over_tls)}
        self.alternating("tls", points, [PING, IMAGE], {name: over_tls for name in points if name != "plain"})

    def jvm(self):
        """Compares JDKs with several collectors, and with several allocators and the default collector."""
        variants = {}
        for release in RELEASES:
            home = machine.jdk_home(release)
            if home is None:
                progress(f"no JDK {release} found: left out")
                continue
            java = machine.java_of(home)
            for name, flag in COLLECTORS.items():
                variants[f"JDK {release}, {name}"] = (java, [flag])
            for name in ALLOCATORS:
                variants[f"JDK {release}, {name} allocator"] = (java, [f"-Dio.netty.allocator.type={name}"])
        points = {}
        for title, (java, flags) in variants.items():
            name = title.lower().replace(", ", "-").replace(" ", "-")
            points[title] = self.start(self.dispatcher(name, java=java, more_flags=flags))
        self.alternating("jvm", points, [PING, IMAGE])

    def execute(self, names):
        machine.build()
        for name in names:
            started = time.monotonic()
            progress(f"{name} begins")
            getattr(self, name)()
            progress(f"{name} took {time.monotonic() - started:.0f} s")
        return {
            "meta": machine.meta(
                self.java, self.flags(self.java), rounds=self.options.rounds, seconds=self.options.seconds,
                worker_flags=self.options.worker_flags.split()),
            "results": self.results,
        }


class Secured(LambdaDispatcher):
    """A dispatcher with TLS on the worker port."""

    certificate = None

    def worker_environment(self):
        return {**super().worker_environment(), "LAMBDA_DISPATCHER_TLS_TRUST_PEM": str(self.certificate)}


NAMES = ("size", "concurrency", "streams", "loops", "tls", "jvm")


def print_report(report):
    for sweep in dict.fromkeys(result["sweep"] for result in report["results"]):
        print("\n" + table(sweep, [result for result in report["results"] if result["sweep"] == sweep]))


def table(sweep, results):
    """Rows with the CPU time as a ratio to the first point with the same request. If body sizes differ, also the ratio per byte."""
    first = {}
    lines = [
        f"| {sweep} | request | CPU ÷ first | CPU µs/request (low–high) | req/s | MB/s | p50 ms | p99 ms | RSS MiB | allocated/request | errors |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        base = first.setdefault("echo" if sweep == "size" else result["scenario"], result)
        megabytes = result["requests_per_second"] * result["bytes"] / 1e6
        point = f"{result['point']:,}" if isinstance(result["point"], int) else result["point"]
        lines.append(
            f"| {point} | {result['scenario'].partition('-')[0]} | {result['cpu_micros'] / base['cpu_micros']:.2f} "
            f"| {result['cpu_micros']:,.1f} ({result['cpu_micros_lowest']:,.1f}–{result['cpu_micros_highest']:,.1f}) "
            f"| {result['requests_per_second']:,.0f} | {megabytes:,.0f} | {result['p50_millis']:.2f} | {result['p99_millis']:.2f} "
            f"| {result['rss_mib']:,.0f} | {result['allocated_bytes']:,.0f} B | {result['errors']} |")
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"runs some of {','.join(NAMES)}")
    parser.add_argument(
        "--quick", action="store_true", help="runs one short round of the first and the last points, to check that everything works")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of one measurement, by default %(default)g")
    parser.add_argument("--warm-up", type=float, default=1, metavar="SECONDS", help="warm-up before each point on a warm dispatcher")
    parser.add_argument("--worker-warm-up", type=float, default=4, metavar="SECONDS", help="warm-up if the worker is new")
    parser.add_argument(
        "--jvm-warm-up", type=float, default=8, metavar="SECONDS", help="warm-up if the dispatcher is new, for each kind of request")
    parser.add_argument(
        "--jdk", metavar="PATH", help="JDK that runs everything; by default JAVA_HOME, then the PATH; the sweep jvm uses other JDKs, too")
    parser.add_argument("--jvm-flags", default=machine.DISPATCHER_FLAGS, help="JVM flags of the dispatcher")
    parser.add_argument("--worker-flags", default="-Xmx512m -XX:+UseSerialGC", help="JVM flags of the workers")
    parser.add_argument("--json", metavar="FILE", help="file for the results, by default benchmarks/target/sweeps-<time>.json")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds, options.warm_up, options.worker_warm_up, options.jvm_warm_up = 1, 0.3, 0.1, 0.5, 0.5
    return options


def chosen(only):
    names = only.split(",") if only else NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise Failure(f"--only {','.join(unknown)}: expected some of {','.join(NAMES)}")
    return [name for name in NAMES if name in names]


def main():
    options = arguments()
    processes.end_children_with_the_script()
    try:
        names = chosen(options.only)
        processes.need("h2load", "taskset")
        sweeps = Sweeps(options)
        report = sweeps.execute(names)
    except Failure as failure:
        sys.exit(f"sweeps: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        processes.stop_all()
    print_report(report)
    machine.write_json(report, options.json, "sweeps")
    shutil.rmtree(sweeps.directory)


if __name__ == "__main__":
    main()
