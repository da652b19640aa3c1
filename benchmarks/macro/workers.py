#!/usr/bin/env python3
"""Compares the dispatcher with C proxies while the number of workers (or backends) changes.

    benchmarks/macro/workers.py                       1, 10, 100 and 500 workers, about half an hour
    benchmarks/macro/workers.py --fronts tls,h1 --counts 100
    benchmarks/macro/workers.py --counts 100 --only dispatcher,nghttpx --rounds 3
    benchmarks/macro/workers.py --counts 100 --only dispatcher,dispatcher+transport=io_uring    a setting of the dispatcher

Every program has one thread and core 0. The load generator and the workers share core 1. Each proxy has as many backends as the dispatcher
has workers: one nginx listens on all ports. The request is `/ping`, on 10 connections. Each round measures three loads, for all programs in
turn: maximum load, with 100 requests in flight; a constant rate that arrives in bursts, ten requests at once on each connection; and the
same rate with requests at even intervals, with its latency. Compare only figures of one run.

Clients use HTTP/2 without TLS by default. `--fronts tls` is HTTP/2 over TLS. `--fronts h1` is HTTP/1.1 on 100 connections, as load
balancers use it. Both have no load at even intervals.
"""

import argparse
import collections
import pathlib
import resource
import shutil
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
import machine  # noqa: E402
import processes  # noqa: E402
from contenders import Crowd, HaProxy, Nghttpx  # noqa: E402
from load import LOAD_CORE, PING, ConstantRate, reached  # noqa: E402
from machine import progress, version  # noqa: E402
from measure import Shape, await_answers, measure, summary, warm  # noqa: E402
from processes import Failure, Process, free_port, tool  # noqa: E402

COUNTS = (1, 10, 100, 500)
PROXIES = {
    "haproxy-h1": lambda front: HaProxy("haproxy-h1", "h1", front),
    "haproxy-h2": lambda front: HaProxy("haproxy-h2", "h2", front),
    "nghttpx": Nghttpx,
}
# h2load counts HTTP/1.1 responses without a reason phrase as failed, and HAProxy sends those of an HTTP/2 backend so.
NOT_COUNTED = {("haproxy-h2", "h1")}
FRONTS = {"h2": {}, "tls": {"tls": True}, "h1": {"h1": True, "connections": 100, "streams": 1}}
NAMES = ("dispatcher", *PROXIES)


