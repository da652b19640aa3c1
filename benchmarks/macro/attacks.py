#!/usr/bin/env -S python3 -B
"""Attacks a dispatcher, and measures what another client notices.

    benchmarks/macro/attacks.py                            each attack separately, for a minute
    benchmarks/macro/attacks.py half-open-http2 --seconds 20
    benchmarks/macro/attacks.py --at-once --minutes 30 --memory 512
    benchmarks/macro/attacks.py --shares                   one client holds up worker streams: pools × sizes × rates, 10 s each

Each run starts `./dispatcher demo` with one to six local workers, and serves a few ordinary requests. During an attack, a client at another
address requests /ping 20 times a second: alternately on a kept HTTP/1.1 connection, on a new one, and over HTTP/2. It also requests an
image every second.

The exit code is 1 if one of these requests failed, if the p99 of /ping was 50 ms (--p99) or more, or if a worker connection was lost. It
is also 1 if an attack by unfinished requests caused more worker launches than --launches. Complete requests are served as usual, so they
may cause launches. The other client goes on for 10 s after the attack. It is served again when all its requests succeed within a second,
which must take at most 5 s.

With --memory, the dispatcher without its workers runs in a control group with this many MiB (needs root and cgroup v1 or v2), and with
--processors, with this part of a processor. The run then also fails if the dispatcher's memory grows in the second half. Attackers run at
the lowest priority. Otherwise, on a machine with few cores, the run would measure the scheduler. Workers have a lower priority than the
dispatcher, because on Lambda they have their own processors.
"""

import asyncio
import collections
import contextlib
import itertools
import math
import multiprocessing
import os
import pathlib
import queue
import re
import statistics
import time

import hostile
import machine
import processes
from client import Client, Clients, due
from contenders import DEMO_HANDLER
from driver import Driver, table
from load import IMAGE_BYTES, quantile
from processes import ROOT, Failure, Process, await_that, free_port, progress, seconds_until

VICTIM = "127.0.0.2"
EVERY = 0.05
TIMEOUT = 5
# For how long the other client goes on after an attack, and how soon all its requests must be good.
AFTERWARDS = 10
AGAIN_SECONDS = 5

# --shares tries all of these: worker streams of the function, bytes of a response or an upload, and bytes a second of each stream.
POOLS = 1, 2, 4, 8, 100
SIZES = 500_000, 2_000_000, 20_000_000
RATES = 260, 5_000, 100_000, 1_000_000


class Victim(Clients):
    """An ordinary client."""

    def __init__(self, target):
        super().__init__(target.port, TIMEOUT)
        self.target = target
        self.kept = Client(target.port, VICTIM, strict=True)
        self.http2 = None

    async def ask_all(self, out):
        """Puts the answers into a queue every second."""
        turns = itertools.count()
        async for _ in due(math.inf, lambda: EVERY):
            turn, now = next(turns), time.monotonic()
            ask = (self.over_kept, self.over_new, self.over_http2)[turn % 3]
            self.send(now, ask.__name__, ask())
            if turn % 20 == 0:
                self.send(now, "image", self.over_new(hostile.IMAGE, IMAGE_BYTES))
            if turn % 20 == 19:
                out.put(self.answers)
                self.answers = []

    async def over_kept(self):
        return await self.http1(self.kept, "/ping", 4)

    async def over_new(self, path="/ping", size=4):
        with contextlib.closing(Client(self.target.port, VICTIM)) as client:
            return await self.http1(client, path, size)

    @staticmethod
    async def http1(client, path, size):
        status, _, body = await client.request("GET", path)
        if (status, len(body)) != (200, size):
            raise ValueError(f"status {status}, {len(body)} bytes, expected 200 and {size}")
        return status, {}, b""

    async def over_http2(self):
        (reader, writer, stream), self.http2 = self.http2 or (None, None, 1), None
        if reader is None:
            reader, writer = await asyncio.open_connection(self.target.host, self.target.port, local_addr=(VICTIM, 0))
            writer.write(hostile.PREFACE + hostile.settings())
        try:
            writer.write(hostile.got("/ping")(stream))
            ended = False
            while not ended:
                header = await reader.readexactly(9)
                payload = await reader.readexactly(int.from_bytes(header[:3], "big"))
                kind, flags, its = header[3], header[4], int.from_bytes(header[5:], "big")
                if kind in (hostile.SETTINGS, hostile.PING) and not flags & hostile.ACK:
                    writer.write(hostile.frame(kind, hostile.ACK, 0, payload if kind == hostile.PING else b""))
                elif kind == hostile.GOAWAY:
                    raise ValueError(f"GOAWAY with error {payload[7]}: {payload[8:].decode()}")
                elif kind == hostile.RST_STREAM and its == stream:
                    raise ValueError(f"the HTTP/2 stream was reset with error {payload[3]}")
                elif kind == hostile.HEADERS and its == stream and payload[0] != 0x88:
                    raise ValueError("an HTTP/2 response without status 200")
                if kind == hostile.DATA and payload:
                    writer.write(hostile.window_update(0, len(payload)))
                ended = its == stream and kind in (hostile.HEADERS, hostile.DATA) and flags & hostile.END_STREAM
        except BaseException:
            writer.close()
            raise
        self.http2 = (reader, writer, stream + 2)
        return 200, {}, b""


