"""Generates load: h2load for the maximum, and a constant rate whose latencies include all waiting time."""

import collections
import json
import os
import pathlib
import re
import subprocess

import machine
from processes import Failure, Process, pinned, some_of, tool

# The first two available cores. If there is only one, everything runs, but the figures mean nothing.
PROXY_CORE, LOAD_CORE = (sorted(os.sched_getaffinity(0)) * 2)[:2]
CONNECTIONS, STREAMS = 10, 10
IMAGE_BYTES = 168_161
LARGE_BYTES = 9_365_076

# `posts`: the request has a body, which is as large as the response's.
Scenario = collections.namedtuple("Scenario", "name path size warm_requests posts", defaults=(False,))
PING = Scenario("ping", "/ping", 4, 2000)
IMAGE = Scenario("image", "/public/silly-test-image.jpg", IMAGE_BYTES, 200)
ECHO = Scenario("echo", "/echo", IMAGE_BYTES, 200, True)
SCENARIOS = [PING, IMAGE, ECHO]


def scenarios_of(names):
    """@return the scenarios of a list with commas"""
    by_name = {each.name: each for each in SCENARIOS}
    return [by_name[name] for name in some_of("scenarios", names, by_name)]


def echo_of(size, warm_requests=None):
    return Scenario(f"echo-{size}", "/echo", size, warm_requests or max(20, min(2000, 40_000_000 // max(1, size))), True)


def body_file(scenario, directory):
    """The file with the body to post, created once per run. None for a GET. Without a body, h2load cannot send a POST."""
    if not scenario.posts or scenario.size == 0:
        return None
    file = pathlib.Path(directory) / f"body-{scenario.size}"
    if not file.exists():
        # Neighbouring bytes differ. The content makes no difference to a proxy.
        file.write_bytes((bytes(range(251)) * (scenario.size // 251 + 1))[: scenario.size])
    return file


class Shape(collections.namedtuple("Shape", "connections streams tls rate h1", defaults=(CONNECTIONS, STREAMS, False, 0, False))):
    """The form of a load: connections, streams on each, whether TLS is used, requests per second (0 = as many as possible), and whether it is HTTP/1.1."""

    def at_once(self):
        return self.connections * self.streams


class Load:
    """
    One run of h2load, with as much load as the streams carry. With a rate (requests per second), each connection sends the requests of
    10 ms at once, because h2load's timer is no finer.
    """

    def __init__(self, port, scenario, requests, directory, shape=Shape(), seconds=300, fields=()):
        self.log = pathlib.Path(directory) / "h2load.tsv"
        self.log.unlink(missing_ok=True)
        body = body_file(scenario, directory)
        command = [
            *pinned(LOAD_CORE),
            *(tool("h2load"), "-c", str(shape.connections), "-m", str(shape.streams), "-n", str(requests)),
            *([f"--rps={shape.rate / shape.connections:g}"] if shape.rate else []),
            *(["--h1"] if shape.h1 else []),
            *(word for field in fields for word in ("-H", field)),
            *(["-d", str(body)] if body else []),
            f"--log-file={self.log}",
            f"{'https' if shape.tls else 'http'}://127.0.0.1:{port}{scenario.path}"]
        try:
            printed = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"not done within {seconds} s: {' '.join(map(str, command))}") from None
        self.output = printed.stdout
        self.requests = requests
        self.succeeded = self.number(r"(\d+) succeeded")
        self.rate = self.number(r"finished in .*?, ([\d.]+) req/s")
        self.body_bytes = self.number(r"\((\d+)\) data")
        self.status_2xx = self.number(r"status codes: (\d+) 2xx")
        if printed.returncode != 0:
            raise Failure(f"h2load failed:\n{printed.stdout}{printed.stderr}")

    def number(self, pattern):
        found = re.search(pattern, self.output)
        if not found:
            raise Failure(f"h2load printed no '{pattern}':\n{self.output}")
        return float(found.group(1))

    def errors(self, scenario):
        """Requests that were not answered with 200. If the total size of the bodies is wrong, all requests count as errors."""
        errors = self.requests - int(min(self.succeeded, self.status_2xx))
        expected = self.succeeded * scenario.size
        return self.requests if errors == 0 and self.body_bytes != expected else errors

    def answers(self):
        """@return the start in microseconds, the status and the duration in microseconds of each request"""
        return [tuple(map(int, line.split("\t")[:3])) for line in self.log.read_text().splitlines()]

    def latencies_millis(self):
        micros = sorted(duration for _, _, duration in self.answers())
        return {"p50": quantile(micros, 0.5) / 1e3, "p99": quantile(micros, 0.99) / 1e3, "max": micros[-1] / 1e3}


def quantile(ordered, q):
    """A quantile of a sorted, non-empty list: the smallest element that is at least as large as the share `q` of them."""
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


class ConstantRate:
    """The load generator of benchmarks/…/bench/load. One process serves many loads, so it is warm after the first."""

    FLAGS = ["-Xms256m", "-Xmx256m", "-Xmn128m", "-XX:+UseSerialGC"]

    def __init__(self, java, directory, core=LOAD_CORE):
        self.directory = directory
        flags = machine.jvm_flags(java, self.FLAGS)
        command = [java, *flags, "-cp", machine.BENCHMARKS_JAR, "io.lambdadispatcher.bench.load.LoadMain"]
        self.process = Process("load", command, core, directory, pipes=True)

    def warm_up(self, port, scenario, seconds):
        """Sends as many requests as possible. Otherwise, the first latencies would show the generator's own JIT compiler."""
        self.run(port, {scenario: 1}, 0, seconds, warm=0)

    def run(self, port, scenarios, rate, seconds, warm=2, window=0, connections=CONNECTIONS, streams=STREAMS, on_window=None, numbered=False):
        """
        @param scenarios with weights
        @param rate 0 = as much as the streams carry
        @param numbered whether each request is a POST of its number
        @return what LoadMain prints at the end
        """
        words = [f"port={port}", f"rate={rate:.3f}", f"warm={warm}", f"seconds={seconds}", f"window={window}"]
        words += [f"connections={connections}", f"streams={streams}"]
        for scenario, weight in scenarios.items():
            body = "numbered" if numbered else body_file(scenario, self.directory)
            words.append(f"request={weight}:{scenario.path}:{scenario.size}" + (f":{body}" if body else ""))
        self.process.child.stdin.write((" ".join(words) + "\n").encode())
        self.process.child.stdin.flush()
        for line in self.process.child.stdout:
            found = json.loads(line)
            if found["event"] == "failed":
                raise Failure(f"the load generator: {found['why']}")
            if found["event"] == "end":
                return found
            if on_window:
                on_window(found)
        raise Failure(f"the load generator ended:\n{self.process.log_end()}")

    def on(self, contender, scenario, rate, seconds, warm, numbered=False):
        """A load at a constant rate. @return whether the rate was kept, the latency, and the CPU time of all requests, also of those of the warm-up"""
        contender.process.check()
        before = contender.process.cpu()
        found = self.run(contender.port, {scenario: 1}, rate, seconds, warm, numbered=numbered)
        spent = contender.process.cpu().since(before).seconds()
        return {"offered_rate": rate, "rate": found["rate"], "errors": found["errors"], "reached": reached(found, rate), "latency_millis": found["latency_millis"],
                "core_share": spent / (seconds + warm), "cpu_micros": spent * 1e6 / (rate * (seconds + warm))}


def reached(found, rate):
    """
    Whether the generator and the server kept the rate. If not, the latency says nothing about this rate. A run can keep the rate although
    requests started late, because lost time was never made up. Its median then exceeds the uncorrected median.
    """
    late = found["latency_millis"]["p50"] > 2 * found["uncorrected_millis"]["p50"] + 1
    return found["errors"] == 0 and found["rate"] >= 0.99 * rate and not late
