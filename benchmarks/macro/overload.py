#!/usr/bin/env python3
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

import asyncio
import json
import random
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import processes  # noqa: E402
from driver import Driver  # noqa: E402
from machine import progress, version  # noqa: E402
from processes import ROOT, Failure, Process, answers, await_that, free_port, tool  # noqa: E402

STREAMS = 10
DELAY_MILLIS = 100
GOOD_SECONDS = 1
CALM_SECONDS = 4
RECOVERY_SECONDS = 2
PRIORITIES = ("critical", "normal", "sheddable")
OVERLOAD = (40, 110, 150)
CALM = (8, 22, 30)


class Dispatcher:
    def __init__(self, name, settings):
        self.name = name
        self.settings = settings
        self.port = free_port()

    def start(self, directory):
        settings = {
            "public-plain-port": f"127.0.0.1:{self.port}", "workers-port": f"127.0.0.1:{free_port()}",
            "admin-port": free_port(), "shutdown-delay": "0", "function-launcher": "local", "function-min-workers": 2,
            "function-max-workers": 2, "function-worker-concurrency": STREAMS // 2, "http-max-connections": "10000 per-address 4000",
            "function-handler": "io.lambdadispatcher.server.demo.DemoHandler", **self.settings,
        }
        self.process = Process(
            self.name, [ROOT / "dispatcher", "serve", *(f"--{name}={value}" for name, value in settings.items())], None, directory
        )
        await_that(lambda: answers(f"http://127.0.0.1:{settings['admin-port']}/ready"), 300, f"{self.name} to be ready", self.process)


class HaProxy:
    def __init__(self):
        self.name = "haproxy"
        self.port = free_port()

    def start(self, directory):
        ports = [free_port(), free_port()]
        for port in ports:
            backend = Process(f"server-{port}", [sys.executable, __file__, "--serve", port], None, directory)
            backend.await_port(port)
        servers = "\n".join(f"    server s{port} 127.0.0.1:{port} maxconn {STREAMS // 2}" for port in ports)
        configuration = directory / "haproxy.cfg"
        # Ten requests in a second's queue are 100 ms: the limits of the dispatcher, in numbers of requests.
        configuration.write_text(
            f"""global
    nbthread 1
    maxconn 8000
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout queue 10s
frontend public
    bind 127.0.0.1:{self.port}
    http-request set-priority-class int(-1) if {{ req.hdr(x-priority) critical }}
    http-request set-priority-class int(1) if {{ req.hdr(x-priority) sheddable }}
    http-request deny deny_status 503 if {{ req.hdr(x-priority) sheddable }} {{ queue(workers) ge 10 }}
    http-request deny deny_status 503 if {{ req.hdr(x-priority) normal }} {{ queue(workers) ge 40 }}
    default_backend workers
backend workers
    balance leastconn
{servers}
"""
        )
        self.process = Process(self.name, [tool("haproxy"), "-q", "-db", "-f", configuration], None, directory)
        self.process.await_port(self.port)