def run_victim(target, out):
    with contextlib.suppress(PermissionError):
        os.nice(-10)
    victim = Victim(target)
    victim.run(victim.ask_all(out))


class Group:
    """A control group with a memory limit, and perhaps a limit of its processor time."""

    def __init__(self, mebibytes, name="dispatcher", processors=None):
        root = pathlib.Path("/sys/fs/cgroup")
        self.v1 = (root / "memory").is_dir()
        # Version 1 has a tree for each kind of limit.
        parents = [root / "memory", root / "cpu"] if self.v1 else [root]
        self.paths = [parent / f"{name}-{os.getpid()}" for parent in parents]
        self.inside = [path / "cgroup.procs" for path in self.paths]
        self.outside = [parent / "cgroup.procs" for parent in parents]
        try:
            for path in self.paths:
                path.mkdir()
            (self.paths[0] / ("memory.limit_in_bytes" if self.v1 else "memory.max")).write_text(str(mebibytes << 20))
            if processors:
                self.limit_processors(processors)
        except OSError as failure:
            self.remove()
            raise Failure(f"limits of memory and of processor time need root and control groups for both: {failure}") from failure

    def limit_processors(self, processors):
        quota = int(processors * 100_000)
        (self.paths[-1] / ("cpu.cfs_quota_us" if self.v1 else "cpu.max")).write_text(str(quota) if self.v1 else f"{quota} 100000")

    def command(self, command):
        return ["/bin/sh", "-c", f"{entering(self.inside)}exec \"$@\"", "sh", *command]

    def killed(self):
        text = (self.paths[0] / ("memory.oom_control" if self.v1 else "memory.events")).read_text()
        return int(re.search(r"oom_kill (\d+)", text).group(1))

    def remove(self):
        """Waits until no process is in it any more."""

        def is_removed(path):
            with contextlib.suppress(OSError):
                path.rmdir()
            return not path.exists()

        for path in self.paths:
            seconds_until(lambda path=path: is_removed(path), 5)


def entering(files):
    """Shell commands that put the shell into other control groups."""
    return "".join(f"echo $$ > {file}\n" for file in files)


def worker_java(path, group_files):
    """Writes a `java` script for workers, which enters other control groups than the dispatcher's, and runs with lower priority."""
    path.write_text(f"#!/bin/sh\n{entering(group_files)}exec nice -n 5 {machine.java_of(None)} \"$@\"\n")
    path.chmod(0o755)


class Demo:
    """A dispatcher with local workers. Optionally, one worker with this many streams, and a file of this many bytes at /read."""

    def __init__(self, options, directory, streams=None, file_bytes=None):
        self.options = options
        self.group = None
        self.target = hostile.Target("127.0.0.1", free_port(), free_port(), free_port(), free_port())
        java = pathlib.Path(directory) / "java"
        command = [
            options.dispatcher, "demo", "--public-plain-port", self.target.port, "--public-tls-port", self.target.tls,
            "--workers-port", self.target.workers, "--admin-port", self.target.admin,
            "--function-min-workers", "1", "--function-max-workers", "1" if streams else "6", "--function-launch-timeout", "3m",
            "--local-java", java]
        if streams:
            file = pathlib.Path(directory) / "file"
            file.write_bytes(bytes(file_bytes))
            command += ["--function-worker-concurrency", streams, "--local-environment", f"LAMBDA_DISPATCHER_HANDLER={DEMO_HANDLER} DEMO_FILE={file}"]
        if options.memory:
            self.group = Group(options.memory, processors=options.processors)
            command = self.group.command([*map(str, command)])
        worker_java(java, self.group.outside if self.group else ())
        environment = {"LAMBDA_DISPATCHER_JAVA_OPTS": options.jvm_flags} if options.jvm_flags else None
        self.process = Process("dispatcher", command, None, directory, environment)
        await_that(lambda: processes.answers(f"http://127.0.0.1:{self.target.admin}/ready"), 900, "the dispatcher to be ready", self.process)

    def warm_up(self):
        """Serves some requests first: a dispatcher that is attacked has usually run for some time, so its code is compiled."""
        for path in ("/ping", hostile.IMAGE):
            processes.run([processes.tool("h2load"), "-c", "10", "-m", "10", "-D", "5", f"http://{self.target.host}:{self.target.port}{path}"])
        attack(self, [], 5)

    def counters(self):
        """The launches, and the protections and ended worker connections by their names."""
        found = collections.Counter()
        try:
            metrics = processes.metrics(self.target.admin)
        except OSError as failure:
            raise Failure(f"the admin port did not answer: {failure}") from failure
        for name, labels, value in metrics:
            if name.removeprefix("lambda_dispatcher_") in ("launches_total", "worker_connections_closed_total", "protections_total"):
                label = re.search(r'(?:protection|end)="(\w+)"', labels)
                found[label.group(1) if label else "launches_total"] += value
        return found

    def rss_mib(self):
        """The memory of the dispatcher without its workers. Its script becomes the JVM."""
        return processes.rss_kib(self.process.pid) / 1024


