#!/usr/bin/env -S python3 -B
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

import collections

import machine
from contenders import PROXIES, Crowd, nginx_command
from driver import Driver, by, table
from load import LOAD_CORE, PING, ConstantRate, Shape
from measure import Rounds, cpu, measure, summary
from processes import Process, free_port, progress, some_of

# h2load counts HTTP/1.1 responses without a reason phrase as failed, and HAProxy sends those of an HTTP/2 backend so.
NOT_COUNTED = {("haproxy-h2", "h1")}
FRONTS = {"h2": Shape(), "tls": Shape(tls=True), "h1": Shape(100, 1, h1=True)}
LOADS = {"maximum": "Maximum load", "burst": "{rate:,.0f} requests/s in bursts", "even": "{rate:,.0f} requests/s at even intervals"}


class Workers(Driver):
    names = ("dispatcher", "haproxy-h1", "haproxy-h2", "nghttpx")
    tools = ("h2load", "taskset", "nginx", "openssl")
    defaults = {
        "rounds": 5, "seconds": 2.0, "warm_up": 2.0, "jvm_warm_up": 20.0,
        "jvm_flags": machine.DISPATCHER_FLAGS, "worker_flags": "-Xmx512m -XX:+UseSerialGC",
        "counts": ("1,10,100,500", "numbers of workers"),
        "fronts": ("h2", f"protocols of the clients, some of {','.join(FRONTS)}"),
        "rate": (10_000.0, "requests per second of the constant rate")}
    quick = {"rounds": 1, "seconds": 0.5, "warm_up": 0.1, "jvm_warm_up": 0.5}

    @classmethod
    def verify(cls, options):
        options.counts = [int(count) for count in options.counts.split(",")]
        options.fronts = some_of("fronts", options.fronts, FRONTS)

    def execute(self):
        machine.build()
        self.certificate, self.key = machine.certificate(self.directory)
        # HAProxy reads both from one file.
        self.pem = self.directory / "both.pem"
        self.pem.write_text(self.certificate.read_text() + self.key.read_text())
        generator = ConstantRate(self.java, self.directory)
        for front in self.options.fronts:
            for count in self.options.counts:
                self.at(front, count, generator)
        generator.process.stop()

    def meta(self):
        return {"load": f"h2load -c 10 -m 10, {machine.version('h2load', '--version')}"}

    def show(self, report):
        for of_front in by(report["results"], "front").values():
            for load, title in LOADS.items():
                found = [row for row in of_front if load in row]
                if found:
                    print(f"\n{title.format(rate=report['meta']['rate'])}\n\n{rows(found, load)}")

    def contender(self, name, front, count):
        if name in PROXIES:
            return PROXIES[name](front=front)
        settings = dict(each.split("=", 1) for each in name.split("+")[1:])
        note = " ".join([f"Lambda Dispatcher, {front}→workers", *(f"{key}={value}" for key, value in settings.items())])
        variant = "-".join([front, str(count), *settings.values()])
        dispatcher = Crowd(self, variant, note=note)
        dispatcher.count = count
        dispatcher.flags.update(settings)
        if front == "tls":
            dispatcher.secure(self.certificate, self.key)
        return dispatcher

    def at(self, front, count, generator):
        """Measures all programs with this number of workers. The load generator's own variation is in all of them."""
        options = self.options
        nginx = self.start_backends(front, count)
        contenders = {name: self.contender(name, front, count) for name in options.only if (name, front) not in NOT_COUNTED}
        for name, contender in contenders.items():
            contender.start(self)
            contender.shape = FRONTS[front]
        maximum = Rounds(self.directory, contenders.values(), [PING])
        maximum.warm_up(lambda contender: options.jvm_warm_up if contender.is_java() else options.warm_up, options.seconds)
        bursts = FRONTS[front]._replace(rate=options.rate)
        if front == "h2":
            generator.warm_up(contenders[options.only[0]].port, PING, options.jvm_warm_up / 3)
        burst, even = collections.defaultdict(list), collections.defaultdict(list)
        for number in range(1, options.rounds + 1):
            progress(f"{front}, {count} workers: round {number} of {options.rounds}")
            maximum.once()
            for name, contender in contenders.items():
                burst[name].append(measure(contender, PING, int(options.rate * options.seconds), self.directory, bursts))
            for name, contender in contenders.items() if front == "h2" else ():
                even[name].append(generator.on(contender, PING, options.rate, options.seconds, warm=0.5))
        for name, contender in contenders.items():
            self.results.append({
                "front": front, "workers": count, "contender": name, "note": contender.note, "rss_mib": contender.process.rss_mib(),
                "maximum": summary(maximum.samples[contender, PING]), "burst": summary(burst[name]),
                **({"even": {**summary(even[name]), "reached": all(sample["reached"] for sample in even[name])}} if even[name] else {})})
        for contender in contenders.values():
            contender.stop()
        nginx.stop()

    def start_backends(self, front, count):
        self.backend_ports = {protocol: [free_port() for _ in range(count)] for protocol in ("h1", "h2")}
        name = f"nginx-{front}-{count}"
        listens = "".join(
            f"        listen 127.0.0.1:{port}{' http2' if protocol == 'h2' else ''};\n"
            for protocol, ports in self.backend_ports.items() for port in ports)
        server = f"""    server {{
{listens}        location = /ping {{ return 200 "pong"; }}
    }}
"""
        nginx = Process(name, nginx_command(self.directory / name, 16384, server), LOAD_CORE, self.directory)
        nginx.await_port(self.backend_ports["h2"][-1])
        return nginx


def rows(results, load):
    with_rate = load == "maximum"
    cells = []
    for result in results:
        same = {other["contender"]: other[load] for other in results if other["workers"] == result["workers"]}
        found = result[load]
        ratio = lambda name: f"{found['cpu_micros'] / same[name]['cpu_micros']:.2f}" if name in same else "–"
        cells.append([
            result["workers"], result["note"], cpu(found, ".1f"), ratio("nghttpx"), ratio("haproxy-h1"),
            *([f"{found['requests_per_second']:,.0f}"] if with_rate else []),
            f"{found['p50_millis']:.2f}, {found['p99_millis']:.2f}", found["errors"] if found.get("reached", True) else "rate not kept"])
    return table(
        f"workers | program | CPU µs/request (low–high) | ÷ nghttpx | ÷ HAProxy h2→h1 |{' requests/s |' if with_rate else ''} p50, p99 ms | errors", cells)


if __name__ == "__main__":
    Workers.main()
