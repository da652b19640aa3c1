#!/usr/bin/env python3
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

import argparse
import http.client
import http.server
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import machine  # noqa: E402
import processes  # noqa: E402
from contenders import Crowd, LambdaDispatcher  # noqa: E402
from load import LOAD_CORE, PING  # noqa: E402
from machine import progress  # noqa: E402
from measure import Shape, await_answers, measure, warm  # noqa: E402
from pairs import alternate, compare, table  # noqa: E402
from processes import Failure, free_port, pinned, tool  # noqa: E402

NAMES = ("page", "traces")
TRACE_RATE = 10_000
# The exporter sends spans at least every 5 s.
EXPORT_SECONDS = 6


class Run:
    def __init__(self, options):
        self.options = options
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="observation-"))
        self.java = machine.java_of(options.jdk)
        self.flags = machine.jvm_flags(self.java, options.jvm_flags.split())
        self.results = {}

    def execute(self):
        machine.build()
        if "page" in self.options.only:
            self.page()
        if "traces" in self.options.only:
            for ratio in ("0.01", "1"):
                self.traces(ratio)
        return {
            "meta": machine.meta(self.java, self.flags, pairs=self.options.pairs, seconds=self.options.seconds, workers=self.options.workers,
                                 requests=self.options.requests),
            "results": self.results,
        }

    def page(self):
        options = self.options
        dispatcher = Crowd(self.java, self.flags, [], (1, 100), "page")
        dispatcher.count = options.workers
        admin = free_port()
        dispatcher.flags["admin-port"] = admin
        # All clients have one address here.
        dispatcher.flags["http-max-connections-per-address"] = 10_000
        progress(f"starting {options.workers} workers")
        dispatcher.start(self)
        held = hold(dispatcher.port, options.requests)
        try:
            await_requests(admin, options.requests)
            # With a viewer, so that the code of the page is compiled.
            requests = with_viewer(admin, lambda: warm(dispatcher, PING, self.directory, options.warm_up, options.seconds))
            progress("measuring the page")
            samples = []
            for number in range(options.pairs):
                samples.append(alternate(
                    number,
                    lambda: measure(dispatcher, PING, requests, self.directory),
                    lambda: with_viewer(admin, lambda: measure(dispatcher, PING, requests, self.directory))))
            check_held(held)
            self.results["page"] = compare(samples)
        finally:
            held.kill()
            held.wait()
            dispatcher.stop()

    def traces(self, ratio):
        options = self.options
        samples = []
        with Collector() as collector:
            for number in range(options.processes):
                dispatcher = LambdaDispatcher(self.java, self.flags, [], (1, 100), f"traces-{ratio}-{number}")
                settings = self.directory / f"{dispatcher.name}.yaml"
                settings.write_text(f"tracing.ratio: {ratio}\n")
                dispatcher.flags.update({"config": settings, "tracing-endpoint": collector.url, "tracing-protocol": "http"})
                dispatcher.start(self)
                await_answers(dispatcher, PING, self.directory)
                warm(dispatcher, PING, self.directory, options.warm_up, options.seconds)
                progress(f"measuring traces of {float(ratio):.0%} of the requests, process {number + 1} of {options.processes}")
                shape, requests = Shape(rate=TRACE_RATE), int(TRACE_RATE * options.seconds)

                def load(part):
                    reload(dispatcher, settings, f"tracing.ratio: {part}\n")
                    return measure(dispatcher, PING, requests, self.directory, shape)

                for pair in range(options.pairs):
                    samples.append(alternate(pair, lambda: load("0"), lambda: load(ratio)))
                dispatcher.stop()
            self.results[f"traces {float(ratio):.0%}"] = {**compare(samples, options.processes), "exports": collector.exports}
            if collector.exports == 0:
                raise Failure("the collector received nothing")


def reload(dispatcher, settings, text):
    """Puts new settings in force, and waits until the spans of earlier requests have been sent."""
    if settings.read_text() != text:
        before = dispatcher.process.log.read_text().count("In force now")
        settings.write_text(text)
        os.kill(dispatcher.process.pid, signal.SIGHUP)
        deadline = time.monotonic() + 20
        while dispatcher.process.log.read_text().count("In force now") == before:
            if time.monotonic() > deadline:
                raise Failure(f"the dispatcher does not reload {settings}:\n{dispatcher.process.log_end()}")
            time.sleep(0.1)
        time.sleep(EXPORT_SECONDS)