class Run:
    def __init__(self, options):
        self.options = options
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="workers-"))
        self.java = machine.java_of(options.jdk)
        self.flags = machine.jvm_flags(self.java, options.jvm_flags.split())
        self.backend_ports = {}
        self.certificate, self.key = machine.certificate(self.directory)
        # HAProxy reads both from one file.
        self.pem = self.directory / "both.pem"
        self.pem.write_text(self.certificate.read_text() + self.key.read_text())
        self.results = []

    def execute(self):
        machine.build()
        generator = ConstantRate(self.java, self.directory)
        for front in self.options.fronts:
            for count in self.options.counts:
                self.at(front, count, generator)
        generator.process.stop()
        return {
            "meta": machine.meta(
                self.java, self.flags, rounds=self.options.rounds, seconds=self.options.seconds, rate=self.options.rate,
                load=f"h2load -c 10 -m 10, {version('h2load', '--version')}", worker_flags=self.options.worker_flags.split()),
            "results": self.results,
        }

    def contender(self, name, front, count):
        if name in PROXIES:
            return PROXIES[name](front)
        settings = dict(each.split("=", 1) for each in name.split("+")[1:])
        note = " ".join([f"Lambda Dispatcher, {front}→workers", *(f"{key}={value}" for key, value in settings.items())])
        variant = "-".join([front, str(count), *settings.values()])
        dispatcher = Crowd(self.java, self.flags, self.options.worker_flags.split(), (1, 100), variant, note)
        dispatcher.count = count
        dispatcher.flags.update(settings)
        if front == "tls":
            dispatcher.flags.update({
                "public-plain-port": "off", "public-tls-host": "127.0.0.1", "public-tls-port": dispatcher.port,
                "public-tls-certificate": self.certificate, "public-tls-key": self.key})
        return dispatcher

    def at(self, front, count, generator):
        """Measures all programs with this number of workers. The load generator's own variation is in all of them."""
        options = self.options
        shape = FRONTS[front]
        nginx = self.start_backends(front, count)
        contenders = {name: self.contender(name, front, count) for name in options.only if (name, front) not in NOT_COUNTED}
        requests = {}
        for name, contender in contenders.items():
            progress(f"{front}, {count} workers: warming up {name}")
            contender.start(self)
            await_answers(contender, PING, self.directory, Shape(**shape))
            seconds = options.jvm_warm_up if contender.is_java() else options.warm_up
            requests[name] = warm(contender, PING, self.directory, seconds, options.seconds, Shape(**shape))
        bursts = Shape(**shape, rate=options.rate)
        if front == "h2":
            generator.warm_up(contenders[options.only[0]].port, PING, options.jvm_warm_up / 3)
        maximum, burst, even = (collections.defaultdict(list) for _ in range(3))
        for number in range(1, options.rounds + 1):
            progress(f"{front}, {count} workers: round {number} of {options.rounds}")
            for name, contender in contenders.items():
                maximum[name].append(measure(contender, PING, requests[name], self.directory, Shape(**shape)))
            for name, contender in contenders.items():
                burst[name].append(measure(contender, PING, int(options.rate * options.seconds), self.directory, bursts))
            for name, contender in contenders.items() if front == "h2" else ():
                even[name].append(self.at_even_rate(contender, generator))
        for name, contender in contenders.items():
            self.results.append({
                "front": front, "workers": count, "contender": name, "note": contender.note, "rss_mib": contender.rss_mib(),
                "maximum": summary(maximum[name]), "burst": summary(burst[name]),
                **({"even": even_summary(even[name])} if front == "h2" else {})})
        for contender in contenders.values():
            contender.stop()
        nginx.stop()

    def at_even_rate(self, contender, generator):
        """One load at even intervals, with the CPU time of all its requests, also of the first half second, whose latency does not count."""
        options, warm_seconds = self.options, 0.5
        before = contender.cpu()
        found = generator.run(contender.port, {PING: 1}, options.rate, options.seconds, warm=warm_seconds)
        spent = contender.cpu().since(before)
        return {
            "cpu_micros": spent.seconds() * 1e6 / (options.rate * (options.seconds + warm_seconds)),
            "rate": found["rate"],
            "errors": found["errors"],
            "reached": reached(found, options.rate),
            "latency_millis": found["latency_millis"],
        }

    def start_backends(self, front, count):
        self.backend_ports = {protocol: [free_port() for _ in range(count)] for protocol in ("h1", "h2")}
        home = self.directory / f"nginx-{front}-{count}"
        home.mkdir()
        listens = "".join(
            f"        listen 127.0.0.1:{port}{' http2' if protocol == 'h2' else ''};\n"
            for protocol, ports in self.backend_ports.items() for port in ports)
        configuration = home / "nginx.conf"
        configuration.write_text(
            f"""daemon off;
worker_processes 1;
pid {home}/pid;
error_log stderr error;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    server {{
{listens}        location = /ping {{ return 200 "pong"; }}
    }}
}}
"""
        )
        nginx = Process(f"nginx-{front}-{count}", [tool("nginx"), "-e", "stderr", "-p", home, "-c", configuration], LOAD_CORE, self.directory)
        nginx.await_port(self.backend_ports["h2"][-1])
        return nginx


def even_summary(samples):
    """Medians over the rounds."""
    median = lambda pick: statistics.median(pick(sample) for sample in samples)
    cpu = [sample["cpu_micros"] for sample in samples]
    return {
        "cpu_micros": statistics.median(cpu),
        "cpu_micros_lowest": min(cpu),
        "cpu_micros_highest": max(cpu),
        "p50_millis": median(lambda s: s["latency_millis"]["p50"]),
        "p99_millis": median(lambda s: s["latency_millis"]["p99"]),
        "errors": sum(s["errors"] for s in samples),
        "reached": all(s["reached"] for s in samples),
    }


