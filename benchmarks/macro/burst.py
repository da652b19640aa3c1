#!/usr/bin/env -S python3 -B
"""Base and burst in real processes: the load becomes ten times as much for a minute, then as before.

    benchmarks/macro/burst.py                      about ten minutes; as root, because each part has a control group
    benchmarks/macro/burst.py --only burst --check

Two base workers, the dispatcher, and the workers that it launches have their own processors each (PROCESSORS), below two together. The load has
what is left. It is requests of 200 ms, of which the base can carry half in the burst, POSTs of 1 MB, WebSockets, streams of 20 s and endless
streams of server-sent events. Clients of endless streams and of WebSockets connect again after a clean end.

- burst: nothing fails.
- kill-base: both base workers are killed in the burst.
- kill-dispatcher: three dispatchers with one ledger behind HAProxy, of which one is killed in the burst.

With --check, it fails if something was lost that could be sent again, if the base did not get its share, if launched workers came late or
stayed, if there were too many, or if an endless stream had more than one clean end.
"""

import asyncio
import base64
import contextlib
import datetime
import http.client
import json
import os
import re
import signal
import time

from attacks import Group, worker_java
from client import Background
from driver import Driver, table
from failures import Load, Scene, end_group, start_worker
from machine import SERVER_CLASS_PATH, compiled
from processes import ROOT, await_that, need, run, sampled, seconds_until

HANDLER = "burst.BurstHandler"
PROCESSORS = {"dispatcher": 0.5, "base": 0.5, "launched": 0.6}
# Three dispatchers are three JVMs, each of which compiles its code.
FLEET_PROCESSORS = {"dispatcher": 0.9, "base": 0.4, "launched": 0.5}
MEBIBYTES = 1024
CALM_PER_SECOND = 20
TIMES = 10
DELAY_MILLIS = 200
# Of each base worker. The dispatcher aims at four fifths of it: 32 of both. In the burst, 40 requests and 12 streams are in flight.
BASE_CONCURRENCY = 20
MOST_LAUNCHED = 4
LAUNCHED_CONCURRENCY = 20
MEGABYTE = bytes(1_000_000)
STREAM_MILLIS = 250
SHORT_STREAM = 80
ENDLESS_STREAM = 1_000_000
GOING_AWAY = 1012
LEAST_SHARE = {"before": 0.99, "burst": 0.45, "after": 0.99}
DECISION_SECONDS = 0.1
GONE_SECONDS = 60


class Requests(Load):
    """GETs of 200 ms, and one POST of 1 MB in 50 requests. Their path says in which phase they were sent."""

    def __init__(self, port):
        self.phase = "warm-up"
        super().__init__(port, CALM_PER_SECOND)

    def message(self, number):
        if number % 50 == 49:
            return "POST", f"/echo?phase={self.phase}", MEGABYTE
        return "GET", f"/delay?delay={DELAY_MILLIS}&phase={self.phase}", b""


class Streams(Background):
    """
    Clients of long answers, in a thread. Each counts its clean ends; another end is a loss.

    ends -- name of a client -> its clean ends
    losses -- what was lost
    """

    def __init__(self, port):
        self.port = port
        self.ends = {}
        self.losses = []
        super().__init__()

    def add(self, **numbers):
        """Begins as many short streams, endless streams, and WebSockets."""
        for kind, number in numbers.items():
            for _ in range(number):
                name = f"{kind} {len(self.ends) + 1}"
                self.ends[name] = 0
                self.begin(self.stay(name, getattr(self, kind)))

    async def stay(self, name, once):
        while True:
            writer = None
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                if await once(reader, writer):
                    return
                self.ends[name] += 1
            except (OSError, EOFError, ValueError) as failed:
                self.losses.append(f"{name}: {type(failed).__name__} {failed}")
                await asyncio.sleep(0.2)
            finally:
                if writer:
                    writer.close()

    async def short(self, reader, writer):
        parts = await self.events(reader, writer, SHORT_STREAM)
        if parts != SHORT_STREAM:
            raise ValueError(f"{parts} of {SHORT_STREAM} events")
        return True

    async def endless(self, reader, writer):
        await self.events(reader, writer, ENDLESS_STREAM)

    async def events(self, reader, writer, count):
        """@return the number of events, after the end of the body. A chunk can end within one."""
        writer.write(f"GET /sse?count={count}&delay={STREAM_MILLIS} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
        await expect(reader, b" 200 ")
        body = bytearray()
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:size]
        return body.count(b"data:")

    async def websocket(self, reader, writer):
        """Sends a text each second, and expects it back. Returns after a close frame that says that the server goes away."""
        key = base64.b64encode(os.urandom(16)).decode()
        writer.write(f"GET /socket HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
                     f"sec-websocket-key: {key}\r\n\r\n".encode())
        await expect(reader, b" 101 ")
        while True:
            # A text of one byte, masked with zeros.
            writer.write(b"\x81\x81\0\0\0\0x")
            operation, payload = await frame(reader)
            if operation == 8:
                code = int.from_bytes(payload[:2], "big")
                if code != GOING_AWAY:
                    raise ValueError(f"closed with {code}")
                return False
            if (operation, payload) != (1, b"x"):
                raise ValueError(f"frame {operation} with {payload[:20]}")
            await asyncio.sleep(1)


