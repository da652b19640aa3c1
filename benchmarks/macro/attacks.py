#!/usr/bin/env python3
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
import itertools
import multiprocessing
import os
import pathlib
import queue
import re
import stat
import statistics
import subprocess
import sys
import time
import urllib.request

sys.dont_write_bytecode = True
import hostile  # noqa: E402
import machine  # noqa: E402
import processes  # noqa: E402
from driver import Driver, table  # noqa: E402
from load import IMAGE_BYTES  # noqa: E402
from machine import progress  # noqa: E402
from processes import ROOT, Failure, Process, await_that, free_port  # noqa: E402

VICTIM = "127.0.0.2"
EVERY = 0.05
TIMEOUT = 5
# For how long the other client goes on after an attack, within which time one of its requests is good, and how soon all must be.
AFTERWARDS = 10
GOOD_MILLIS = 1000
AGAIN_SECONDS = 5

# --shares tries all of these: worker streams of the function, bytes of a response or an upload, and bytes a second of each stream.
POOLS = 1, 2, 4, 8, 100
SIZES = 500_000, 2_000_000, 20_000_000
RATES = 260, 5_000, 100_000, 1_000_000


class Victim:
    """An ordinary client. Results: (milliseconds, failure or None, time of its end) for /ping; failures of images."""

    def __init__(self, target):
        self.target = target
        self.results = []
        self.kept = None
        self.http2 = None

    async def run(self, out):
        turn = 0
        asking = set()
        kinds = (self.over_kept, self.over_new, self.over_http2)
        while True:
            asking.add(asyncio.ensure_future(self.timed(kinds[turn % 3], self.results)))
            if turn % 20 == 0:
                asking.add(asyncio.ensure_future(self.timed(self.image, None)))
            asking = {task for task in asking if not task.done()}
            turn += 1
            if turn % 20 == 0:
                out.put(self.results)
                self.results = []
            await asyncio.sleep(EVERY)

    async def timed(self, ask, results):
        begun = time.monotonic()
        failure = None
        try:
            await asyncio.wait_for(ask(), TIMEOUT)
        except asyncio.TimeoutError:
            failure = f"no answer within {TIMEOUT} s"
        except (OSError, asyncio.IncompleteReadError, ValueError) as problem:
            failure = f"{type(problem).__name__} {problem}"
        ended = time.monotonic()
        if results is not None or failure:
            self.results.append(((ended - begun) * 1000, f"{ask.__name__}: {failure}" if failure else None, ended))

    async def connect(self):
        return await asyncio.open_connection(self.target.host, self.target.port, local_addr=(VICTIM, 0))

    async def over_new(self):
        reader, writer = await self.connect()
        try:
            await self.http1(reader, writer, "/ping", 4)
        finally:
            writer.close()

    async def image(self):
        reader, writer = await self.connect()
        try:
            await self.http1(reader, writer, hostile.IMAGE, IMAGE_BYTES)
        finally:
            writer.close()

    async def over_kept(self):
        kept, self.kept = self.kept, None
        reader, writer = kept or await self.connect()
        try:
            await self.http1(reader, writer, "/ping", 4)
        except BaseException:
            writer.close()
            raise
        self.kept = (reader, writer)

    @staticmethod
    async def http1(reader, writer, path, size):
        writer.write(f"GET {path} HTTP/1.1\r\nhost: victim.example\r\n\r\n".encode())
        answer = (await reader.readuntil(b"\r\n\r\n")).decode()
        if not answer.startswith("HTTP/1.1 200"):
            raise ValueError(answer.split("\r\n", 1)[0])
        length = int(re.search(r"(?i)\r\ncontent-length: (\d+)", answer).group(1))
        if len(await reader.readexactly(length)) != size:
            raise ValueError(f"{length} bytes, expected {size}")

    async def over_http2(self):
        mine, self.http2 = self.http2, None
        if mine is None:
            reader, writer = await self.connect()
            writer.write(hostile.PREFACE + hostile.settings())
            stream = 1
        else:
            reader, writer, stream = mine
        try:
            writer.write(hostile.frame(
                hostile.HEADERS, hostile.END_HEADERS | hostile.END_STREAM, stream, hostile.head("GET", "/ping")))
            ended = False
            while not ended:
                header = await reader.readexactly(9)
                payload = await reader.readexactly(int.from_bytes(header[:3], "big"))
                kind, flags, its = header[3], header[4], int.from_bytes(header[5:], "big")
                if kind == hostile.SETTINGS and not flags & hostile.ACK:
                    writer.write(hostile.frame(hostile.SETTINGS, hostile.ACK, 0))
                elif kind == hostile.PING and not flags & hostile.ACK:
                    writer.write(hostile.frame(hostile.PING, hostile.ACK, 0, payload))
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


