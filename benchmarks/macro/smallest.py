#!/usr/bin/env -S python3 -B
"""Measures the dispatcher of the image with a quarter of a processor and 512 MiB.

    benchmarks/macro/smallest.py                               three starts
    benchmarks/macro/smallest.py --home OLD,NEW --rounds 5     compares two directories of images, in turn
    benchmarks/macro/smallest.py --prepare DIRECTORY           only makes the directory of an image, of this build

As root, because the dispatcher has a control group. Workers, which a stand-in for Lambda starts, and the load are outside of it. The worker
port has TLS, as by default. Each start is measured in this order:

    ready    /ready answers with 200. The function has no worker yet.
    first    a worker has answered the first request.
    load     1,000 pings a second until 30 s after the start, then for 30 s more.
    maximum  as many pings as 10 connections with 10 streams carry, for 10 s.

The directory of an image is what docker/server.Dockerfile puts into /opt/lambda-dispatcher.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import time

import machine
from attacks import Group
from contenders import DEMO_HANDLER, SECRET, variables
from driver import Driver, by, table
from load import PING, ConstantRate
from processes import ROOT, Cpu, Failure, Process, answers, await_that, free_port, progress, run, stand_in

LOAD_PER_SECOND = 1000
EARLY_SECONDS = 30
RELEASE = 25


def prepare(home, jdk):
    """Does what docker/server.Dockerfile does, in another directory."""
    home.mkdir(parents=True)
    modules = re.search(r"java\.base,[a-z.,_]*", (ROOT / "docker/server.Dockerfile").read_text()).group()
    run([
        f"{jdk}/bin/jlink", "--output", home / "java", "--no-header-files", "--no-man-pages", "--strip-java-debug-attributes", "--compress", "zip-2",
        "--add-modules", modules])
    target = ROOT / "dispatcher-server/target"
    shutil.copytree(target / "lib", home / "lib")
    for jar in target.glob("dispatcher-server-*.jar"):
        shutil.copy(jar, home / "lib")
    shutil.copy(ROOT / "docker/server.flags", home)
    (home / "class.path").write_text(f"-cp\n{':'.join(map(str, sorted((home / 'lib').glob('*.jar'))))}\n")
    with open(home / "train.log", "wb") as log:
        run([f"{jdk}/bin/java", ROOT / "docker/Train.java", "serve"], cwd=home, stdout=log, stderr=log)
    script = home / "dispatcher"
    script.write_text(f"#!/bin/sh\nexec {home}/java/bin/java @{home}/server.flags -XX:AOTCache={home}/classes.aot $LAMBDA_DISPATCHER_JAVA_OPTS @{home}/class.path "
                      "io.lambdadispatcher.server.Main \"$@\"\n")
    script.chmod(0o755)


class Lambda:
    """A stand-in for Lambda. It serves an invocation with a process."""

    def __init__(self, home, directory):
        self.home = home
        self.directory = directory
        self.workers = []

    def invoke(self, _, fields, payload):
        if fields.get("x-amz-invocation-type") == "DryRun":
            return 204, b""
        command = [self.home / "java/bin/java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"@{self.home}/class.path"]
        worker = Process(
            f"worker-{len(self.workers)}", [*command, "io.lambdadispatcher.worker.WorkerMain"], None, self.directory,
            variables({"PAYLOAD": payload.decode(), "HANDLER": DEMO_HANDLER}))
        self.workers.append(worker)
        worker.child.wait()
        return 200, b"{}"


class Smallest(Driver):
    tools = ()
    defaults = {
        "rounds": 3, "jvm_flags": "",
        "home": ("", "directories of images, with commas; default: a new one of this build"),
        "prepare": (pathlib.Path, "only makes the directory of an image, here"),
        "processors": (0.25, "limit of processor time"),
        "memory": (512, "limit of memory in MiB"),
        "start_only": (False, "ends each run when the dispatcher is ready")}

    @classmethod
    def verify(cls, options):
        options.jdk = options.jdk or machine.jdk_home(RELEASE)

    def execute(self):
        if not self.options.jdk:
            raise Failure(f"no JDK {RELEASE} found; name it with --jdk")
        if self.options.prepare:
            prepare(self.options.prepare.absolute(), self.options.jdk)
            return
        homes = [pathlib.Path(home) for home in self.options.home.split(",") if home]
        if not homes:
            homes = [self.directory / "image"]
            progress("making the directory of an image")
            prepare(homes[0], self.options.jdk)
        if not self.options.start_only:
            self.load = ConstantRate(self.java, self.directory, None)
        for number in range(self.options.rounds):
            for home in homes:
                # Starts alternate, because the speed of a shared machine changes.
                self.results.append(self.measure(home, number))
                progress(json.dumps({key: value for key, value in self.results[-1].items() if key != "p99_by_second"}))

    def measure(self, home, number):
        directory = self.directory / f"{home.name}-{number}"
        directory.mkdir()
        group = Group(self.options.memory, processors=self.options.processors)
        lambda_ = Lambda(home, directory)
        self.dispatchers = []
        try:
            with stand_in(lambda_.invoke) as lambda_port:
                found = self.start(home, directory, group, lambda_port)
            if group.killed():
                raise Failure("the kernel killed the dispatcher because it was out of memory")
            return found
        finally:
            for process in [*self.dispatchers, *lambda_.workers]:
                process.stop()
            group.remove()

    def start(self, home, directory, group, lambda_port):
        port, admin, workers = free_port(), free_port(), free_port()
        settings = {
            "PUBLIC_PLAIN_PORT": f"127.0.0.1:{port}", "ADMIN_PORT": admin, "WORKERS_PORT": f"127.0.0.1:{workers}", "WORKERS_SECRET": SECRET,
            "FUNCTION_LAUNCHER": "lambda", "FUNCTION_LAMBDA": "smallest", "FUNCTION_MAX_WORKERS": 1, "FUNCTION_LAUNCH_TIMEOUT": "60s",
            "FUNCTION_QUEUE_TIMEOUT": "60s", "AWS_ENDPOINT": f"http://127.0.0.1:{lambda_port}",
            "WORKERS_ADVERTISED_ADDRESSES": f"127.0.0.1:{workers}", "SHUTDOWN_DELAY": "0", "JAVA_OPTS": self.options.jvm_flags}
        environment = {**variables(settings), "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
        if self.options.processors < 1:
            # As the construct for the CDK does.
            environment["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1"
        load_average = os.getloadavg()[0]
        began = time.monotonic()
        dispatcher = Process("dispatcher", group.command([str(home / "dispatcher"), "serve"]), None, directory, environment)
        self.dispatchers.append(dispatcher)
        await_that(lambda: answers(f"http://127.0.0.1:{admin}/ready"), 120, "the dispatcher to be ready", dispatcher)
        found = {"home": home.name, "load_average": load_average, "ready_seconds": time.monotonic() - began, "ready_cpu_seconds": dispatcher.cpu().seconds(),
                 "ready_threads": busiest(dispatcher), "ready_mib": dispatcher.rss_mib()}
        if not self.options.start_only:
            await_that(lambda: answers(f"http://127.0.0.1:{port}/ping"), 120, "an answer of a worker", dispatcher)
            found |= {"first_seconds": time.monotonic() - began, "first_cpu_seconds": dispatcher.cpu().seconds(), "first_mib": dispatcher.rss_mib()}
            found |= self.under_load(dispatcher, port, began)
        return {**found, "threads": busiest(dispatcher)}

    def under_load(self, dispatcher, port, began):
        by_second = []

        def window(found):
            by_second.append([round(time.monotonic() - began), found["latency_millis"]["p99"], found["errors"]])

        early = self.load.run(port, {PING: 1}, LOAD_PER_SECOND, max(3, EARLY_SECONDS - (time.monotonic() - began)), warm=0, window=1, on_window=window)
        cpu = [dispatcher.cpu().seconds()]
        late = self.load.run(port, {PING: 1}, LOAD_PER_SECOND, 30, warm=0, window=1, on_window=window)
        cpu.append(dispatcher.cpu().seconds())
        most = self.load.run(port, {PING: 1}, 0, 10, warm=0)
        cpu.append(dispatcher.cpu().seconds())
        figures = lambda name, found, *more: {
            f"{name}_{each}": {**found, **found["latency_millis"]}[each] for each in ("p99", "p50", "errors", *more)}
        bad = [second for second, p99, _ in by_second if p99 >= 20]
        return {
            **figures("early", early, "rate"), **figures("late", late), "late_cpu": (cpu[1] - cpu[0]) / 30, "last_second_above_20_ms": max(bad, default=None),
            "p99_by_second": by_second, "most_per_second": most["rate"], **figures("most", most),
            "most_cpu_micros": (cpu[2] - cpu[1]) * 1e6 / most["rate"] / most["seconds"], "mib": dispatcher.rss_mib()}

    def show(self, report):
        results = report["results"]
        if not results:
            return
        columns = [name for name in results[0] if isinstance(results[0][name], (int, float)) and name != "load_average"]
        homes = by(results, "home")
        print(table(f"figure | {' | '.join(homes)}", [
            [name, *(cell([result.get(name) for result in of_home]) for of_home in homes.values())] for name in columns]))


def busiest(process):
    """@return CPU seconds of the busiest threads, by name"""
    return dict(sorted(process.cpu().since(Cpu()).threads.items(), key=lambda item: -item[1])[:6])


def cell(values):
    """@return the median, and all values"""
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):,.2f} ({', '.join(f'{value:,.2f}' for value in known)})" if known else "–"


if __name__ == "__main__":
    Smallest.main()