async def expect(reader, status):
    head = await reader.readuntil(b"\r\n\r\n")
    if status not in head.split(b"\r\n")[0] + b" ":
        raise ValueError(head.split(b"\r\n")[0].decode())


async def frame(reader):
    """@return the operation and the payload of a short frame of a server"""
    first, length = await reader.readexactly(2)
    return first & 15, await reader.readexactly(length)


class Stage(Scene):
    """The processes of one run in their control groups, and the launched workers: all, those of now, and the most at one time."""

    def __init__(self, directory, options):
        super().__init__(directory, options)
        self.access_log = directory / "access.log"
        self.launched, self.now, self.most = set(), set(), 0
        self.launches = {}

    def start(self, dispatchers):
        groups = {}
        for name, processors in (PROCESSORS if dispatchers == 1 else FLEET_PROCESSORS).items():
            groups[name] = Group(MEBIBYTES, name, processors)
            self.groups.append(groups[name])
        java = self.directory / "java"
        worker_java(java, groups["launched"].inside)
        settings = {
            "function_handler": HANDLER, "local_class_path": self.options.classes, "local_java": java, "function_min_workers": 0,
            "function_max_workers": MOST_LAUNCHED, "function_worker_concurrency": LAUNCHED_CONCURRENCY, "access_log_file": self.access_log,
            # The last of two killed workers is known to be lost some milliseconds after the first one.
            "function_max_attempts": 3, "function_queue_timeout": "30s", **({"fleet_table": self.directory / "ledger"} if dispatchers > 1 else {})}
        for _ in range(dispatchers):
            # As the construct starts tasks of less than one processor.
            self.dispatcher(**settings).start(prefix=groups["dispatcher"].command([]), environment={"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"})
            self.at_the_end.callback(end_group, self.dispatchers[-1].process.pid)
        self.base = [start_worker(self, groups["base"].command([]), f"{SERVER_CLASS_PATH}:{self.options.classes}", HANDLER=HANDLER, STREAMS=BASE_CONCURRENCY)
                     for _ in range(2)]
        for each in self.dispatchers:
            each.await_ready()
            await_that(lambda: len(each.ready_workers()) == 2, 120, "two base workers", each.process)
        port = self.balance() if dispatchers > 1 else self.dispatchers[0].port
        self.load, self.streams = Requests(port), Streams(port)
        self.at_the_end.callback(self.streams.close)
        self.at_the_end.enter_context(sampled(0.5, self.look))

    def look(self):
        """Collects the launched workers that any dispatcher has."""
        seen = None
        for each in self.dispatchers:
            # A killed dispatcher does not answer.
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
                seen = (seen or set()) | {worker["id"] for worker in each.api("workers") if worker["launched"]}
        if seen is not None:
            self.now = seen
            self.launched |= seen
            self.most = max(self.most, len(seen))

    def phase(self, name, seconds, **streams):
        self.load.phase = name
        self.load.extra = TIMES - 1 if name == "burst" else 0
        self.streams.add(**streams)
        time.sleep(seconds)

    def remember_launches(self):
        """Collects when workers were launched, before a dispatcher that knows it is killed, too."""
        for each in self.dispatchers:
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
                self.launches.update({launch["worker"]: moment(launch["time"]) for launch in each.api("launches")})

    def kill(self, processes):
        self.remember_launches()
        for each in processes:
            os.kill(each.pid, signal.SIGKILL)

    def await_end_of_launched(self):
        return seconds_until(lambda: not self.now, GONE_SECONDS)

    def served(self):
        """What the access log says of each request. The last line may have been cut off by a kill."""
        return [json.loads(line) for line in self.access_log.read_text().splitlines(keepends=True) if line.endswith("}\n")]


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Burst(Driver):
    names = ("burst", "kill-base", "kill-dispatcher")
    tools = ()
    defaults = {"seconds": 60.0, "warm_up": 20.0, "check": False}
    quick = {"seconds": 20.0}

    def execute(self):
        # Fails early without root.
        Group(MEBIBYTES, "burst").remove()
        if "kill-dispatcher" in self.options.only:
            need("haproxy")
        run([ROOT / "dispatcher", "--version"])
        self.options.classes = compiled("BurstHandler", SERVER_CLASS_PATH, self.java, self.directory)
        self.one_by_one(self.stage)

    def stage(self, name, directory):
        with contextlib.closing(Stage(directory, self.options)) as stage:
            stage.start(dispatchers=3 if name == "kill-dispatcher" else 1)
            return self.measure(name, stage)

    def measure(self, name, stage):
        stage.phase("warm-up", self.options.warm_up)
        # The start of the base may have launched workers.
        stage.await_end_of_launched()
        stage.phase("before", 20, endless=1, websocket=1)
        began = time.time()
        stage.phase("burst", self.options.seconds / 2, short=4, endless=3, websocket=3)
        if name == "kill-base":
            stage.kill(stage.base)
        elif name == "kill-dispatcher":
            stage.kill([stage.dispatchers[0].process])
        stage.phase("burst", self.options.seconds / 2)
        stage.remember_launches()
        stage.phase("settling", 0)
        gone = None if name == "kill-base" else round(stage.await_end_of_launched(), 1)
        stage.phase("after", 20)
        stage.load.stop()
        losses = stage.load.losses() + stage.streams.losses
        return {
            "sent": len(stage.load.answers), "lost": len(losses), "losses": sorted(losses)[:10], "shares": shares(stage.served()),
            "most_launched": stage.most, "launched": len(stage.launched), "gone_seconds": gone,
            "clean_ends": dict(sorted(stage.streams.ends.items())), **first_served(stage, began)}

    def meta(self):
        return {"processors": PROCESSORS, "fleet_processors": FLEET_PROCESSORS, "calm_per_second": CALM_PER_SECOND, "times": TIMES, "base_concurrency": BASE_CONCURRENCY}

    def show(self, report):
        print(table(
            "run | sent | lost | share of the base before | in the burst | after | launched, at most at once | cold start, s | served after the first wait, s | gone after, s | most clean ends",
            [[row["name"], row["sent"], row["lost"], *(f"{row['shares'].get(phase, 0):.1%}" for phase in LEAST_SHARE),
              f"{row['launched']}, {row['most_launched']}", row["cold_start"], row["first_served"], row["gone_seconds"], max(row["clean_ends"].values())]
             for row in report["results"]]))
        for row in report["results"]:
            for loss in row["losses"]:
                print(f"{row['name']}: lost {loss}")

    @staticmethod
    def problems(row):
        if row["name"] == "burst":
            yield from (f"lost: {loss}" for loss in row["losses"])
        else:
            yield from (f"lost, though it can be sent again: {loss}" for loss in row["losses"] if loss.startswith("GET"))
        for phase, least in LEAST_SHARE.items():
            if row["name"] != "kill-base" and row["shares"].get(phase, 0) < least:
                yield f"the base has served {row['shares'].get(phase, 0):.1%} of the requests {phase}, expected {least:.0%}"
        if row["most_launched"] > MOST_LAUNCHED:
            yield f"{row['most_launched']} launched workers, expected at most {MOST_LAUNCHED}"
        if None in (row["first_served"], row["cold_start"]):
            yield "no launched worker served a request"
        elif row["first_served"] > row["cold_start"] + DECISION_SECONDS:
            yield (f"the first launched worker served {row['first_served']} s after a request began to wait, "
                   f"expected its cold start of {row['cold_start']} s and {DECISION_SECONDS} s")
        if (row["gone_seconds"] or 0) >= GONE_SECONDS:
            yield f"launched workers were there {GONE_SECONDS} s after the burst"
        yield from (f"{client} had {ends} clean ends, expected at most one" for client, ends in row["clean_ends"].items() if ends > 1)


