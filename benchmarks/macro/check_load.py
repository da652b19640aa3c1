#!/usr/bin/env -S python3 -B
"""Checks the constant-rate load generator against arithmetic and against h2load. Takes half a minute.

First, a backend is stopped for one second of ten. A tenth of the requests should start in this second, and they wait between zero and one
second. So p99 must be 0.9 s. Load generators with a fixed number of connections count from the actual start of a request instead. They
would only see the hundred requests that were in flight.

Then, without a stop, h2load at the same rate must measure about the same median. It uses --rps, which is accurate up to 100/s per
connection.
"""

import os
import signal
import threading

import machine
from driver import Driver, table
from load import PING, PROXY_CORE, ConstantRate, Load, Shape

RATE, SECONDS, STOP_SECONDS = 1000, 10, 1.0


def with_a_stop(generator, backend, port):
    stop = threading.Timer(SECONDS / 2, lambda: os.kill(backend.pid, signal.SIGSTOP))
    resume = threading.Timer(SECONDS / 2 + STOP_SECONDS, lambda: os.kill(backend.pid, signal.SIGCONT))
    stop.start()
    resume.start()
    try:
        return generator.run(port, {PING: 1}, RATE, SECONDS, warm=0)
    finally:
        resume.join()


class CheckLoad(Driver):
    def execute(self):
        machine.build()
        self.start_backend(PROXY_CORE)
        port = self.backend_port
        generator = ConstantRate(self.java, self.directory)
        generator.warm_up(port, PING, 5)
        plain = generator.run(port, {PING: 1}, RATE, 5, warm=1)
        other = Load(port, PING, RATE * 5, self.directory, Shape(rate=RATE)).latencies_millis()
        stopped = with_a_stop(generator, self.backend, port)
        return [
            {"load": load, **millis} for load, millis in (
                ("from the intended start", plain["latency_millis"]),
                ("from the actual start", plain["uncorrected_millis"]),
                ("h2load --rps", other),
                (f"backend stopped for {STOP_SECONDS:g} s, from the intended start", stopped["latency_millis"]),
                (f"backend stopped for {STOP_SECONDS:g} s, from the actual start", stopped["uncorrected_millis"]))]

    def show(self, report):
        print(table(f"{RATE} requests/s | p50 ms | p99 ms | max ms", [
            [row["load"], *(f"{row[key]:.2f}" for key in ("p50", "p99", "max"))] for row in report["results"]]))

    def failures(self, report):
        _, actual, other, stopped, _ = report["results"]
        expected, found = (STOP_SECONDS - SECONDS * 0.01) * 1000, []
        if abs(stopped["p99"] - expected) > expected * 0.05:
            found.append(f"p99 with a stop: {stopped['p99']:.0f} ms, expected {expected:.0f}")
        if abs(actual["p50"] - other["p50"]) > 0.5:
            found.append(f"p50: {actual['p50']:.2f} ms, and {other['p50']:.2f} by h2load")
        return found


if __name__ == "__main__":
    CheckLoad.main()
