#!/usr/bin/env -S python3 -B
"""Causes failures under load, and reports what clients lose, and which line of the log tells of each.

    benchmarks/macro/failures.py                                  about ten minutes
    benchmarks/macro/failures.py --only kill-worker,full-disk
    benchmarks/macro/failures.py --check

Everything runs on loopback: ./dispatcher with local workers, and for a fleet two dispatchers behind HAProxy, with a ledger in a file. A load
at a constant rate begins before the failure, and ends when it is over for some time. Every fourth request is a POST.

- sent: requests during the failure and the time after it.
- lost: those that were answered with another status than 200, incompletely, or not within 30 s.
- recovery: the time from the failure until at least 95 % of the requests of a second are answered with 200 within a second.
- the line: the first line at WARN or ERROR that tells of the failure.

With --check, it fails if a planned change loses a request, or if no line tells of another failure.
"""

import collections
import contextlib
import fcntl
import itertools
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from attacks import Group, worker_java
from client import Answer, Clients, due
from contenders import DEMO_HANDLER, SECRET, arguments, haproxy_command, variables
from driver import Driver, table
from machine import SERVER_CLASS_PATH, java_of
from processes import ROOT, Failure, Process, answers, await_that, children, free_port, need, run, stand_in, stop_all, tool

TOKEN = "a-token-for-this-machine-and-for-measuring"
TIMEOUT = 30
SHARE = 0.95
# A request takes as long in the handler, so some are in flight at any time.
DELAY_MILLIS = 50
STREAM_PARTS = 40

FAILURES = {}


# One failure: what happens; what causes it, and returns when it is over; what matches the line of the log that tells of it (None = the change is
# planned, and nobody has to be told); and the alert rules that tell of it if it lasts.
Cause = collections.namedtuple("Cause", "title run tells alert")


def failure(title, tells=None, alert=""):
    def add(run):
        FAILURES[run.__name__.replace("_", "-")] = Cause(title, run, tells, alert)
        return run

    return add


# Load


class Load(Clients):
    """Sends requests at a constant rate, until it is stopped."""

    def __init__(self, port, per_second):
        super().__init__(port, TIMEOUT)
        self.per_second = per_second
        self.extra = 0
        self.ended = False
        self.running = self.begin(self.send_all())

    async def send_all(self):
        numbers = itertools.count()
        async for planned in due(math.inf, lambda: 1 / self.per_second):
            if self.ended:
                break
            for _ in range(1 + self.extra):
                method, path, body = self.message(next(numbers))
                self.send(planned, method, self.client.request(method, path, body))
        await self.finish()

    def message(self, number):
        """@return the method, the path and the body of a request"""
        return ("POST", "/echo", b"order") if number % 4 == 3 else ("GET", f"/delay?delay={DELAY_MILLIS}", b"")

    def has_settled(self):
        """Whether all requests of the last two seconds were good."""
        now = time.monotonic()
        late = [answer for answer in self.answers[:] if answer.ended >= now - 2]
        return len(late) >= self.per_second and all(answer.is_good() for answer in late)

    def stop(self):
        self.ended = True
        self.running.result()
        self.close()


def recovery(answers, began):
    """
    Returns the seconds from the failure until the end of the last second in which too few requests were good, 0 if there was none, or None
    if the last second was one.
    """
    after = sorted((answer for answer in answers if answer.planned >= began), key=lambda answer: answer.planned)
    end, whole = 0, int(after[-1].planned - began) if after else 0
    for start in range(whole):
        second = [answer for answer in after if start <= answer.planned - began < start + 1]
        if sum(answer.is_good() for answer in second) < SHARE * len(second):
            end = start + 1
    if end and end == whole:
        return None
    # The requests that were late or lost say more exactly when it was over.
    bad = [answer.planned - began for answer in after if not answer.is_good() and answer.planned - began < end]
    return round(max(bad), 1) if bad else 0


# What fails


