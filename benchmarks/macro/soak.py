#!/usr/bin/env -S python3 -B
"""Runs a long load on the dispatcher at a share of its maximum. Checks memory, latency, and that every request is answered.

    benchmarks/macro/soak.py --minutes 60 --load 0.6
    benchmarks/macro/soak.py --minutes 2 --rate 500 --nice 10

First measures the maximum rate, then offers a share of it at a constant rate: pings, images and echoes of images, 8 : 1 : 1. The
dispatcher has core 0; its worker and the load generator share core 1. Latency counts from when a request should have started.

The exit code is 1 if a request failed or if the rate was not kept. It is also 1 if the memory in use of the dispatcher or the worker was
more than 10 % (--growth) higher in the last third than in the second third.
"""

import itertools
import os
import statistics
import time

import machine
import plots
from contenders import LambdaDispatcher, heap_used_mib
from driver import Driver, table
from load import ECHO, IMAGE, PING, ConstantRate
from processes import Failure, await_that, progress, sampled

MIX = {PING: 8, IMAGE: 1, ECHO: 1}
RATE_KEPT = 0.99
HEAP_EVERY = 6  # samples of the resident memory


class Soak(Driver):
    tools = ("taskset",)
    defaults = {
        "warm_up": 15.0, "jvm_flags": machine.DISPATCHER_FLAGS, "worker_flags": "-Xmx256m -XX:+UseSerialGC",
        "minutes": (60.0, "length of the soak"),
        "load": (0.6, "share of the maximum rate that is offered"),
        "rate": (float, "requests per second, instead of a share of the maximum"),
        "nice": (0, "priority of all processes, as for nice(1)"),
        "growth": (0.1, "allowed growth of memory"),
        "peak_seconds": (10.0, "measures the maximum for this time")}
    quick = {"minutes": 0.1, "load": 0.2, "warm_up": 2.0, "peak_seconds": 1.0, "growth": 10.0}

    @classmethod
    def verify(cls, options):
        if options.minutes <= 0 or options.load <= 0:
            raise Failure("--minutes and --load: expected more than 0")
        os.nice(options.nice)  # Child processes inherit it.

    def execute(self):
        options = self.options
        self.windows = []
        machine.build()
        dispatcher = LambdaDispatcher(self)
        dispatcher.start(self)
        generator = ConstantRate(self.java, self.directory)
        progress(f"warming up for {options.warm_up:g} s")
        first = self.answered(generator, dispatcher, options.warm_up)
        progress(f"measuring the peak for {options.peak_seconds:g} s; {first['rate']:,.0f} requests/s while warming up")
        peak = self.answered(generator, dispatcher, options.peak_seconds)["rate"]
        rate = options.rate or peak * options.load
        progress(f"peak {peak:,.0f} requests/s; {rate:,.0f} for {options.minutes:g} minutes")
        window, started, numbers = min(10, options.minutes * 2), time.monotonic(), itertools.count()
        before = dispatcher.process.cpu()
        with sampled(window, lambda: memory_of(dispatcher, started, next(numbers) % HEAP_EVERY == 0)) as memory:
            total = generator.run(dispatcher.port, MIX, rate, options.minutes * 60, warm=0, window=window, on_window=self.on_window)
        spent = dispatcher.process.cpu().since(before).seconds()
        dispatcher.process.check()
        dispatcher.worker.check()
        result = {
            "name": "soak", "minutes": options.minutes, "mix": {scenario.name: weight for scenario, weight in MIX.items()},
            "peak_rate": peak, "offered_rate": rate, "total": total, "core_share": spent / (options.minutes * 60),
            "cpu_micros": spent * 1e6 / max(1, total["answered"]), "windows": columns(self.windows, ("at", "p50", "p99", "max")),
            "memory": columns(memory, ("at", "dispatcher_mib", "worker_mib", "heap_mib"))}
        result["growth"] = {name: growth([sample[name] for sample in memory]) for name in ("dispatcher_mib", "worker_mib")}
        result["failures"] = list(failures(result, options.growth))
        return [result]

    def meta(self):
        return {"nice": os.nice(0)}

    def answered(self, generator, dispatcher, seconds):
        """Runs as much load as the streams carry, until none fails. The worker connects while the first requests wait."""
        found = []

        def is_answered():
            found.append(generator.run(dispatcher.port, MIX, 0, seconds, warm=0))
            return found[-1]["errors"] == 0

        await_that(is_answered, 120, "all requests to be answered before the soak begins", dispatcher.process)
        return found[-1]

    def on_window(self, window):
        latency = window["latency_millis"]
        self.windows.append({"at": window["at"], **latency})
        if len(self.windows) % 6 == 1 or window["errors"]:
            progress(f"{window['at']:,.0f} s: {window['rate']:,.0f} requests/s, p50 {latency['p50']:.2f}, "
                     f"p99 {latency['p99']:.2f}, max {latency['max']:.1f} ms, {window['errors']} errors")

    def show(self, report):
        print(rows(report["results"]))
        print("failed: " + "; ".join(report["results"][0]["failures"]) if report["results"][0]["failures"] else "passed")
        plots.draw("soak", report["results"], self.file.with_suffix(".png"))

    def failures(self, report):
        return report["results"][0]["failures"]


def rows(results):
    head = ("minutes | share of peak rate | requests/s | answered | failed | p50, p99, p99.9, max ms "
            "| RSS in the last third ÷ second third: dispatcher, worker")
    return table(head, [
        [f"{result['minutes']:g}", f"{result['offered_rate'] / result['peak_rate']:.0%}", f"{result['offered_rate']:,.0f}",
         f"{total['answered']:,}", total["errors"],
         f"{latency['p50']:.2f}, {latency['p99']:.2f}, {latency['p99.9']:.2f}, {latency['max']:.1f}",
         ", ".join("–" if ratio is None else f"{ratio:.3f}" for ratio in result["growth"].values())]
        for result in results for total in [result["total"]] for latency in [total["latency_millis"]]])


def memory_of(dispatcher, started, with_heap):
    sample = {"at": round(time.monotonic() - started, 1), "dispatcher_mib": dispatcher.process.rss_mib(), "worker_mib": dispatcher.worker.rss_mib()}
    try:
        return {**sample, "heap_mib": heap_used_mib(dispatcher.java, dispatcher.process.pid)} if with_heap else sample
    except Failure as failure:
        progress(f"no heap figure: {failure}")
        return sample


def columns(rows, names):
    """The values of each name in the order of the rows, with None for a row that has no such value."""
    return {name: [row.get(name) for row in rows] for name in names}


def growth(samples):
    """The ratio of the last third's median to the second third's. Medians hide single high samples. None if there are too few."""
    third = len(samples) // 3
    if third == 0:
        return None
    return statistics.median(samples[-third:]) / statistics.median(samples[third : len(samples) - third])


def failures(result, growth_allowed):
    """The reasons why the soak has failed; empty if it has passed."""
    total = result["total"]
    if total["errors"]:
        yield f"{total['errors']} of {total['answered'] + total['errors']} requests failed"
    if total["rate"] < RATE_KEPT * result["offered_rate"]:
        yield f"{total['rate']:.0f} requests/s were answered of {result['offered_rate']:.0f} offered"
    for name, ratio in result["growth"].items():
        if ratio is not None and ratio > 1 + growth_allowed:
            yield f"{name}: the last third is {ratio:.2f} times the second"


if __name__ == "__main__":
    Soak.main()
