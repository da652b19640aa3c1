#!/usr/bin/env -S python3 -B
"""Measures how long requests and responses stay in the dispatcher and in other proxies, at half of each proxy's maximum rate.

A request is a POST of its number, which the backend or worker returns. All packets of the loopback interface are captured. A number is in
four of them: to the proxy, to the backend, to the proxy, and to the client. The residence time is the sum of the two times in the proxy. So
it includes the time until the proxy runs, but nothing of the load generator and the backend, which share another core. Their time is part
of the latency that a client measures, and with two cores, it is most of it.

The proxies and the load generator run as soon as they have work. Otherwise, the machine's other programs would keep a proxy from its core
for up to 3 ms, and the generator would then send its overdue requests at once.

    benchmarks/macro/residence.py                          everything, about seven minutes; needs root
    benchmarks/macro/residence.py --only dispatcher,nghttpx --rounds 1
"""

import collections
import mmap
import pathlib
import re
import signal
import statistics
import struct
import time

import machine
from contenders import PROXIES, LambdaDispatcher
from driver import Driver, table
from load import LOAD_CORE, PROXY_CORE, ConstantRate, echo_of, quantile
from measure import await_answers, warm
from processes import Failure, Process, await_that, awake, prefer, progress, tool

# A body is its number twice. If it is divided between two packets, one of them is whole.
BODY_BYTES = 28
NUMBER = re.compile(rb"<(\d{12})>")
ECHO_OF_NUMBER = echo_of(BODY_BYTES)
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


class Capture:
    """Captures all TCP packets with a payload on the loopback interface, until `stop`."""

    def __init__(self, directory):
        self.file = pathlib.Path(directory) / "packets.pcap"
        self.file.unlink(missing_ok=True)
        command = [tool("tcpdump"), "-i", "lo", "-n", "-Z", "root", "-B", 65536, "-s", 262144, "--time-stamp-precision=nano", "-w", self.file,
                   "tcp and greater 70"]
        self.process = Process("tcpdump", command, LOAD_CORE, directory)
        await_that(lambda: "listening on" in self.process.log.read_text(errors="replace"), 10, "a capture of packets", self.process)

    def stop(self):
        """@return (nanoseconds, bytes) of each packet, in the order of time"""
        # tcpdump reads its buffer at least once per second. What is left in it at the end is lost.
        time.sleep(1.5)
        self.process.child.send_signal(signal.SIGINT)
        self.process.child.wait(30)
        self.process.stop()
        return packets(self.file)


def packets(file):
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic, *_, link = struct.unpack_from("<IHHiIII", data)
        if (magic, link) != (0xA1B23C4D, 1):
            raise Failure(f"{file}: expected packets of an Ethernet interface with nanoseconds, found {magic:#x} and link type {link}")
        at = 24
        while at + 16 <= len(data):
            seconds, nanos, length, _ = struct.unpack_from("<IIII", data, at)
            yield seconds * 1_000_000_000 + nanos, data[at + 16 : at + 16 + length]
            at += 16 + length


def residence_nanos(captured):
    """@return the sorted residence times, and the number of requests that were not found four times"""
    seen = collections.defaultdict(dict)
    for nanos, packet in captured:
        ports = tcp_ports(packet)
        for number in NUMBER.findall(packet):
            first, _ = seen[number].get(ports, (nanos, nanos))
            seen[number][ports] = (first, nanos)
    whole = [sorted(hops.values()) for hops in seen.values() if len(hops) == 4]
    # Of a body in two packets, the first counts at arrival, and the last at departure.
    times = [(request_out[1] - request_in[0]) + (response_out[1] - response_in[0]) for request_in, request_out, response_in, response_out in whole]
    return sorted(times), len(seen) - len(whole)


def tcp_ports(packet):
    """The source's and the destination's port, behind the Ethernet header and an IPv4 header of variable length."""
    return packet[14 + (packet[14] & 15) * 4 :][:4]