class Dispatcher:
    """./dispatcher serve, with two local workers by default. A setting of None is left out."""

    def __init__(self, directory, name, settings):
        self.directory = directory
        self.name = name
        self.port, self.admin, self.workers = free_port(), free_port(), free_port()
        self.file = directory / f"{name}.yaml"
        self.logged = 0
        self.settings = {
            "config": self.file, "public-plain-port": f"127.0.0.1:{self.port}", "public-tls-port": "off", "admin-port": self.admin,
            "workers-port": f"127.0.0.1:{self.workers}", "function-launcher": "local", "function-min-workers": 2, "function-max-workers": 4,
            "function-handler": DEMO_HANDLER, "function-worker-concurrency": 20, "event-loops": 1,
            "local-jvm-flags": "-Xmx64m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "function-launch-timeout": "60s", "shutdown-delay": "0",
            "workers-secret": SECRET, "admin-token": TOKEN, **settings}
        self.file.write_text("function.queue-timeout: 10s\n")

    def command(self):
        return [ROOT / "dispatcher", "serve", *arguments(self.settings)]

    def start(self, prefix=(), environment=None):
        self.process = Process(self.name, [*prefix, *self.command()], None, self.directory, environment)
        return self

    def await_ready(self):
        await_that(lambda: answers(f"http://127.0.0.1:{self.admin}/ready"), 300, f"{self.name} to be ready", self.process)
        return self

    def a_worker(self):
        """The process of one local worker."""
        return children(self.process.pid)[0]

    def signal(self, number):
        os.kill(self.process.pid, number)

    def api(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/api/{name}", timeout=10) as answer:
            return json.load(answer)

    def ready_workers(self):
        return [worker["id"] for worker in self.api("workers") if worker["state"] == "ready"]

    def change(self, *command):
        command = [ROOT / "dispatcher", *command, "--admin-url", f"http://127.0.0.1:{self.admin}"]
        run(command, env={**os.environ, **variables({"ADMIN_TOKEN": TOKEN})})

    def log(self):
        """What it has logged since the failure."""
        return self.process.log.read_text(errors="replace")[self.logged:] if hasattr(self, "process") else ""


# Settings of a dispatcher that launches no workers.
EXTERNAL = {"function_launcher": "external", **dict.fromkeys((
    "function_min_workers", "function_max_workers", "function_handler", "local_jvm_flags", "function_launch_timeout"))}


class Scene:
    """Where one failure happens. `begin` marks its beginning, after which losses count."""

    def __init__(self, directory, options):
        self.directory = directory
        self.options = options
        self.dispatchers = []
        self.began = None
        self.load = None
        self.groups = []
        self.at_the_end = contextlib.ExitStack()

    def dispatcher(self, **settings):
        settings = {name.replace("_", "-"): value for name, value in settings.items()}
        added = Dispatcher(self.directory, f"dispatcher-{len(self.dispatchers) + 1}", settings)
        self.dispatchers.append(added)
        return added

    def alone(self, **settings):
        one = self.dispatcher(**settings).start().await_ready()
        self.settle(one.port)
        return one

    def settle(self, port):
        self.load = Load(port, self.options.rate)
        await_that(self.load.has_settled, 120, f"all requests to be answered: {self.load.losses()[-3:]}")

    def begin(self):
        for each in self.dispatchers:
            each.logged += len(each.log())
        self.began = time.monotonic()

    def stop(self, pid):
        """Stops a process, which continues at the end at the latest, unless it has ended."""

        @self.at_the_end.callback
        def resume():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

        os.kill(pid, signal.SIGSTOP)

    def more_load(self, times, seconds):
        self.load.extra = times
        time.sleep(seconds)
        self.load.extra = 0

    def fleet(self, members, spare=0):
        """Dispatchers with one ledger behind HAProxy, and others that are not started yet. They share two to four workers."""
        self.ledger = self.directory / "ledger"
        shared = {"fleet_table": self.ledger, "shutdown_delay": "2s"}
        for _ in range(members + spare):
            self.dispatcher(**shared)
        for each in self.dispatchers[:members]:
            each.start()
        for each in self.dispatchers[:members]:
            each.await_ready()
        self.settle(self.balance())
        return self.dispatchers

    def balance(self):
        """Starts HAProxy in front of all dispatchers. It repeats GETs, and sends nothing to a dispatcher that is not ready."""
        port = free_port()
        need("haproxy")
        command = haproxy_command(self.directory / "haproxy.cfg", {
            "global": ["maxconn 2000"],
            "frontend all": [f"bind 127.0.0.1:{port}", "http-request disable-l7-retry if METH_POST", "default_backend dispatchers"],
            "backend dispatchers": [
                "balance roundrobin", "option httpchk GET /ready", "timeout check 1s", "default-server on-marked-down shutdown-sessions",
                *(f"server {d.name} 127.0.0.1:{d.port} check port {d.admin} inter 500ms fall 2 rise 1" for d in self.dispatchers)],
        }, ["timeout connect 1s", "retries 3", "option redispatch 1", "retry-on conn-failure empty-response", "http-reuse always"])
        Process("haproxy", command, None, self.directory).await_port(port)
        return port

    def lines(self):
        """The lines at WARN and ERROR since the failure."""
        return [line for each in self.dispatchers for line in re.findall(r"^\S+ (?:WARN|ERROR) +(.*)$", each.log(), re.MULTILINE)]

    def close(self):
        if self.load:
            self.load.stop()
        self.at_the_end.close()
        stop_all()
        for group in self.groups:
            group.remove()


# Planned changes


@failure("reload of a good and of a wrong file")
def reload(scene):
    one = scene.alone()
    scene.begin()
    one.file.write_text("function.queue-timeout: 9s\n")
    one.signal(signal.SIGHUP)
    await_that(lambda: "reloaded. In force now:" in one.log(), 60, "the reload", one.process)
    one.file.write_text("function.queue-timeout: never\n")
    one.signal(signal.SIGHUP)
    await_that(lambda: "the reload was refused" in one.log(), 60, "the refusal", one.process)


@failure("drain of a worker, then recycle of all")
def recycle(scene):
    one = scene.alone()
    before = one.ready_workers()
    scene.begin()
    one.change("worker", "drain", before[0])
    one.change("worker", "recycle", "--function", "default")
    await_that(lambda: len(one.ready_workers()) >= 2 and not set(before) & set(one.ready_workers()), 180, "new workers", one.process)


@failure("rolling replacement of a fleet")
def rolling_fleet(scene):
    first, second, *spare = scene.fleet(2, spare=2)
    scene.begin()
    for old, new in zip((first, second), spare):
        new.start().await_ready()
        time.sleep(2)
        old.signal(signal.SIGTERM)
        old.process.child.wait(90)
        time.sleep(2)


@failure("restart with held sockets, and a stream of server-sent events")
def restart(scene):
    one = scene.dispatcher(
        **EXTERNAL, function_worker_concurrency=100, function_queue_timeout="60s", http_header_timeout="60s", workers_keepalive="2s timeout 30s")
    hold(scene, one, one.port, one.workers)
    start_worker(scene, HANDLER=DEMO_HANDLER)
    one.await_ready()
    scene.settle(one.port)
    stream = threading.Thread(target=listen, args=(scene, one.port))
    stream.start()
    time.sleep(2)
    scene.begin()
    tell(one, "restart")
    stream.join()
    one.await_ready()


@failure("restart beside the old process, and a stream of server-sent events")
def restart_beside(scene):
    """The old process and the new one share the socket, a ledger in a file, and the workers. The stream must outlast the start of the new one."""
    one = scene.dispatcher(
        fleet_table=scene.directory / "ledger", workers_port="127.0.0.1:0", admin_port="off", function_max_workers=2, shutdown_grace="60s")
    hold(scene, one, one.port)
    # Local workers outlive the process that has launched them.
    scene.at_the_end.callback(end_group, one.process.pid)
    tell(one, "ready")
    scene.settle(one.port)
    scene.begin()
    stream = threading.Thread(target=listen, args=(scene, one.port, 2 * STREAM_PARTS))
    stream.start()
    tell(one, "start")
    tell(one, "ready")
    if not stream.is_alive():
        raise Failure("the stream ended before the new process was ready, so the old one had nothing to drain")
    tell(one, "term")
    stream.join()
    tell(one, "exit")


def hold(scene, one, *ports):
    """Starts a dispatcher with sockets that another process holds."""
    holder = ROOT / "it/src/test/resources/socket-holder.py"
    one.process = Process(one.name, [sys.executable, holder, *ports, "--", *one.command()], None, scene.directory, pipes=True)


def tell(one, command):
    """Gives a command to the process that holds the sockets, and waits for its answer, if it has one."""
    one.process.child.stdin.write(f"{command}\n".encode())
    one.process.child.stdin.flush()
    if command in ("ready", "exit"):
        answer = one.process.child.stdout.readline().decode().strip()
        if answer not in ("ready", "exit 0"):
            raise Failure(f"{command}: {answer}\n{one.process.log_end()}")


def listen(scene, port, planned_parts=STREAM_PARTS):
    """A client of a long stream. It is lost if it ends early."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sse?count={planned_parts}&delay=200", timeout=TIMEOUT) as answer:
            parts = answer.read().count(b"data:")
    except OSError as failed:
        parts = str(failed)
    problem = None if parts == planned_parts else f"{parts} of {planned_parts} events"
    scene.load.answers.append(Answer(time.monotonic(), time.monotonic(), problem, "SSE"))


def start_worker(scene, prefix=(), class_path=SERVER_CLASS_PATH, **settings):
    """A worker that this script starts, of all dispatchers."""
    number = sum("worker" in path.name for path in scene.directory.iterdir())
    command = [java_of(scene.options.jdk), "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", class_path, "io.lambdadispatcher.worker.WorkerMain"]
    addresses = ",".join(f"127.0.0.1:{dispatcher.workers}" for dispatcher in scene.dispatchers)
    settings = {"ADDRESSES": addresses, "FUNCTION": "default", "SECRET": SECRET, **settings}
    return Process(f"worker-{number}", [*prefix, *command], None, scene.directory, variables(settings))


# Workers that fail


@failure("kill -9 of a worker", r"workers of function \S+ are lost", "WorkersLost")
def kill_worker(scene):
    one = scene.alone()
    scene.begin()
    os.kill(one.a_worker(), signal.SIGKILL)


@failure("SIGSTOP of a worker", r"workers of function \S+ are (lost|ejected)", "WorkersLost")
def stop_worker(scene):
    stopped = scene.alone().a_worker()
    scene.begin()
    scene.stop(stopped)
    time.sleep(10)


@failure("one of three workers is 50 times slower", r"workers of function \S+ are ejected", "WorkersEjected")
def slow_worker(scene):
    one_of_three(scene, f"delay={50 * DELAY_MILLIS}")


@failure("one of three workers answers 500", r"workers of function \S+ are ejected", "WorkersEjected, HandlersFail")
def failing_worker(scene):
    one_of_three(scene, "status=500")


def one_of_three(scene, change):
    """A dispatcher has three workers that this script started, each with a web application. One of these becomes slow, or fails."""
    one = scene.dispatcher(**EXTERNAL).start()
    applications = [free_port() for _ in range(3)]
    for port in applications:
        Process(f"application-{port}", [sys.executable, __file__, "--serve", port], None, scene.directory).await_port(port)
        start_worker(scene, WEB_PORT=port, STREAMS=20)
    await_that(lambda: answers(f"http://127.0.0.1:{one.admin}/ready") and len(one.ready_workers()) == 3, 300, "three workers", one.process)
    scene.settle(one.port)
    scene.begin()
    answers(f"http://127.0.0.1:{applications[0]}/become?{change}")
    time.sleep(20)


def serve(port, delay_millis=DELAY_MILLIS):
    """A server that answers each request after a delay with a status. GET /become changes both. It runs until this process is ended."""
    now = {"delay": delay_millis, "status": 200}

    def answer(path, *_):
        if path.startswith("/become?"):
            name, value = path.removeprefix("/become?").split("=")
            now[name] = int(value)
            return 200, b"ok"
        time.sleep(now["delay"] / 1000)
        return now["status"], b"ok"

    with stand_in(answer, port):
        signal.pause()


# Dispatchers of a fleet that fail


@failure("SIGSTOP of a dispatcher of a fleet for 20 s", r"dispatcher \S+ of the fleet is silent", "FleetMemberSilent, DispatcherDown")
def stop_dispatcher(scene):
    one, _ = scene.fleet(2)
    scene.begin()
    scene.stop(one.process.pid)
    time.sleep(20)
    one.signal(signal.SIGCONT)
    time.sleep(5)


@failure("kill -9 of a dispatcher of a fleet", r"dispatcher \S+ of the fleet is silent", "FleetMemberSilent, DispatcherDown")
def kill_dispatcher(scene):
    one, _ = scene.fleet(2)
    scene.at_the_end.callback(end_group, one.process.pid)
    scene.begin()
    one.signal(signal.SIGKILL)
    time.sleep(15)


def end_group(pid):
    """Ends workers whose dispatcher was killed."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


@failure("kill -9 of a worker of a fleet whose ledger hangs", r"the ledger of the fleet cannot be reached", "FleetLedgerUnreachable, WorkersLost")
def hanging_ledger(scene):
    one, other = scene.fleet(2)
    scene.begin()
    # As by a dispatcher that is stopped in the middle of a write.
    with open(f"{scene.ledger}.lock", "w", encoding="ascii") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        owner = one if children(one.process.pid) else other
        os.kill(owner.a_worker(), signal.SIGKILL)
        time.sleep(20)
    await_that(lambda: len(one.ready_workers()) >= 2, 120, "another worker instead of the killed one", one.process)


# A machine that has too little


@failure("a full disk: access log and state file", r"access log cannot be written|state.file \S+ cannot be written", "AccessLogLosesLines")
def full_disk(scene):
    disk = scene.directory / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False, capture_output=True).returncode != 0:
        raise Skipped("a small tmpfs cannot be mounted; run as root")
    scene.at_the_end.callback(subprocess.run, ["umount", "-l", disk], check=False)
    scene.alone(access_log_file=disk / "access.log", state_file=disk / "state")
    scene.begin()
    with contextlib.suppress(OSError), open(disk / "all", "wb", buffering=0) as everything:
        while everything.write(bytes(4096)):
            pass
    time.sleep(10)
    (disk / "all").unlink()


