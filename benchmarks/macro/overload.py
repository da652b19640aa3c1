#!/usr/bin/env -S python3 -B
"""Sends three times as many requests as can be served, and reports what each priority gets.

    benchmarks/macro/overload.py                                    about five minutes
    benchmarks/macro/overload.py --only dispatcher --seconds 6 --check

Ten requests of 100 ms each are served at a time. Of 300 requests per second, 40 are critical, 110 normal and 150 sheddable, at random
times. Before and after that, 60 per second arrive in the same proportions at even intervals, since even at 65 % of the capacity, so many
random requests may arrive at once that a sheddable one is refused. A request is good if it is answered within a second of the time
at which it should start.

- dispatcher: ./dispatcher with two local workers and function.priority: normal by x-priority.
- neutral: the same without priorities.
- haproxy: HAProxy in front of two servers, with maxconn, timeout queue, set-priority-class, and a refusal if too many requests are queued.

With --check, it fails if a critical request was not good, if less than 90 % of the capacity served good requests, or if a request was not
good later than two seconds after the overload.
"""

import collections
import contextlib
import json
import random
import sys
import time

import failures
from client import Clients, due
from contenders import haproxy_command
from driver import Driver
from machine import version
from processes import ROOT, Failure, Process, free_port, run, stop_all

STREAMS = 10
DELAY_MILLIS = 100
CALM_SECONDS = 4
RECOVERY_SECONDS = 2
PRIORITIES = ("critical", "normal", "sheddable")
OVERLOAD = (40, 110, 150)
CALM = (8, 22, 30)


def start_dispatcher(name, directory):
    """@return the port"""
    of_priorities = {"function-priority": "normal by x-priority"} if name == "dispatcher" else {}
    dispatcher = failures.Dispatcher(directory, name, {
        **dict.fromkeys(("config", "public-tls-port", "event-loops", "local-jvm-flags", "function-launch-timeout", "workers-secret", "admin-token")),
        "function-max-workers": 2, "function-worker-concurrency": STREAMS // 2, "http-max-connections": "10000 per-address 4000",
        "http-failure-header": "x-failure", **of_priorities})
    return dispatcher.start().await_ready().port


def start_haproxy(directory):
    """Has two servers, each for half of the streams. @return the port"""
    port, ports = free_port(), [free_port(), free_port()]
    for each in ports:
        Process(f"server-{each}", [sys.executable, failures.__file__, "--serve", each, DELAY_MILLIS], None, directory).await_port(each)
    # Ten requests in a second's queue are 100 ms: the limits of the dispatcher, in numbers of requests.
    command = haproxy_command(directory / "haproxy.cfg", {
        "global": ["nbthread 1", "maxconn 8000"],
        "frontend public": [
            f"bind 127.0.0.1:{port}",
            "http-request set-priority-class int(-1) if { req.hdr(x-priority) critical }",
            "http-request set-priority-class int(1) if { req.hdr(x-priority) sheddable }",
            "http-request deny deny_status 503 if { req.hdr(x-priority) sheddable } { queue(workers) ge 10 }",
            "http-request deny deny_status 503 if { req.hdr(x-priority) normal } { queue(workers) ge 40 }",
            "default_backend workers"],
        "backend workers": ["balance leastconn", *(f"server s{each} 127.0.0.1:{each} maxconn {STREAMS // 2}" for each in ports)],
    }, ["timeout queue 10s"])
    Process("haproxy", command, None, directory).await_port(port)
    return port


class Load(Clients):
    """Requests of all priorities."""

    def due(self, priority, planned):
        self.send(planned, priority, self.client.request("GET", f"/delay?delay={DELAY_MILLIS}", fields=f"x-priority: {PRIORITIES[priority]}\r\n"))

    async def send_for(self, seconds, per_second, interval=random.expovariate):
        async for planned in due(seconds, lambda: interval(sum(per_second))):
            self.due(random.choices(range(3), per_second)[0], planned)

    async def all_answers(self):
        await self.finish()
        answers, self.answers = self.answers, []
        return answers

    async def capacity(self):
        """Requests per second if there are always more, of one priority that is never refused."""
        requests = 30 * STREAMS
        start = time.monotonic()
        for _ in range(requests):
            self.due(0, start)
        refused = [answer for answer in await self.all_answers() if answer.problem]
        if refused:
            raise Failure(f"{len(refused)} of {requests} requests were refused at the measurement of the capacity: {refused[0]}")
        return requests / (time.monotonic() - start)

    async def overload(self, seconds):
        even = lambda per_second: 1 / per_second
        await self.capacity()  # compiles the code
        capacity = await self.capacity()
        await self.send_for(CALM_SECONDS / 2, CALM, even)
        start = time.monotonic()
        await self.send_for(seconds, OVERLOAD)
        end = time.monotonic()
        await self.send_for(CALM_SECONDS, CALM, even)
        return summary(await self.all_answers(), start, end, capacity)


def summary(answers, start, end, capacity):
    during = [answer for answer in answers if start <= answer.planned < end]
    share = lambda some: round(sum(answer.is_good() for answer in some) / len(some), 4) if some else None
    good = [answer for answer in answers if answer.is_good() and start <= answer.ended < end]
    bad = [answer.planned for answer in answers if not answer.is_good()]
    return {
        "capacity_per_second": round(capacity, 1),
        "goodput_of_capacity": round(len(good) / (end - start) / capacity, 3),
        **{f"{name}_good": share([each for each in during if each.what == i]) for i, name in enumerate(PRIORITIES)},
        "recovery_seconds": round(max([0, *(planned - end for planned in bad)]), 2),
        "refused": collections.Counter(answer.fields.get("x-failure", answer.problem) for answer in during if answer.problem)}


class Overload(Driver):
    names = ("dispatcher", "neutral", "haproxy")
    tools = ()
    defaults = {"seconds": 60.0, "check": False}

    def execute(self):
        run([ROOT / "dispatcher", "--version"])
        self.one_by_one(self.measure)

    def measure(self, name, directory):
        port = start_haproxy(directory) if name == "haproxy" else start_dispatcher(name, directory)
        with contextlib.closing(Load(port)) as clients:
            found = clients.run(clients.overload(self.options.seconds))
        stop_all()
        return found

    def meta(self):
        return {"haproxy": version("haproxy", "-v") if "haproxy" in self.options.only else None}

    def show(self, report):
        for row in report["results"]:
            print(json.dumps(row))

    @staticmethod
    def problems(row):
        if row["name"] != "dispatcher":
            return
        if row["critical_good"] != 1:
            yield f"{100 * row['critical_good']} % of the critical requests were good, expected all"
        if row["goodput_of_capacity"] < 0.9:
            yield f"good requests used {100 * row['goodput_of_capacity']} % of the capacity, expected 90 %"
        if row["recovery_seconds"] > RECOVERY_SECONDS:
            yield f"the last request that was not good began {row['recovery_seconds']} s after the overload, expected 2 s"
        # When the queue has not been empty for 10 s, its timeout is 500 ms, which refuses a few normal requests, too.
        if row["refused"].get("shed", 0) < 0.95 * sum(row["refused"].values()):
            yield f"refused: {row['refused']}, expected 95 % of them shed"


if __name__ == "__main__":
    Overload.main()