def run_victim(target, out):
    try:
        os.nice(-10)
    except PermissionError:
        pass
    asyncio.run(Victim(target).run(out))


class Group:
    """A control group with a memory limit, and perhaps a limit of its processor time."""

    def __init__(self, mebibytes, name="dispatcher"):
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
        except OSError as failure:
            self.remove()
            raise Failure(f"a limit of memory needs root and a control group for memory: {failure}") from failure

    def limit_processors(self, processors):
        quota = int(processors * 100_000)
        try:
            (self.paths[-1] / ("cpu.cfs_quota_us" if self.v1 else "cpu.max")).write_text(str(quota) if self.v1 else f"{quota} 100000")
        except OSError as failure:
            raise Failure(f"a limit of processor time needs root and a control group for processors: {failure}") from failure

    def command(self, command):
        return ["/bin/sh", "-c", f"{entering(self.inside)}exec \"$@\"", "sh", *command]

    def killed(self):
        text = (self.paths[0] / ("memory.oom_control" if self.v1 else "memory.events")).read_text()
        return int(re.search(r"oom_kill (\d+)", text).group(1))

    def remove(self):
        for path in self.paths:
            for _ in range(50):
                try:
                    path.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.1)


def entering(files):
    """Shell commands that put the shell into other control groups."""
    return "".join(f"echo $$ > {file}\n" for file in files)