def first_served(stage, began):
    """
    The time from the arrival of the first request that has to wait in the burst until a launched worker gets a request, and the cold start of
    this worker: from its launch until it is ready.
    """
    ready = {}
    for each in stage.dispatchers:
        for when, worker in re.findall(r"^(\S+) INFO .*worker (\S+) of function \S+ at \S+ is ready", each.process.log.read_text(), re.MULTILINE):
            ready.setdefault(worker, moment(when))
    arrivals = [(moment(line["time"]) - line["total_us"] / 1e6, line.get("queue_us", 0) / 1e6, line) for line in stage.served()]
    waiting = [arrived for arrived, queued, _ in arrivals if arrived >= began and queued > 0.001]
    served = [(arrived + queued, line["worker"]) for arrived, queued, line in arrivals
              if line.get("worker_kind") == "launched" and arrived + queued >= began]
    if not waiting or not served:
        return {"cold_start": None, "first_served": None}
    at, worker = min(served)
    cold = ready[worker] - stage.launches[worker] if worker in ready and worker in stage.launches else None
    return {"cold_start": cold and round(cold, 2), "first_served": round(at - min(waiting), 2)}


def shares(lines):
    """The part of each phase's requests that the base has served."""
    counts = {}
    for line in lines:
        phase = re.search(r"phase=(\S+)", line["path"])
        if phase and "worker_kind" in line:
            counts.setdefault(phase.group(1), []).append(line["worker_kind"] == "base")
    return {phase: sum(kinds) / len(kinds) for phase, kinds in counts.items()}


if __name__ == "__main__":
    Burst.main()