def attack(demo, names, seconds, afterwards=0):
    """Runs attacks concurrently, and another client also for some time after them. @return what the client and the dispatcher have noticed"""
    before, rss_before, memory = demo.counters(), demo.rss_mib(), []
    counts_out, victim_out = multiprocessing.Queue(), multiprocessing.Queue()
    attackers = [multiprocessing.Process(target=hostile.run, args=(name, demo.target, counts_out), daemon=True) for name in names]
    victim = multiprocessing.Process(target=run_victim, args=(demo.target, victim_out), daemon=True)
    for process in (victim, *attackers):
        process.start()
    counts, asked = {}, []
    ends = time.monotonic() + seconds
    try:
        while time.monotonic() < ends:
            time.sleep(0.5)
            demo.process.check()
            memory.append(demo.rss_mib())
            drain(counts_out, lambda item: counts.update([item]))
            drain(victim_out, asked.extend)
        if afterwards:
            for attacker in attackers:
                attacker.kill()
            time.sleep(afterwards)
            demo.process.check()
            drain(victim_out, asked.extend)
    finally:
        for process in (victim, *attackers):
            process.kill()
            process.join()
    # Of images, only failures count.
    asked = [answer for answer in asked if answer.problem or answer.what != "image"]
    during = [answer for answer in asked if answer.ended < ends]
    pings = sorted(1000 * (answer.ended - answer.planned) for answer in during if not answer.problem)
    failed = [f"{answer.what}: {answer.problem}" for answer in during if answer.problem]
    bad = [answer.ended - ends for answer in asked if answer.ended >= ends and not answer.is_good()]
    change = demo.counters() - before
    launches, lost, _ = (int(change.pop(name, 0)) for name in ("launches_total", "lost", "drained"))
    return {
        "attacks": names, "seconds": seconds, "attackers": sum(map(collections.Counter, counts.values()), collections.Counter()),
        "asked": len(during), "failed": len(failed), "failures": dict(collections.Counter(failed).most_common(5)),
        "p50": quantile(pings, 0.5) if pings else None, "p99": quantile(pings, 0.99) if pings else None,
        "max": pings[-1] if pings else None, "again": max(bad, default=0), "launches": launches, "lost": lost,
        "protections": {name: int(times) for name, times in sorted(change.items())}, "rss_before": rss_before,
        "rss_max": max(memory, default=0), "memory": memory}


def drain(items, take):
    with contextlib.suppress(queue.Empty):
        while True:
            take(items.get_nowait())


def complaints(result, options):
    if result["failed"]:
        yield f"{result['failed']} of {result['asked']} requests of the other client failed: {result['failures']}"
    if result["p99"] is None or result["p99"] >= options.p99:
        yield f"p99 {shown(result['p99'])} ms, expected less than {options.p99:g}"
    if result["launches"] > options.launches and not set(result["attacks"]) & hostile.WHOLE_REQUESTS:
        yield f"{result['launches']} workers were launched, expected at most {options.launches}"
    if result["again"] > AGAIN_SECONDS:
        yield f"the other client was served again {result['again']:.1f} s after the attack, expected at most {AGAIN_SECONDS}"
    if result["lost"]:
        yield f"{result['lost']} worker connections were lost"
    quarter = len(result["memory"]) // 4
    if options.memory and quarter:
        third, last = (statistics.median(some) for some in (result["memory"][-2 * quarter : -quarter], result["memory"][-quarter:]))
        if last > 1.1 * third:
            yield f"memory grew from {third:.0f} to {last:.0f} MiB in the second half"


def shown(value):
    return "–" if value is None else f"{value:.1f}"