def worker_java(path, group_files):
    """Writes a `java` script for workers, which enters other control groups than the dispatcher's, and runs with lower priority."""
    path.write_text(f"#!/bin/sh\n{entering(group_files)}exec nice -n 5 {machine.java_of(None)} \"$@\"\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Demo:
    """A dispatcher with local workers. Optionally, one worker with this many streams, and a file of this many bytes at /read."""

    def __init__(self, options, directory, streams=None, file_bytes=None):
        self.options = options
        self.group = None
        self.target = hostile.Target("127.0.0.1", free_port(), free_port(), free_port(), free_port())
        command = [
            options.dispatcher, "demo", "--public-plain-port", self.target.port, "--public-tls-port", self.target.tls,
            "--workers-port", self.target.workers, "--admin-port", self.target.admin,
            "--function-min-workers", "1", "--function-max-workers", "1" if streams else "6", "--function-launch-timeout", "3m",
            "--local-java", pathlib.Path(directory) / "java", *options.setting]
        if streams:
            file = pathlib.Path(directory) / "file"
            file.write_bytes(bytes(file_bytes))
            handler = "io.lambdadispatcher.server.demo.DemoHandler"
            command += ["--function-worker-concurrency", streams, "--local-environment", f"LAMBDA_DISPATCHER_HANDLER={handler} DEMO_FILE={file}"]
        if options.memory:
            self.group = Group(options.memory)
            if options.processors:
                self.group.limit_processors(options.processors)
            command = self.group.command([*map(str, command)])
        worker_java(pathlib.Path(directory) / "java", self.group.outside if self.group else ())
        environment = {"LAMBDA_DISPATCHER_JAVA_OPTS": options.jvm_flags} if options.jvm_flags else None
        self.process = Process("dispatcher", command, None, directory, environment)
        await_that(lambda: self.admin("/ready") is not None, 900, "the dispatcher to be ready", self.process)

    def warm_up(self):
        """Serves some requests first: a dispatcher that is attacked has usually run for some time, so its code is compiled."""
        for path in ("/ping", hostile.IMAGE):
            subprocess.run(
                [processes.tool("h2load"), "-c", "10", "-m", "10", "-D", "5", f"http://{self.target.host}:{self.target.port}{path}"],
                stdout=subprocess.DEVNULL, check=True)
        Attack(self, [], 5).execute()

    def admin(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.target.admin}{path}", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def counters(self):
        found = collections.Counter()
        text = self.admin("/metrics")
        if text is None:
            raise Failure("the admin port did not answer within 5 s")
        for line in text.splitlines():
            match = re.match(r"lambda_dispatcher_(launches_total|worker_connections_closed_total|protections_total)(\{[^}]*\})? (\S+)", line)
            if match:
                label = re.search(r'(?:protection|end)="(\w+)"', match.group(2) or "")
                name = match.group(1) if label is None else label.group(1)
                found[name] += float(match.group(3))
        return found

    def rss_mib(self):
        """The memory of the dispatcher without its workers: the JVM that is their parent."""
        return max((processes.rss_kib(pid) / 1024 for pid in self.jvms()), default=0)

    def jvms(self):
        pid = self.process.pid
        while True:
            name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
            if name == "java":
                return [pid]
            below = processes.children(pid)
            if not below:
                return []
            pid = below[0]


class Attack:
    def __init__(self, demo, names, seconds, afterwards=0):
        self.afterwards = afterwards
        self.demo = demo
        self.names = names
        self.seconds = seconds
        self.memory = []

    def execute(self):
        demo = self.demo
        before = demo.counters()
        rss_before = demo.rss_mib()
        counts_out = multiprocessing.Queue()
        victim_out = multiprocessing.Queue()
        attackers = [
            multiprocessing.Process(target=hostile.run, args=(name, demo.target, counts_out), daemon=True) for name in self.names]
        victim = multiprocessing.Process(target=run_victim, args=(demo.target, victim_out), daemon=True)
        victim.start()
        for attacker in attackers:
            attacker.start()
        counts, asked = {}, []
        ends = time.monotonic() + self.seconds
        try:
            while time.monotonic() < ends:
                time.sleep(0.5)
                demo.process.check()
                self.memory.append(demo.rss_mib())
                drain(counts_out, lambda item: counts.update([item]))
                drain(victim_out, asked.extend)
            if self.afterwards:
                for attacker in attackers:
                    attacker.kill()
                time.sleep(self.afterwards)
                demo.process.check()
                drain(victim_out, asked.extend)
        finally:
            for process in (victim, *attackers):
                process.kill()
                process.join()
        after = demo.counters()
        return self.result(before, after, rss_before, counts, asked, ends)

    def result(self, before, after, rss_before, counts, all_asked, ends):
        change = after - before
        asked = [each for each in all_asked if each[2] < ends]
        pings = sorted(taken for taken, failure, _ in asked if failure is None)
        failed = [failure for _, failure, _ in asked if failure]
        bad = [ended - ends for taken, failure, ended in all_asked if ended >= ends and (failure or taken > GOOD_MILLIS)]
        attack = collections.Counter()
        for each in counts.values():
            attack.update(each)
        launches = int(change.pop("launches_total", 0))
        lost = int(change.pop("lost", 0))
        change.pop("drained", None)
        return {
            "attacks": self.names,
            "seconds": self.seconds,
            "attackers": dict(attack),
            "asked": len(asked),
            "failed": len(failed),
            "failures": dict(collections.Counter(failed).most_common(5)),
            "p50": percentile(pings, 50),
            "p99": percentile(pings, 99),
            "max": pings[-1] if pings else None,
            "again": max(bad, default=0),
            "launches": launches,
            "lost": lost,
            "protections": {name: int(times) for name, times in sorted(change.items())},
            "rss_before": rss_before,
            "rss_max": max(self.memory, default=0),
            "memory": self.memory,
        }


def drain(items, take):
    while True:
        try:
            take(items.get_nowait())
        except queue.Empty:
            return


def percentile(ordered, percent):
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else None


def complaints(result, options):
    found = []
    if result["failed"]:
        found.append(f"{result['failed']} of {result['asked']} requests of the other client failed: {result['failures']}")
    if result["p99"] is None or result["p99"] >= options.p99:
        found.append(f"p99 {shown(result['p99'])} ms, expected less than {options.p99:g}")
    if result["launches"] > options.launches and not set(result["attacks"]) & hostile.WHOLE_REQUESTS:
        found.append(f"{result['launches']} workers were launched, expected at most {options.launches}")
    if result["again"] > AGAIN_SECONDS:
        found.append(f"the other client was served again {result['again']:.1f} s after the attack, expected at most {AGAIN_SECONDS}")
    if result["lost"]:
        found.append(f"{result['lost']} worker connections were lost")
    if options.memory:
        memory = result["memory"]
        third, last = memory[len(memory) // 2 : len(memory) * 3 // 4], memory[len(memory) * 3 // 4 :]
        if third and last and statistics.median(last) > 1.1 * statistics.median(third):
            found.append(f"memory grew from {statistics.median(third):.0f} to {statistics.median(last):.0f} MiB in the second half")
    return found


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

    @classmethod
    def arguments(cls, parser):
        parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"attacks to run; default: all of {', '.join(hostile.ATTACKS)}")
        parser.add_argument("--seconds", type=float, help="duration of each attack (default: 60, or 10 with --shares)")
        parser.add_argument("--shares", action="store_true", help="lets one client hold up worker streams, in pools of 1 to 100 streams")
        parser.add_argument("--at-once", action="store_true", help="runs all attacks concurrently")
        parser.add_argument("--minutes", type=float, help="duration in minutes; overrides --seconds")
        parser.add_argument("--memory", type=int, metavar="MIB", help="limits the dispatcher's memory by a control group")
        parser.add_argument("--processors", type=float, metavar="N", help="limits the dispatcher's processor time, with --memory")
        parser.add_argument("--jvm-flags", default="", help="adds flags to the dispatcher's JVM")
        parser.add_argument(
            "--setting", action="append", default=[], metavar="--NAME=VALUE", help="sets a setting of the dispatcher; may be repeated")
        parser.add_argument(
            "--dispatcher", type=pathlib.Path, default=ROOT / "dispatcher", help="runs the launch script of another checkout, for comparison")
        parser.add_argument(
            "--launches", type=int, default=0, metavar="N",
            help="maximum of worker launches that an attack by unfinished requests may cause (default: 0)")
        parser.add_argument("--p99", type=float, default=50, metavar="MS", help="maximum p99 of /ping (default: 50)")

    @classmethod
    def verify(cls, options):
        options.attacks = options.attacks or list(hostile.ATTACKS)
        unknown = [name for name in options.attacks if name not in hostile.ATTACKS]
        if unknown:
            raise Failure(f"no attack '{unknown[0]}'; expected some of: {', '.join(hostile.ATTACKS)}")
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
        directory.mkdir()
        demo = None
        try:
            demo = Demo(self.options, directory)
            demo.warm_up()
            progress(f"{', '.join(names)} for {self.options.seconds:g} s")
            result = Attack(demo, names, self.options.seconds, AFTERWARDS).execute()
            self.results.append(result)
            found = complaints(result, self.options)
            if demo.group and demo.group.killed():
                found.append("the kernel killed a process because it was out of memory")
            return found
        except Failure as failure:
            return [str(failure)]
        finally:
            processes.stop_all()
            if demo and demo.group:
                demo.group.remove()

    def shares(self):
        """Lets one client hold up worker streams in each way."""
        for streams, size in itertools.product(POOLS, SIZES):
            try:
                place = self.directory / f"{streams}-{size}"
                place.mkdir()
                demo = Demo(self.options, place, streams, size)
                Attack(demo, [], 3).execute()
                for client, (kind, rate) in enumerate(itertools.product(hostile.HOLDING, RATES), 1):
                    r = Attack(demo, [f"{kind}:{rate}:{size}:{client}"], self.options.seconds).execute()
                    title = f"{streams} streams, {kind} of {size:,} at {rate:,} bytes/s"
                    progress(f"{title}: asked {r['asked']:,}, failed {r['failed']:,}, p99 {shown(r['p99'])} ms")
                    self.results.append({"streams": streams, "kind": kind, "bytes": size, "rate": rate, **r})
                    if r["failed"] or not r["asked"]:
                        self.failed.append(f"{title}: {r['failures']} of {r['asked']}")
            except Failure as failure:
                self.failed.append(f"{streams} streams, {size:,} bytes: {failure}")
            finally:
                processes.stop_all()

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