class Client:
    """Sends requests over HTTP/1.1, on as many connections as there are requests in flight."""

    def __init__(self, port):
        self.port = port
        self.idle = []
        self.answers = []
        self.tasks = set()

    def send(self, priority, planned):
        task = asyncio.ensure_future(self.request(priority, planned))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def request(self, priority, planned):
        status, failure = 0, "connection"
        try:
            reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(f"GET /delay?delay={DELAY_MILLIS} HTTP/1.1\r\nhost: a\r\nx-priority: {PRIORITIES[priority]}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            status = int(head.split()[1])
            fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            await reader.readexactly(int(fields["content-length"]))
            failure = fields.get("x-failure", "")
            if fields.get("connection") == "close":
                writer.close()
            else:
                self.idle.append((reader, writer))
        except (OSError, asyncio.IncompleteReadError) as error:
            failure = str(error)
        self.answers.append((priority, status, failure, planned, time.monotonic()))

    async def send_for(self, seconds, per_second, interval=random.expovariate):
        planned = time.monotonic()
        end = planned + seconds
        while planned < end:
            pause = planned - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            self.send(random.choices(range(3), per_second)[0], planned)
            planned += interval(sum(per_second))

    async def finish(self):
        while self.tasks:
            await asyncio.wait(self.tasks)
        answers, self.answers = self.answers, []
        return answers

    async def capacity(self):
        """Requests per second if there are always more, of one priority that is never refused."""
        requests = 30 * STREAMS
        start = time.monotonic()
        for _ in range(requests):
            self.send(0, start)
        answers = await self.finish()
        refused = [answer for answer in answers if answer[1] != 200]
        if refused:
            raise Failure(f"{len(refused)} of {requests} requests were refused at the measurement of the capacity: {refused[0]}")
        return requests / (time.monotonic() - start)

    async def close(self):
        for _, writer in self.idle:
            writer.close()


def even(per_second):
    return 1 / per_second


def is_good(answer):
    return answer[1] == 200 and answer[4] - answer[3] <= GOOD_SECONDS


def share(answers):
    return round(sum(map(is_good, answers)) / len(answers), 4) if answers else None


def summary(answers, start, end, capacity):
    during = [answer for answer in answers if start <= answer[3] < end]
    good = [answer for answer in answers if is_good(answer) and start <= answer[4] < end]
    bad = [answer[3] for answer in answers if not is_good(answer)]
    refused = {}
    for answer in during:
        if answer[1] != 200:
            refused[answer[2] or str(answer[1])] = refused.get(answer[2] or str(answer[1]), 0) + 1
    return {
        "capacity_per_second": round(capacity, 1),
        "goodput_of_capacity": round(len(good) / (end - start) / capacity, 3),
        **{f"{name}_good": share([each for each in during if each[0] == i]) for i, name in enumerate(PRIORITIES)},
        "recovery_seconds": round(max([0, *(time - end for time in bad)]), 2),
        "refused": refused,
    }


async def overload(port, seconds):
    client = Client(port)
    await client.capacity() # compiles the code
    capacity = await client.capacity()
    await client.send_for(CALM_SECONDS / 2, CALM, even)
    start = time.monotonic()
    await client.send_for(seconds, OVERLOAD)
    end = time.monotonic()
    await client.send_for(CALM_SECONDS, CALM, even)
    answers = await client.finish()
    await client.close()
    return summary(answers, start, end, capacity)


def problems(result):
    found = []
    if result["critical_good"] != 1:
        found.append(f"{100 * result['critical_good']} % of the critical requests were good, expected all")
    if result["goodput_of_capacity"] < 0.9:
        found.append(f"good requests used {100 * result['goodput_of_capacity']} % of the capacity, expected 90 %")
    if result["recovery_seconds"] > RECOVERY_SECONDS:
        found.append(f"the last request that was not good began {result['recovery_seconds']} s after the overload, expected 2 s")
    # When the queue has not been empty for 10 s, its timeout is 500 ms, which refuses a few normal requests, too.
    if result["refused"].get("shed", 0) < 0.95 * sum(result["refused"].values()):
        found.append(f"refused: {result['refused']}, expected 95 % of them shed")
    return found


async def serve(port):
    """A server that answers each request after the delay."""

    async def answer(reader, writer):
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(DELAY_MILLIS / 1000)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port) as server:
        await server.serve_forever()


def contender(name):
    if name == "haproxy":
        return HaProxy()
    priorities = {"function-priority": "normal by x-priority", "http-failure-header": "x-failure"}
    return Dispatcher(name, priorities if name == "dispatcher" else {"http-failure-header": "x-failure"})


class Overload(Driver):
    names = ("dispatcher", "neutral", "haproxy")
    tools = ()
    defaults = {"seconds": 60.0}

    @classmethod
    def arguments(cls, parser):
        parser.add_argument("--check", action="store_true", help="fail if the dispatcher does not keep what it promises")

    def execute(self):
        if "haproxy" in self.options.only:
            processes.need("haproxy")
        subprocess.run([ROOT / "dispatcher", "--version"], check=True, stdout=subprocess.DEVNULL)
        results = {}
        for name in self.options.only:
            progress(f"{name}: {self.options.seconds:.0f} s of overload")
            one = contender(name)
            one.start(self.directory)
            results[name] = asyncio.run(overload(one.port, self.options.seconds))
            processes.stop_all()
        return results

    def meta(self):
        return {"haproxy": version("haproxy", "-v") if "haproxy" in self.options.only else None}

    def show(self, report):
        for name, result in report["results"].items():
            print(name, json.dumps(result))

    def failures(self, report):
        return problems(report["results"]["dispatcher"]) if self.options.check and "dispatcher" in report["results"] else []


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run(serve(int(sys.argv[2])))
    else:
        Overload.main()
