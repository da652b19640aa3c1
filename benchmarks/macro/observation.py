#!/usr/bin/env -S python3 -B
"""Measures what observation costs the dispatcher: the live page while someone looks at it, and traces.

    benchmarks/macro/observation.py                   about 25 minutes
    benchmarks/macro/observation.py --only page --workers 500 --requests 10000

The dispatcher has one event loop and core 0, also for all its other threads. The workers and the load generator share core 1. Each pair is two
loads with `/ping`, one with observation and one without, in alternating order. It reports the ratio of CPU time per request: the mean of all
pairs, with its 95 % interval.

- page: in one dispatcher with 500 workers and 10,000 requests in progress, one client reads /events, which is what the page in a browser does.
- traces: in one dispatcher, 1 % or all of the requests are traced, or none. The spans go to a collector that discards them. The load has 10,000
  requests per second, because a batch exporter drops spans at maximum load. Several starts, because each JVM compiles different code.
"""

import os
import signal
import time

import machine
from contenders import Crowd, LambdaDispatcher
from driver import Driver
from load import LOAD_CORE, PING, Shape
from measure import await_answers, measure, warm
from pairs import alternate, compare, rows
from processes import Failure, Process, await_that, free_port, metrics, progress, stand_in, tool

TRACE_RATE = 10_000
# The exporter sends spans at least every 5 s.
EXPORT_SECONDS = 6


class Observation(Driver):
    names = ("page", "traces")
    tools = ("h2load", "taskset", "curl")
    defaults = {
        "pairs": 10, "processes": 6, "seconds": 4.0, "warm_up": 20.0, "jvm_flags": machine.DISPATCHER_FLAGS,
        "workers": (500, "workers of the page"), "requests": (10_000, "requests in progress, a multiple of 100")}
    quick = {"processes": 1, "pairs": 2, "seconds": 0.5, "warm_up": 0.5}

    def execute(self):
        machine.build()
        self.results = {}
        if "page" in self.options.only:
            self.page()
        if "traces" in self.options.only:
            for ratio in ("0.01", "1"):
                self.traces(ratio)

    def show(self, report):
        print("\n" + rows("observation", "without", "with", report["results"]))

    def page(self):
        options = self.options
        dispatcher = Crowd(self, "page")
        dispatcher.count = options.workers
        admin = free_port()
        dispatcher.flags["admin-port"] = admin
        # All clients have one address here.
        dispatcher.flags["http-max-connections"] = "10000 per-address 10000"
        progress(f"starting {options.workers} workers")
        dispatcher.start(self)
        # Requests that get no response, 100 on each connection.
        command = [tool("h2load"), "-c", options.requests // 100, "-m", 100, "-n", options.requests, f"http://127.0.0.1:{dispatcher.port}/hold"]
        held = Process("held", command, LOAD_CORE, self.directory)
        try:
            await_that(lambda: in_progress(admin) >= options.requests, 60, f"{options.requests} requests in progress")
            # With a viewer, so that the code of the page is compiled.
            requests = self.with_viewer(admin, lambda: warm(dispatcher, PING, self.directory, options.warm_up, options.seconds))
            progress("measuring the page")
            load = lambda: measure(dispatcher, PING, requests, self.directory)
            samples = alternate(options.pairs, load, lambda: self.with_viewer(admin, load))
            held.check()
            self.results["page"] = compare(samples)
        finally:
            held.stop()
            dispatcher.stop()

    def with_viewer(self, admin, action):
        """Runs the action while a client reads the events, and checks that it has received some."""
        received = self.directory / "events"
        received.unlink(missing_ok=True)
        viewer = Process("viewer", [tool("curl"), "-sN", "-o", received, f"http://127.0.0.1:{admin}/events"], None, self.directory)
        try:
            found = action()
            viewer.check()
        finally:
            viewer.stop()
        if not received.exists() or not received.stat().st_size:
            raise Failure("the viewer has received no event")
        return found

    def traces(self, ratio):
        options = self.options
        samples, exports = [], []

        def collect(*request):
            exports.append(len(request[-1]))
            return 200, b""

        with stand_in(collect) as port:
            for number in range(options.processes):
                dispatcher = LambdaDispatcher(self, f"traces-{ratio}-{number}")
                settings = self.directory / f"{dispatcher.name}.yaml"
                settings.write_text(f"tracing.ratio: {ratio}\n")
                dispatcher.flags.update({"config": settings, "tracing-endpoint": f"http://127.0.0.1:{port}/v1/traces"})
                dispatcher.start(self)
                await_answers(dispatcher, PING, self.directory)
                warm(dispatcher, PING, self.directory, options.warm_up, options.seconds)
                progress(f"measuring traces of {float(ratio):.0%} of the requests, process {number + 1} of {options.processes}")
                shape, requests = Shape(rate=TRACE_RATE), int(TRACE_RATE * options.seconds)

                def load(part):
                    reload(dispatcher, settings, f"tracing.ratio: {part}\n")
                    return measure(dispatcher, PING, requests, self.directory, shape)

                samples += alternate(options.pairs, lambda: load("0"), lambda: load(ratio))
                dispatcher.stop()
        if not exports:
            raise Failure("the collector received nothing")
        self.results[f"traces {float(ratio):.0%}"] = {**compare(samples, options.processes), "exports": len(exports)}


def reload(dispatcher, settings, text):
    """Puts new settings in force, and waits until the spans of earlier requests have been sent."""
    if settings.read_text() != text:
        before = dispatcher.process.log.read_text().count("In force now")
        settings.write_text(text)
        os.kill(dispatcher.process.pid, signal.SIGHUP)
        await_that(lambda: dispatcher.process.log.read_text().count("In force now") > before, 20, f"a reload of {settings}", dispatcher.process)
        time.sleep(EXPORT_SECONDS)


def in_progress(admin):
    """The number of busy worker streams."""
    found = {name: value for name, _, value in metrics(admin)}
    return found.get("lambda_dispatcher_worker_streams", 0) - found.get("lambda_dispatcher_worker_streams_free", 0)


if __name__ == "__main__":
    Observation.main()
