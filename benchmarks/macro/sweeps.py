#!/usr/bin/env -S python3 -B
"""Measures the dispatcher while one condition changes: body size, concurrent requests, streams, event loops, TLS, JVM.

    benchmarks/macro/sweeps.py                       all sweeps, about a quarter of an hour
    benchmarks/macro/sweeps.py --only size,tls --quick

The dispatcher has core 0 and one event loop, except in the sweep of event loops. h2load and the workers share core 1. If the points of a
sweep need separate dispatchers, all are started first, and the rounds alternate between them. `--quick` only checks that everything
works.
"""

import time

import machine
from contenders import LambdaDispatcher
from driver import Driver, by, table
from load import IMAGE, IMAGE_BYTES, LARGE_BYTES, PING, PROXY_CORE, Shape, echo_of
from measure import Rounds, await_answers, cpu, summary, warm
from processes import progress

SIZES = (0, 4, 1 << 10, 16 << 10, IMAGE_BYTES, 1 << 20, LARGE_BYTES, 64 << 20)
COUNTS = (1, 3, 10, 30, 100, 300, 1000)
COLLECTORS = {"Serial": "-XX:+UseSerialGC", "G1": "-XX:+UseG1GC", "Parallel": "-XX:+UseParallelGC", "ZGC": "-XX:+UseZGC"}
ALLOCATORS = ("adaptive", "pooled")
RELEASES = (17, 25)


class Sweeps(Driver):
    names = ("size", "concurrency", "streams", "loops", "tls", "jvm")
    defaults = {
        "rounds": 3, "seconds": 1.5, "warm_up": 1.0, "worker_warm_up": 4.0, "jvm_warm_up": 8.0,
        "jvm_flags": machine.DISPATCHER_FLAGS, "worker_flags": "-Xmx512m -XX:+UseSerialGC"}
    quick = {"rounds": 1, "seconds": 0.3, "warm_up": 0.1, "worker_warm_up": 0.5, "jvm_warm_up": 0.5}

    def some(self, points):
        """All points; with --quick only the first and the last."""
        return (points[0], points[-1]) if self.options.quick else points

    def start(self, dispatcher, scenario=PING):
        dispatcher.start(self)
        await_answers(dispatcher, scenario, self.directory)
        return dispatcher

    def point(self, sweep, point, dispatcher, scenario, shape=Shape(), warm_seconds=None):
        """Measures a point that shares its dispatcher with others."""
        dispatcher.shape = shape
        self.measure(sweep, {point: dispatcher}, [scenario], self.options.warm_up if warm_seconds is None else warm_seconds)

    def alternating(self, sweep, points, scenarios):
        """Measures points that have separate dispatchers, by title."""
        self.measure(sweep, points, scenarios, self.options.jvm_warm_up)
        for dispatcher in points.values():
            dispatcher.stop()

    def measure(self, sweep, points, scenarios, warm_seconds):
        rounds = Rounds(self.directory, points.values(), scenarios)
        rounds.warm_up(lambda _: warm_seconds, self.options.seconds)
        rounds.run(self.options.rounds)
        for scenario in scenarios:
            for point, dispatcher in points.items():
                found = {
                    "sweep": sweep, "point": point, "scenario": scenario.name, "bytes": scenario.size, "connections": dispatcher.shape.connections,
                    "streams": dispatcher.shape.streams, "rss_mib": dispatcher.process.rss_mib(), **summary(rounds.samples[dispatcher, scenario])}
                self.results.append(found)
                progress(f"{sweep} {point}, {scenario.name}: {found['cpu_micros']:.1f} µs, {found['requests_per_second']:,.0f} requests/s, "
                         f"p99 {found['p99_millis']:.1f} ms, {found['rss_mib']:.0f} MiB, {found['errors']} errors")

    def warmed(self, name, shape=(1, 100), scenario=PING):
        dispatcher = self.start(LambdaDispatcher(self, name, shape))
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
        for count in self.some(COUNTS):
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
                dispatcher = LambdaDispatcher(self, f"loops-{count}-{where.replace(' ', '-')}", (2, 50))
                dispatcher.flags["event-loops"] = count
                dispatcher.core = core
                points[f"{count} on {where}"] = self.start(dispatcher)
        self.alternating("loops", points, [PING, IMAGE])

    def tls(self):
        certificate, key = machine.certificate(self.directory)
        plain = self.start(LambdaDispatcher(self, "plain"))
        secured, both = LambdaDispatcher(self, "tls"), LambdaDispatcher(self, "tls-both")
        for each in (secured, both):
            each.secure(certificate, key)
        both.worker_tls = True
        both.flags.update({"workers-tls-certificate": certificate, "workers-tls-key": key})
        both.worker_settings["TLS_TRUST_PEM"] = certificate
        self.alternating("tls", {"plain": plain, "TLS to clients": self.start(secured), "TLS to workers, too": self.start(both)}, [PING, IMAGE])

    def jvm(self):
        """Compares JDKs with several collectors, and with several allocators and the default collector."""
        points = {}
        flags = {**COLLECTORS, **{f"{name} allocator": f"-Dio.netty.allocator.type={name}" for name in ALLOCATORS}}
        for release in RELEASES:
            home = machine.jdk_home(release)
            if home is None:
                progress(f"no JDK {release} found: left out")
                continue
            for name, flag in flags.items():
                title = f"JDK {release}, {name}"
                variant = title.lower().replace(", ", "-").replace(" ", "-")
                points[title] = self.start(LambdaDispatcher(self, variant, java=machine.java_of(home), more_flags=[flag]))
        self.alternating("jvm", points, [PING, IMAGE])

    def execute(self):
        machine.build()
        for name in self.options.only:
            started = time.monotonic()
            progress(f"{name} begins")
            getattr(self, name)()
            progress(f"{name} took {time.monotonic() - started:.0f} s")

    def show(self, report):
        for sweep, results in by(report["results"], "sweep").items():
            print("\n" + rows(sweep, results))


def rows(sweep, results):
    """Rows with the CPU time as a ratio to the first point with the same request. If body sizes differ, also the ratio per byte."""
    first, request = {}, lambda result: "echo" if sweep == "size" else result["scenario"]
    for result in results:
        first.setdefault(request(result), result)
    head = f"{sweep} | request | CPU ÷ first | CPU µs/request (low–high) | req/s | MB/s | p50 ms | p99 ms | RSS MiB | allocated/request | errors"
    return table(head, [
        [
            f"{result['point']:,}" if isinstance(result["point"], int) else result["point"], result["scenario"].partition("-")[0],
            f"{result['cpu_micros'] / first[request(result)]['cpu_micros']:.2f}", cpu(result, ",.1f"),
            f"{result['requests_per_second']:,.0f}", f"{result['requests_per_second'] * result['bytes'] / 1e6:,.0f}",
            f"{result['p50_millis']:.2f}", f"{result['p99_millis']:.2f}",
            f"{result['rss_mib']:,.0f}", f"{result['allocated_bytes']:,.0f} B", result["errors"],
        ] for result in results])


if __name__ == "__main__":
    Sweeps.main()
