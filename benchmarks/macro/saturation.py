#!/usr/bin/env -S python3 -B
"""A Spring Boot application that is its own base gets saturated, and launches copies of itself.

    benchmarks/macro/saturation.py                    about twelve minutes; as root, because processes have control groups
    benchmarks/macro/saturation.py --only cpu --check

The application has 0.6 processors, and the workers that it launches 0.9 together. The load, at a constant rate, has what is left.

- cpu: each request takes 20 ms of processor time, and there are four times as many for a minute.
- threads: each request keeps one of the eight threads of the web server for 100 ms, and there are ten times as many for a minute.
- dependency: the rate stays the same. For a minute, each query takes 300 ms instead of 20 ms, on one of the five connections of each process.
- relay: the application and its dispatcher have one processor. Requests that its launched worker serves at once are timed while clients keep
  the application full with requests that sleep, then with requests that use all of this processor.

With --check, it fails if a request was lost, if the application did not serve nearly all before and after, and a quarter in the burst, if no worker helped, if workers
stayed, if relayed requests took 20 ms longer at p99, or if the dispatcher lost a worker.
"""

import asyncio
import collections
import contextlib
import os
import time

import machine
from attacks import Group
from client import Clients, due
from driver import Driver, table
from processes import ROOT, Failure, Process, await_that, children, free_port, sampled, seconds_until

PROCESSORS = {"base": 0.6, "launched": 0.9}
MEBIBYTES = 2048
MOST_LAUNCHED = 4
LIBRARIES = ROOT / "examples/spring-boot-burst/target/tickets-function/lib"
GONE_SECONDS = 60
LEAST_SHARE = 0.99
# It could serve from 42 to 75 %.
LEAST_SHARE_IN_BURST = 0.25
MOST_LATER_MILLIS = 20
# Of the requests that keep the application of `relay` full.
FULL = 10

Kind = collections.namedtuple("Kind", "calm, burst, settings")
# The path and the rate of the requests in each phase.
KINDS = {
    "cpu": Kind(("/burn?millis=20", 10), ("/burn?millis=20", 40), ["--lambda-dispatcher.burst.base-concurrency=10"]),
    "threads": Kind(("/sleep?millis=100", 15), ("/sleep?millis=100", 150), ["--server.tomcat.threads.max=8"]),
    "dependency": Kind(("/query?millis=20", 40), ("/query?millis=300", 40), ["--lambda-dispatcher.burst.base-concurrency=10"]),
}


class Load(Clients):
    """Sends each request on a connection of its own: some at a constant rate, and others as soon as the one before is answered."""

    def ask_for(self, path, planned=None):
        return self.send(planned or time.monotonic(), "GET", self.client.request("GET", path, fields="connection: close\r\n"))

    async def at_rate(self, path, per_second, seconds):
        asked = [self.ask_for(path, planned) async for planned in due(seconds, lambda: 1 / per_second)]
        return await asyncio.gather(*asked)

    async def again_and_again(self, path):
        while True:
            await self.ask_for(path)


def role(answer):
    """@return which program has served it"""
    return answer.body.decode().strip()


def problems_of(answers):
    return [answer.problem or role(answer) for answer in answers if answer.problem or role(answer) not in ("base", "worker")]