def print_report(report):
    meta = report["meta"]
    print(f"commit {meta['commit'][:12]}{' (dirty)' if meta['dirty'] else ''}, {meta['jdk']}, {meta['cpu']}, median of {meta['rounds']} rounds")
    for front in dict.fromkeys(row["front"] for row in report["results"]):
        for load, title in LOADS.items():
            rows = [row for row in report["results"] if row["front"] == front and load in row]
            if rows:
                print(f"\n{title.format(rate=meta['rate'])}\n\n{table(rows, load)}")


LOADS = {"maximum": "Maximum load", "burst": "{rate:,.0f} requests/s in bursts", "even": "{rate:,.0f} requests/s at even intervals"}


def table(results, load):
    with_rate = load == "maximum"
    lines = [
        f"| workers | program | CPU µs/request (low–high) | ÷ nghttpx | ÷ HAProxy h2→h1 |{' requests/s |' if with_rate else ''} p50, p99 ms | errors |",
        "| --- | --- | --- | --- | --- | --- | --- |" + (" --- |" if with_rate else ""),
    ]
    for result in results:
        same = {other["contender"]: other[load] for other in results if other["workers"] == result["workers"]}
        found = result[load]
        ratio = lambda name: f"{found['cpu_micros'] / same[name]['cpu_micros']:.2f}" if name in same else "–"
        rate_cell = f" {found['requests_per_second']:,.0f} |" if with_rate else ""
        errors = found["errors"] if found.get("reached", True) else "rate not kept"
        lines.append(
            f"| {result['workers']} | {result['note']} | {found['cpu_micros']:.1f} ({found['cpu_micros_lowest']:.1f}–{found['cpu_micros_highest']:.1f}) "
            f"| {ratio('nghttpx')} | {ratio('haproxy-h1')} |{rate_cell} "
            f"{found['p50_millis']:.2f}, {found['p99_millis']:.2f} | {errors} |")
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)), help="numbers of workers, by default %(default)s")
    parser.add_argument("--fronts", default="h2", help=f"protocols of the clients, some of {','.join(FRONTS)}; by default %(default)s")
    parser.add_argument("--only", default=",".join(NAMES), help="measures some of %(default)s")
    parser.add_argument("--rate", type=float, default=10_000, help="requests per second of the constant rate, by default %(default)g")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="length of one measurement, by default %(default)g")
    parser.add_argument("--warm-up", type=float, default=2, metavar="SECONDS", help="warm-up of each C proxy")
    parser.add_argument(
        "--jvm-warm-up", type=float, default=20, metavar="SECONDS",
        help="warm-up of the dispatcher, whose workers first report their CPU time after 5 s")
    parser.add_argument("--quick", action="store_true", help="one short round, to check that everything works")
    parser.add_argument("--jdk", metavar="PATH", help="JDK that runs everything; by default JAVA_HOME, then the PATH")
    parser.add_argument("--jvm-flags", default=machine.DISPATCHER_FLAGS, help="JVM flags of the dispatcher")
    parser.add_argument("--worker-flags", default="-Xmx512m -XX:+UseSerialGC", help="JVM flags of the workers")
    parser.add_argument("--json", metavar="FILE", help="file for the results, by default benchmarks/target/workers-<time>.json")
    options = parser.parse_args()
    options.counts = [int(count) for count in options.counts.split(",")]
    options.only, options.fronts = options.only.split(","), options.fronts.split(",")
    if options.quick:
        options.rounds, options.seconds, options.warm_up, options.jvm_warm_up = 1, 0.5, 0.1, 0.5
    return options


def main():
    options = arguments()
    processes.end_children_with_the_script()
    most_descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_descriptors, most_descriptors))
    try:
        for option, chosen, known in (("only", [name.partition("+")[0] for name in options.only], NAMES), ("fronts", options.fronts, FRONTS)):
            unknown = [name for name in chosen if name not in known]
            if unknown:
                raise Failure(f"--{option} {','.join(unknown)}: expected some of {','.join(known)}")
        processes.need("h2load", "taskset", "nginx", "openssl", *(tool for name in options.only if not name.startswith("dispatcher") for tool in (name.partition("-")[0],)))
        run = Run(options)
        report = run.execute()
    except Failure as failure:
        sys.exit(f"workers: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        processes.stop_all()
    print_report(report)
    machine.write_json(report, options.json, "workers")
    shutil.rmtree(run.directory)


if __name__ == "__main__":
    main()