@failure("256 file descriptors and 400 idle connections", r"client connections are closed|may open only", "ConnectionsRefused, DispatcherFilesHigh")
def few_descriptors(scene):
    need("prlimit")
    one = scene.dispatcher().start(prefix=[tool("prlimit"), "--nofile=256"]).await_ready()
    scene.settle(one.port)
    scene.begin()
    held = []
    for _ in range(400):
        with contextlib.suppress(OSError):
            held.append(socket.create_connection(("127.0.0.1", one.port), timeout=5))
    time.sleep(5)
    for each in held:
        each.close()


@failure("0.1 processors and 300 MiB, for 15 times the load", r"the dispatcher is short of|event loop \S+ has been blocked", "DispatcherShort, DispatcherCpuHigh, RequestsFail")
def small_machine(scene):
    try:
        group = Group(300)
    except Failure as problem:
        raise Skipped(str(problem)) from problem
    # It ends after the processes.
    scene.groups.append(group)
    java = scene.directory / "java"
    worker_java(java, group.outside)
    one = scene.dispatcher(local_java=java)
    one.start(prefix=group.command([])).await_ready()
    scene.settle(one.port)
    scene.begin()
    group.limit_processors(0.1)
    # A tenth of a processor is enough for the usual load.
    scene.more_load(14, 15)
    group.limit_processors(10)