def rows(results):
    return table("attack | attackers | other client: asked, failed | p50, p99, max ms | served again after, s | worker connections lost | launches | RSS MiB: before, highest | protections", [
        [
            r["attacks"][0] if len(r["attacks"]) == 1 else "all at once",
            ", ".join(f"{key} {value:,}" for key, value in sorted(r["attackers"].items())), f"{r['asked']:,}, {r['failed']:,}",
            f"{shown(r['p50'])}, {shown(r['p99'])}, {shown(r['max'])}", shown(r["again"]), r["lost"], r["launches"], f"{r['rss_before']:.0f}, {r['rss_max']:.0f}",
            ", ".join(f"{key} {value:,}" for key, value in r["protections"].items()) or "–",
        ] for r in results])


class Attacks(Driver):
    tools = ("h2load",)
    defaults = {
        "seconds": (float, "duration of each attack (default: 60, or 10 with --shares)"),
        "shares": (False, "lets one client hold up worker streams, in pools of 1 to 100 streams"),
        "at_once": (False, "runs all attacks concurrently"),
        "minutes": (float, "duration in minutes; overrides --seconds"),
        "memory": (int, "limits the dispatcher's memory by a control group, to this many MiB"),
        "processors": (float, "limits the dispatcher's processor time, with --memory"),
        "jvm_flags": ("", "adds flags to the dispatcher's JVM"),
        "dispatcher": (ROOT / "dispatcher", "runs the launch script of another checkout, for comparison"),
        "launches": (0, "maximum of worker launches that an attack by unfinished requests may cause"),
        "p99": (50.0, "maximum p99 of /ping in ms")}

    @classmethod
    def arguments(cls, parser):
        parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"attacks to run; default: all of {', '.join(hostile.ATTACKS)}")

    @classmethod
    def verify(cls, options):
        options.attacks = options.attacks or list(hostile.ATTACKS)
        processes.some_of("attacks", ",".join(options.attacks), hostile.ATTACKS)
        if "slowhttptest" in options.attacks and not options.shares:
            processes.need("slowhttptest")
        options.seconds = options.minutes * 60 if options.minutes else options.seconds or (10 if options.shares else 60)

    def execute(self):
        self.failed = []
        if self.options.shares:
            self.shares()
            return
        names = self.options.attacks
        for run in [names] if self.options.at_once else [[name] for name in names]:
            title = run[0] if len(run) == 1 else "all at once"
            for complaint in self.attack(run, self.directory / title.replace(" ", "-")):
                self.failed.append(f"{title}: {complaint}")
                progress(self.failed[-1])

    def attack(self, names, directory):
        """Runs attacks on a new dispatcher. @return complaints"""
        try:
            with self.demo(directory) as demo:
                demo.warm_up()
                progress(f"{', '.join(names)} for {self.options.seconds:g} s")
                result = attack(demo, names, self.options.seconds, AFTERWARDS)
                self.results.append(result)
                killed = ["the kernel killed a process because it was out of memory"] if demo.group and demo.group.killed() else []
                return [*complaints(result, self.options), *killed]
        except Failure as failure:
            return [str(failure)]

    @contextlib.contextmanager
    def demo(self, directory, *more):
        directory.mkdir()
        demo = None
        try:
            demo = Demo(self.options, directory, *more)
            yield demo
        finally:
            processes.stop_all()
            if demo and demo.group:
                demo.group.remove()

    def shares(self):
        """Lets one client hold up worker streams in each way."""
        for streams, size in itertools.product(POOLS, SIZES):
            try:
                with self.demo(self.directory / f"{streams}-{size}", streams, size) as demo:
                    attack(demo, [], 3)
                    for client, (kind, rate) in enumerate(itertools.product(hostile.HOLDING, RATES), 1):
                        r = attack(demo, [f"{kind}:{rate}:{size}:{client}"], self.options.seconds)
                        title = f"{streams} streams, {kind} of {size:,} at {rate:,} bytes/s"
                        progress(f"{title}: asked {r['asked']:,}, failed {r['failed']:,}, p99 {shown(r['p99'])} ms")
                        self.results.append({"streams": streams, "kind": kind, "bytes": size, "rate": rate, **r})
                        if r["failed"] or not r["asked"]:
                            self.failed.append(f"{title}: {r['failures']} of {r['asked']}")
            except Failure as failure:
                self.failed.append(f"{streams} streams, {size:,} bytes: {failure}")

    def show(self, report):
        if not self.options.shares:
            print(rows(report["results"]))
            return
        print(table("streams | attack | bytes | bytes/s | other client: asked, failed | p50, p99, max ms | share_exceeded", [
            [r["streams"], r["kind"], f"{r['bytes']:,}", f"{r['rate']:,}", f"{r['asked']:,}, {r['failed']:,}",
             f"{shown(r['p50'])}, {shown(r['p99'])}, {shown(r['max'])}", f"{r['protections'].get('share_exceeded', 0):,}"] for r in report["results"]]))

    def failures(self, report):
        return self.failed


if __name__ == "__main__":
    Attacks.main()