class Residence(Driver):
    names = ("nghttpx", "haproxy-h2", "dispatcher")
    tools = ("h2load", "taskset", "tcpdump")
    cores = 2
    defaults = {
        "rounds": 10, "seconds": 3.0, "warm_up": 90.0, "worker_flags": "-Xmx256m -XX:+UseSerialGC",
        "most_incomplete": (0.01, "share of the requests that may be missing in the capture")}
    quick = {"rounds": 1, "seconds": 0.5, "warm_up": 0.5, "most_incomplete": 0.5}

    def execute(self):
        makers = {**PROXIES, "dispatcher": lambda: LambdaDispatcher(self)}
        self.contenders = [makers[name]() for name in self.options.only]
        machine.build()
        self.start_backend()
        generator = ConstantRate(self.java, self.directory)
        peaks = {}
        for contender in self.contenders:
            contender.start(self)
            progress(f"warming up {contender.name}")
            await_answers(contender, ECHO_OF_NUMBER, self.directory)
            # The first proxies also warm the backend up.
            seconds = self.options.warm_up if contender.is_java() else self.options.warm_up / 6
            peaks[contender] = warm(contender, ECHO_OF_NUMBER, self.directory, seconds / 2, 1)
            # At an even rate, other code is hot than at the maximum.
            self.load(generator, contender, peaks[contender] / 2, seconds / 2)
            prefer(contender.process)
        prefer(generator.process)
        samples = collections.defaultdict(list)
        with awake({PROXY_CORE, LOAD_CORE}, self.directory):
            for number in range(1, self.options.rounds + 1):
                progress(f"round {number} of {self.options.rounds}")
                for contender in self.contenders:
                    samples[contender].append(self.measure(generator, contender, peaks[contender] / 2))
        return [{"contender": c.name, "peak": peaks[c], "rounds": samples[c]} for c in self.contenders]

    def load(self, generator, contender, rate, seconds):
        return generator.on(contender, ECHO_OF_NUMBER, rate, seconds, min(1, seconds / 4), numbered=True)

    def measure(self, generator, contender, rate):
        capture = Capture(self.directory)
        found = self.load(generator, contender, rate, self.options.seconds)
        nanos, incomplete = residence_nanos(capture.stop())
        if not nanos or incomplete > self.options.most_incomplete * len(nanos):
            raise Failure(f"{contender.name}: {incomplete:,} of {len(nanos) + incomplete:,} requests were not found four times:\n{capture.process.log_end()}")
        return {
            **{name: found[name] for name in ("rate", "errors", "reached", "core_share")}, "requests": len(nanos), "incomplete": incomplete,
            "residence_millis": {name: round(quantile(nanos, share) / 1e6, 3) for name, share in PERCENTILES.items()},
            "client_millis": {name: found["latency_millis"][name] for name in PERCENTILES}}

    def show(self, report):
        print(rows(report["results"], report["meta"]["contenders"]))


def rows(results, notes):
    return table(
        "half of its own peak rate | requests/s | core | in the proxy, median (low–high): p50 ms | p99 ms | p99.9 ms | client: p50, p99 ms | rate kept",
        [
            [
                notes[result["contender"]], f"{result['peak'] / 2:,.0f}", f"{statistics.median(sample['core_share'] for sample in rounds):.0%}",
                *(spread(rounds, name) for name in ("p50", "p99", "p99.9")),
                ", ".join(f"{statistics.median(sample['client_millis'][name] for sample in rounds):.2f}" for name in ("p50", "p99")),
                f"{sum(sample['reached'] for sample in rounds)} of {len(rounds)}",
            ] for result in results for rounds in [result["rounds"]]])


def spread(rounds, percentile):
    values = [sample["residence_millis"][percentile] for sample in rounds]
    return f"**{statistics.median(values):.2f}** ({min(values):.2f}–{max(values):.2f})"


def added(results, percentile, other):
    """How much longer a request is in the dispatcher than in the other proxy, in each round, in ms."""
    rounds = {result["contender"]: [sample["residence_millis"][percentile] for sample in result["rounds"]] for result in results}
    return [own - its for own, its in zip(rounds.get("dispatcher", []), rounds.get(other, []))]


if __name__ == "__main__":
    Residence.main()