@failure("three times the capacity while launching is paused", r"requests of function \S+ are refused", "RequestsFail, LaunchesBlocked")
def overload_without_launches(scene):
    one = scene.alone(function_worker_concurrency=1, function_max_queued_requests=20, function_max_workers=2)
    one.change("launch", "pause")
    scene.begin()
    scene.more_load(7, 10)
    one.change("launch", "resume")


class Skipped(Exception):
    """Why a failure cannot be caused here."""


class Failures(Driver):
    names = tuple(FAILURES)
    tools = ()
    defaults = {"seconds": 15.0, "rate": (20.0, "requests per second"), "check": False}

    def execute(self):
        run([ROOT / "dispatcher", "--version"])
        self.one_by_one(self.cause)

    def cause(self, name, directory):
        try:
            with contextlib.closing(Scene(directory, self.options)) as scene:
                FAILURES[name].run(scene)
                time.sleep(self.options.seconds)
                scene.load.stop()
                return summary(scene, FAILURES[name])
        except Skipped as why:
            return {"skipped": str(why)}
        except Failure as why:
            # The others run nevertheless.
            return {"skipped": str(why).splitlines()[0], "broken": str(why)}

    def show(self, report):
        print(table("failure | sent | lost | recovery in s | the line that tells of it | alerts", [
            [FAILURES[row["name"]].title, *([f"not run: {row['skipped']}", "", "", ""] if "skipped" in row else [
                row["sent"], row["lost"], "not within the run" if row["recovery_seconds"] is None else row["recovery_seconds"],
                f"`{row['line']}`" if row["line"] else "none"]), FAILURES[row["name"]].alert or "none"] for row in report["results"]]))

    @staticmethod
    def problems(row):
        cause = FAILURES[row["name"]]
        if "broken" in row:
            yield row["broken"]
        elif "skipped" not in row and cause.tells is None and row["lost"]:
            yield f"{row['lost']} of {row['sent']} requests were lost, such as {row['losses'][0]}"
        elif "skipped" not in row and cause.tells and not row["line"]:
            yield f"no line matches {cause.tells}"


def summary(scene, cause):
    lines = scene.lines()
    wanted = [line for line in lines if cause.tells and re.search(cause.tells, line)]
    losses = scene.load.losses(scene.began)
    return {
        "sent": sum(answer.planned >= scene.began for answer in scene.load.answers), "lost": len(losses),
        "losses": sorted(set(losses))[:5], "recovery_seconds": recovery(scene.load.answers, scene.began),
        "line": shortened(wanted[0]) if wanted else None,
        "other_lines": [shortened(line) for line in lines if line not in wanted][:8]}


def shortened(line):
    """The line without the name of its logger and ids, so that it fits into a table."""
    text = re.sub(r"^\w+: ", "", line)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}", "…", text).replace("|", "/")
    return text if len(text) <= 160 else text[:159] + "…"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*map(int, sys.argv[2:]))
    else:
        Failures.main()
