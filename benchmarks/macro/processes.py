"""Processes of a macro run. They are started on one core, measured, and ended only by their ids."""

import atexit
import collections
import contextlib
import ctypes
import errno
import http.server
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# The number of the system call sched_setattr, and the shortest slice that it accepts.
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
SLICE_NANOS = 100_000
PACKAGES = {"h2load": "nghttp2-client", "nghttpx": "nghttp2-proxy", "nginx": "nginx-light", "taskset": "util-linux", "mvn": "maven"}
_running = []
_ports = set()


class Failure(Exception):
    """Ends the run with a message, without a stack trace."""


def progress(text):
    print(f"{pathlib.Path(sys.argv[0]).stem}: {text}", file=sys.stderr, flush=True)


def need(*tools):
    missing = [name for name in tools if tool(name) is None]
    if missing:
        packages = " ".join(sorted({PACKAGES.get(name, name) for name in missing}))
        raise Failure(f"not found: {', '.join(missing)}; try: apt-get install {packages}")


def run(command, **more):
    """Runs a program to its end. @return what it prints. Raises Failure if it fails"""
    command = list(map(str, command))
    done = subprocess.run(command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "check": False, **more})
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} failed:\n{done.stdout or ''}{done.stderr or ''}")
    return done.stdout


def some_of(option, text, known):
    """@return the names of a list with commas. Raises Failure if one is not known."""
    names = text.split(",")
    unknown = [name for name in names if name.partition("+")[0] not in known]
    if unknown:
        raise Failure(f"--{option} {','.join(unknown)}: expected some of {','.join(known)}")
    return names


def tool(name):
    # Daemons such as nghttpx are in directories that an ordinary user's PATH does not contain.
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def free_port():
    """
    Returns a different port each time. It is below the kernel's range for outgoing connections, which could otherwise take it before its
    use.
    """
    while True:
        port = random.randrange(20_000, 32_768)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _ports:
            _ports.add(port)
            return port


def await_that(holds, seconds, what, *involved):
    """Waits until the condition holds. @param what is named if it does not. @param involved processes that must not end before"""
    deadline = time.monotonic() + seconds
    while not holds():
        for process in involved:
            process.check()
        if time.monotonic() > deadline:
            raise Failure("\n".join([f"waited {seconds:g} s in vain: {what}", *(process.log_end() for process in involved)]))
        time.sleep(0.05)


def seconds_until(holds, most):
    """Waits until the condition holds, or for the most seconds. @return how long"""
    began = time.monotonic()
    while not holds() and time.monotonic() < began + most:
        time.sleep(0.1)
    return time.monotonic() - began


@contextlib.contextmanager
def sampled(seconds, sample):
    """Calls `sample` at intervals in a thread, first immediately, until the block ends. The value is the list of what it has returned."""
    samples, ended = [], threading.Event()

    def run():
        while not samples or not ended.wait(seconds):
            samples.append(sample())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def answers(url):
    """Whether a GET is answered with success."""
    try:
        urllib.request.urlopen(url, timeout=5).close()
        return True
    except OSError:
        return False


def metrics(admin_port):
    """@return name, labels and value of each metric of a dispatcher"""
    with urllib.request.urlopen(f"http://127.0.0.1:{admin_port}/metrics", timeout=10) as answer:
        found = re.findall(r"(?m)^(\w+)(?:\{(.*)\})? (\S+)$", answer.read().decode())
    return [(name, labels, float(value)) for name, labels, value in found]