class Application(contextlib.ExitStack):
    """The application in its control group, and a thread that puts what it launches into another one."""

    def __init__(self, options, directory, name, settings, core=None):
        super().__init__()
        self.groups = {}
        self.most = 0
        self.core = core
        prefix = []
        for each, processors in PROCESSORS.items() if core is None else ():
            self.groups[each] = Group(MEBIBYTES, each, processors)
            self.callback(self.groups[each].remove)
            prefix = self.groups["base"].command([])
        self.port = free_port()
        self.process = Process(name, [
            *prefix, options.java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{options.classes}:{LIBRARIES}/*",
            "burst.BurstApplication", f"--server.port={self.port}", "--server.address=127.0.0.1", "--lambda-dispatcher.burst.function=local",
            f"--lambda-dispatcher.burst.max-workers={MOST_LAUNCHED}", f"--lambda-dispatcher.workers.port={free_port()}", *settings], core, directory)
        self.callback(self.process.stop)
        self.enter_context(sampled(0.02, self.look))
        self.process.await_port(self.port)
        self.clients = Load(self.port, 60)
        self.callback(self.clients.close)

    def launched(self):
        return children(self.process.pid)

    def look(self):
        launched = self.launched()
        self.most = max(self.most, len(launched))
        for pid in launched:
            # It may have ended.
            with contextlib.suppress(OSError):
                self.move(pid)

    def move(self, pid):
        if self.core is None:
            for file in self.groups["launched"].inside:
                file.write_text(str(pid))
        else:
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(thread), {1 - self.core})

    def send(self, path, per_second, seconds):
        return self.clients.run(self.clients.at_rate(path, per_second, seconds))

    def await_end_of_launched(self):
        return seconds_until(lambda: not self.launched(), GONE_SECONDS)

    def lost_workers(self):
        return [line for line in self.process.log.read_text().splitlines() if "no answer to a ping" in line]


class Saturation(Driver):
    names = (*KINDS, "relay")
    tools = ("taskset",)
    defaults = {"seconds": 60.0, "warm_up": 20.0, "check": False}
    quick = {"seconds": 20.0, "warm_up": 5.0}

    def execute(self):
        if not LIBRARIES.is_dir():
            raise Failure(f"{LIBRARIES} does not exist; try: mvn -P examples -DskipTests package")
        Group(MEBIBYTES, "saturation").remove()
        self.options.java = self.java
        self.options.classes = machine.compiled("BurstApplication", f"{LIBRARIES}/*", self.java, self.directory)
        self.one_by_one(lambda name, directory: self.relay(directory) if name == "relay" else self.saturate(name, directory, KINDS[name]))

    def saturate(self, name, directory, kind):
        with Application(self.options, directory, name, kind.settings) as application:
            application.send(*kind.calm, self.options.warm_up)
            application.await_end_of_launched()
            answers = {"before": application.send(*kind.calm, 20)}
            answers["burst"] = application.send(*kind.burst, self.options.seconds)
            settling = application.clients.begin(application.clients.at_rate(*kind.calm, GONE_SECONDS))
            gone = application.await_end_of_launched()
            answers["settling"] = settling.result()
            answers["after"] = application.send(*kind.calm, 20)
            # At the beginning, requests wait for the start of a worker.
            answers["end of the burst"] = answers["burst"][-len(answers["burst"]) // 3:]
            return {
                "sent": sum(map(len, answers.values())), "lost": [problem for each in answers.values() for problem in problems_of(each)],
                "share": {phase: sum(role(answer) == "base" for answer in each) / len(each) for phase, each in answers.items()},
                "p99": {phase: p99(each) for phase, each in answers.items()},
                "most_launched": application.most, "gone_seconds": round(gone, 1), "lost_workers": application.lost_workers()}

    def relay(self, directory):
        everywhere = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {1})  # The clients must not wait for the processor of the application.
        with Application(self.options, directory, "relay", [f"--lambda-dispatcher.burst.base-concurrency={FULL}"], core=0) as application:
            application.callback(os.sched_setaffinity, 0, everywhere)
            p99s = {}
            sent = []
            for path in ("/sleep?millis=200", "/burn-base?millis=200"):
                filling = [application.clients.begin(application.clients.again_and_again(path)) for _ in range(2 * FULL)]
                await_that(lambda: application.most > 0, 60, "a launched worker", application.process)
                application.send("/quick", 50, self.options.warm_up)
                answers = application.send("/quick", 50, self.options.seconds)
                for task in filling:
                    task.cancel()
                sent += answers
                p99s[path] = p99([answer for answer in answers if role(answer) == "worker"])
            return {"sent": len(sent), "lost": problems_of(sent), "p99": p99s,
                    "relayed": sum(role(answer) == "worker" for answer in sent), "lost_workers": application.lost_workers()}

    def meta(self):
        return {"processors": PROCESSORS, "kinds": {name: kind._asdict() for name, kind in KINDS.items()}}

    def show(self, report):
        rows = [row for row in report["results"] if row["name"] != "relay"]
        print(table(
            "saturated by | sent | lost | share of the application before | in the burst | after | p99 ms before | at the end of the burst | after | launched at most | gone after, s",
            [[row["name"], row["sent"], len(row["lost"]), *(f"{row['share'][phase]:.1%}" for phase in ("before", "burst", "after")),
              *(f"{row['p99'][phase]:.0f}" for phase in ("before", "end of the burst", "after")), row["most_launched"], row["gone_seconds"]] for row in rows]))
        for row in report["results"]:
            if row["name"] == "relay":
                print(f"{row['relayed']} of {row['sent']} relayed, {len(row['lost'])} lost; p99 ms: {row['p99']}; workers lost: {len(row['lost_workers'])}")
            for problem in row["lost"][:10]:
                print(f"{row['name']}: lost {problem}")

    @staticmethod
    def problems(row):
        if row["lost"]:
            yield f"{len(row['lost'])} lost, such as {row['lost'][0]}"
        if row["lost_workers"]:
            yield f"the dispatcher lost a worker: {row['lost_workers'][0]}"
        if row["name"] == "relay":
            quiet, burning = row["p99"].values()
            if None in (quiet, burning):
                yield "no request was relayed"
            elif burning > quiet + MOST_LATER_MILLIS:
                yield f"relayed requests had a p99 of {burning} ms beside requests that use the processor, and {quiet} ms beside others"
            return
        for phase in ("before", "after"):
            if row["share"][phase] < LEAST_SHARE:
                yield f"the application has served {row['share'][phase]:.1%} of the requests {phase}, expected {LEAST_SHARE:.0%}"
        if not row["most_launched"] or row["share"]["burst"] == 1:
            yield "no launched worker served a request"
        if row["share"]["end of the burst"] < LEAST_SHARE_IN_BURST:
            yield f"the application has served {row['share']['end of the burst']:.1%} at the end of the burst, expected {LEAST_SHARE_IN_BURST:.0%}"
        if row["gone_seconds"] >= GONE_SECONDS:
            yield f"launched workers were there {GONE_SECONDS} s after the burst"


def p99(answers):
    """In milliseconds."""
    times = sorted(answer.ended - answer.planned for answer in answers)
    return round(1000 * times[int(len(times) * 0.99)], 1) if times else None


if __name__ == "__main__":
    Saturation.main()
