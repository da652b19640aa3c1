"""Measures loads on contenders, and what each costs its contender."""

import collections
import re
import statistics
import time

from load import Load
from processes import await_that, progress

JAVA_THREADS = {
    # The kernel truncates names to 15 characters.
    "jit_micros": r"C[12] CompilerThre|Sweeper thread|C[12] ",
    "gc_micros": r"GC Thread|G1 |ZDirector|ZDriver|ZStat|ZWorker|VM Thread|Gang worker|Shenandoah",
}


def await_answers(contender, scenario, directory):
    load = lambda: Load(contender.port, scenario, contender.shape.at_once(), directory, contender.shape)
    await_that(lambda: load().errors(scenario) == 0, 120, f"{contender.name} to answer {scenario.path} with 200 and {scenario.size} bytes", contender.process)


def warm(contender, scenario, directory, warm_seconds, seconds):
    """Warms up for this time. @return how many requests take `seconds`, at the rate of the last load"""
    requests = max(contender.shape.at_once(), scenario.warm_requests)
    deadline = time.monotonic() + warm_seconds
    while True:
        load = Load(contender.port, scenario, requests, directory, contender.shape)
        requests = max(contender.shape.at_once(), int(load.rate * seconds))
        if time.monotonic() >= deadline:
            return requests


def measure(contender, scenario, requests, directory, shape=None):
    """@param shape of this load, if it is another one than that of the contender"""
    contender.process.check()
    allocated_before = contender.allocated_bytes()
    before = contender.process.cpu()
    started = time.monotonic()
    load = Load(contender.port, scenario, requests, directory, shape or contender.shape)
    elapsed = time.monotonic() - started
    spent = contender.process.cpu().since(before)
    allocated_after = contender.allocated_bytes()
    micros = lambda seconds: seconds * 1e6 / requests
    sample = {
        "requests": requests, "requests_per_second": load.rate, "errors": load.errors(scenario),
        "cpu_micros": micros(spent.seconds()), "user_micros": micros(spent.user), "system_micros": micros(spent.system),
        "core_share": spent.seconds() / elapsed, "latency_millis": load.latencies_millis()}
    if contender.is_java():
        sample["threads"] = java_threads(spent, micros)
        sample["allocated_bytes"] = (allocated_after - allocated_before) / requests
    return sample


class Rounds:
    """
    Loads of each contender with each scenario. In a round, the contenders take turns, so that disturbances of the machine affect all of them.

    samples -- by contender and scenario, those of all rounds
    """

    def __init__(self, directory, contenders, scenarios):
        self.directory = directory
        self.loads = [(contender, scenario) for scenario in scenarios for contender in contenders]
        self.requests = {}
        self.samples = collections.defaultdict(list)

    def warm_up(self, warm_seconds, seconds):
        """@param warm_seconds for a contender. @param seconds that a load will take: the rate of the last warm-up decides on the number of requests"""
        for contender, scenario in self.loads:
            progress(f"warming up {contender.name} with {scenario.name} for {warm_seconds(contender):g} s")
            await_answers(contender, scenario, self.directory)
            self.requests[contender, scenario] = warm(contender, scenario, self.directory, warm_seconds(contender), seconds)

    def run(self, rounds):
        for number in range(1, rounds + 1):
            progress(f"round {number} of {rounds}")
            self.once()

    def once(self):
        for contender, scenario in self.loads:
            self.samples[contender, scenario].append(measure(contender, scenario, self.requests[contender, scenario], self.directory))


def java_threads(spent, micros):
    shares = {name: micros(spent.of_threads(pattern)) for name, pattern in JAVA_THREADS.items()}
    everything = micros(sum(spent.threads.values()))
    serving = {name: seconds for name, seconds in spent.threads.items() if not any(re.match(pattern, name) for pattern in JAVA_THREADS.values())}
    busiest = max(serving, key=serving.get)
    shares["event_loop_micros"] = micros(spent.threads[busiest])
    shares["event_loop_thread"] = busiest
    shares["other_micros"] = everything - sum(value for name, value in shares.items() if name.endswith("_micros"))
    return shares


def summary(samples):
    """Medians over the rounds. For the CPU time, also the minimum and the maximum. Figures that the samples do not have are left out."""
    times = [sample["cpu_micros"] for sample in samples]
    flat = [{**sample, **sample.get("threads", {}), **{f"{name}_millis": value for name, value in sample["latency_millis"].items()}} for sample in samples]
    names = ("user_micros", "system_micros", "core_share", "requests_per_second", "allocated_bytes", "p50_millis", "p99_millis",
             "event_loop_micros", "jit_micros", "gc_micros", "other_micros")
    return {
        "cpu_micros": statistics.median(times), "cpu_micros_lowest": min(times), "cpu_micros_highest": max(times), "errors": sum(each["errors"] for each in flat),
        **{name: statistics.median(each[name] for each in flat) for name in names if name in flat[0]}}


def cpu(row, form=".2f"):
    """@return the CPU time of a summary with its range, as text"""
    return f"{row['cpu_micros']:{form}} ({row['cpu_micros_lowest']:{form}}–{row['cpu_micros_highest']:{form}})"