@contextlib.contextmanager
def stand_in(answer, port=0):
    """A server, whose port is the value, a free one by default. @param answer returns a status and a body for a path, header fields and a body"""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # An answer is one packet.

        def do_GET(self):
            status, body = answer(self.path, self.headers, self.rfile.read(int(self.headers.get("content-length", 0))))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 1000

    with Server(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def pinned(core):
    """The prefix that runs a command on one core only; empty if the core is None."""
    return [] if core is None else [tool("taskset"), "-c", str(core)]


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


class Process:
    """
    One started program. Its output goes to a file, whose end is shown if the program fails. With `pipes`, only its standard error goes
    there, and the script uses its standard input and output.
    """

    def __init__(self, name, command, core, log_directory, environment=None, pipes=False):
        self.name = name
        self.log = pathlib.Path(log_directory) / f"{name}.log"
        with open(self.log, "ab") as output:
            self.child = subprocess.Popen(
                [*pinned(core), *map(str, command)],
                stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipes else output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                cwd=ROOT,
                # Ctrl-C must reach only the script, which then ends its children in order. With a session for each process, the kernel
                # would share a core between sessions (autogroup), and ignore priorities.
                preexec_fn=os.setpgrp)
        _running.append(self)

    @property
    def pid(self):
        return self.child.pid

    def await_port(self, port, seconds=120):
        await_that(lambda: is_open(port), seconds, f"port {port} of {self.name}", self)

    def check(self):
        if self.child.poll() is not None:
            raise Failure(f"{self.name} ended with exit code {self.child.returncode}:\n{self.log_end()}")

    def log_end(self, lines=15):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def tree(self):
        """The ids of the process and of all its descendants."""
        found = [self.pid]
        for pid in found:
            found.extend(children(pid))
        return found

    def cpu(self):
        return Cpu.of(self.tree())

    def rss_mib(self):
        """Resident memory of the process tree. Shared memory counts for each process."""
        return sum(rss_kib(pid) for pid in self.tree()) / 1024

    def stop(self):
        if self in _running:
            _running.remove(self)
        pids = self.tree()
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(10)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        for pid in pids[1:]:
            # Descendants that the child has not ended. They belong to this run if they are in its group.
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(pid) == self.pid:
                    os.kill(pid, signal.SIGKILL)


# Ends also if the script was killed.
SPIN = """
import os
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(10_000):
        pass
"""


@contextlib.contextmanager
def awake(cores, log_directory):
    """
    Keeps the cores from sleeping. A virtual machine gives a sleeping core back to the host, and can wait for it for more than a millisecond.
    The loops get only time that nothing else wants (SCHED_IDLE).
    """
    loops = [Process(f"awake-{core}", [sys.executable, "-c", SPIN], core, log_directory) for core in cores]
    try:
        yield
    finally:
        for loop in loops:
            loop.stop()


def prefer(process):
    """
    Runs a process as soon as it has work, although another one has its core. Linux otherwise lets that one use up its slice of 3 ms, which a
    process of short slices interrupts (since Linux 6.12; older versions ignore it). Its priority alone does not do that.
    """
    attributes = struct.pack("IIQiIQQQ", 48, os.SCHED_OTHER, 0, -19, 0, SLICE_NANOS, 0, 0)
    call = SCHED_SETATTR.get(os.uname().machine)
    if call is None:
        raise Failure(f"cannot give {process.name} a short slice on {os.uname().machine}, expected one of {', '.join(SCHED_SETATTR)}")
    library = ctypes.CDLL(None, use_errno=True)
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        # A thread may have ended in the meantime.
        if library.syscall(call, int(thread), attributes, 0) != 0 and ctypes.get_errno() != errno.ESRCH:
            raise Failure(f"cannot give {process.name} a short slice: {os.strerror(ctypes.get_errno())}; run as root")


def stop_all():
    for process in reversed(list(_running)):
        process.stop()


def end_children_with_the_script():
    atexit.register(stop_all)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def rss_kib(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        found = re.search(r"VmRSS:\s*(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
        return int(found.group(1)) if found else 0
    return 0


def children(pid):
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


class Cpu(collections.namedtuple("Cpu", "nanos user system threads", defaults=(0, 0.0, 0.0, {}))):
    """
    CPU time of a process tree. The total is exact in nanoseconds; user, system and per-thread times are in the kernel's ticks. The seconds of
    the threads are by process, id and name, or after `since` by name.
    """

    @staticmethod
    def of(pids):
        nanos, user, system, threads = 0, 0.0, 0.0, {}
        for pid in pids:
            # The process may have ended in the meantime.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                _, process_user, process_system = read_stat(f"/proc/{pid}/stat")
                nanos += process_nanos(pid, process_user + process_system)
                user += process_user
                system += process_system
                for tid in os.listdir(f"/proc/{pid}/task"):
                    name, thread_user, thread_system = read_stat(f"/proc/{pid}/task/{tid}/stat")
                    threads[(pid, int(tid), name)] = thread_user + thread_system
        return Cpu(nanos, user, system, threads)

    def since(self, before):
        threads = collections.Counter()
        for key, seconds in self.threads.items():
            threads[key[2]] += seconds - before.threads.get(key, 0.0)
        return Cpu(self.nanos - before.nanos, self.user - before.user, self.system - before.system, threads)

    def seconds(self):
        return self.nanos / 1e9

    def of_threads(self, pattern):
        return sum(seconds for name, seconds in self.threads.items() if re.match(pattern, name))


def read_stat(path):
    text = pathlib.Path(path).read_text()
    # The name is in parentheses, and may itself contain spaces and parentheses.
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    return name, int(fields[11]) / TICKS_PER_SECOND, int(fields[12]) / TICKS_PER_SECOND


def process_nanos(pid, fallback_seconds):
    """The CPU clock of the process, numbered as in clock_getcpuclockid(3). It is not rounded to ticks like the values in /proc."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return int(fallback_seconds * 1e9)