def hold(port, requests):
    """Opens requests that get no response, 100 on each connection."""
    command = [*pinned(LOAD_CORE), tool("h2load"), "-c", str(requests // 100), "-m", "100", "-n", str(requests), f"http://127.0.0.1:{port}/hold"]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def check_held(held):
    if held.poll() is not None:
        raise Failure(f"the held requests have ended:\n{held.stdout.read().decode()[-2000:]}")


def await_requests(admin, number):
    deadline = time.monotonic() + 60
    while True:
        seen = in_progress(admin)
        if seen >= number:
            return
        if time.monotonic() > deadline:
            raise Failure(f"{seen} requests are in progress, expected {number}")
        time.sleep(0.2)


def in_progress(admin):
    """The number of busy worker streams."""
    connection = http.client.HTTPConnection("127.0.0.1", admin, timeout=10)
    connection.request("GET", "/metrics")
    values = {}
    for line in connection.getresponse().read().decode().splitlines():
        if line.startswith("lambda_dispatcher_worker_streams"):
            values[line.split("{")[0]] = float(line.rsplit(" ", 1)[1])
    connection.close()
    return values.get("lambda_dispatcher_worker_streams", 0) - values.get("lambda_dispatcher_worker_streams_free", 0)


def with_viewer(admin, action):
    """Runs the action while a client reads the events, and checks that it has received some."""
    connection = http.client.HTTPConnection("127.0.0.1", admin, timeout=30)
    connection.request("GET", "/events")
    response = connection.getresponse()
    received = []

    def read():
        try:
            while block := response.read1(1 << 20):
                received.append(len(block))
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass

    viewer = threading.Thread(target=read, daemon=True)
    viewer.start()
    try:
        return action()
    finally:
        if not received:
            raise Failure("the viewer has received no event")
        if connection.sock:
            connection.sock.shutdown(2)
        viewer.join(10)
        connection.close()


class Collector:
    """Accepts traces by OTLP over HTTP and discards them."""

    def __init__(self):
        self.exports = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                outer.exports += 1
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *ignored):
        self.server.shutdown()
        self.server.server_close()


def print_report(report):
    meta = report["meta"]
    print(f"commit {meta['commit'][:12]}{' (dirty)' if meta['dirty'] else ''}, {meta['jdk']}, {meta['cpu']}")
    print("\n" + table("observation", "without", "with", report["results"]))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(NAMES), help="measures some of %(default)s")
    parser.add_argument("--workers", type=int, default=500, help="workers of the page, by default %(default)s")
    parser.add_argument("--requests", type=int, default=10_000, help="requests in progress, a multiple of 100, by default %(default)s")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of loads for each start, by default %(default)s")
    parser.add_argument("--processes", type=int, default=6, help="how often the dispatchers are started for traces, by default %(default)s")
    parser.add_argument("--seconds", type=float, default=4, help="length of one load, by default %(default)g")
    parser.add_argument("--warm-up", type=float, default=20, metavar="SECONDS")
    parser.add_argument("--quick", action="store_true", help="two short pairs, to check that everything works")
    parser.add_argument("--jdk", metavar="PATH", help="JDK that runs everything; by default JAVA_HOME, then the PATH")
    parser.add_argument("--jvm-flags", default=machine.DISPATCHER_FLAGS, help="JVM flags of the dispatcher")
    parser.add_argument("--json", metavar="FILE", help="file for the results, by default benchmarks/target/observation-<time>.json")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if options.quick:
        options.processes, options.pairs, options.seconds, options.warm_up = 1, 2, 0.5, 0.5
    return options


def main():
    options = arguments()
    processes.end_children_with_the_script()
    most_descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_descriptors, most_descriptors))
    try:
        unknown = [name for name in options.only if name not in NAMES]
        if unknown:
            raise Failure(f"--only {','.join(unknown)}: expected some of {','.join(NAMES)}")
        processes.need("h2load", "taskset", "openssl")
        run = Run(options)
        report = run.execute()
    except Failure as failure:
        sys.exit(f"observation: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        processes.stop_all()
    print_report(report)
    machine.write_json(report, options.json, "observation")
    shutil.rmtree(run.directory)


if __name__ == "__main__":
    main()
