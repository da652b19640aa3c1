#!/usr/bin/env -S python3 -B
"""Compares the CPU time per request of the checked out commit with that of another commit.

    benchmarks/macro/compare.py HEAD~1                      about 15 minutes
    benchmarks/macro/compare.py main --scenarios image --bound 1.02
    benchmarks/macro/compare.py HEAD --setting function-request-timeout=10s

Both dispatchers run concurrently, each with one event loop, on core 0, and each has a worker of its own commit. The workers and the load generator share core 1. Each
pair is one load on each dispatcher, in alternating order. The processes are started several times, because two JVMs differ by themselves.
The other commit must know the settings by their present names. With --setting, only the checked out commit has this setting, so HEAD shows what it costs.
With --workers, both have this many workers of the checked out commit.
With --worker-tls, only the checked out commit has TLS between dispatcher and worker, as a dispatcher has it by default.
It reports the ratio of CPU time per request, checked out ÷ other, without that of the JIT compiler: the mean of all pairs, with its 95 % interval. It also
reports the bytes that each dispatcher allocates on its heap for a request: median, lowest and highest. They differ between starts of one commit, because the
JIT compiler does not always find the same objects superfluous.
With --bound, the exit code is 1 if the interval lies wholly above the bound.
"""

import re
import statistics
from functools import partial

import machine
from contenders import Crowd, LambdaDispatcher
from driver import Driver
from load import scenarios_of
from measure import await_answers, measure, warm
from pairs import alternate, compare, rows
from processes import ROOT, Failure, progress, run


def of_commit(kind, tree):
    """@return a kind of dispatcher of another commit, without the settings that it does not know"""
    class OtherDispatcher(kind):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            self.class_path = self.class_path.replace(str(ROOT), str(tree))

        def settings(self):
            known = run([self.java, "-cp", self.class_path, "io.lambdadispatcher.server.Main", "serve", "--help-all"])
            return {name: value for name, value in super().settings().items() if f"--{name}" in known}

    return OtherDispatcher


class Compare(Driver):
    tools = ("h2load", "taskset", "mvn")
    defaults = {
        "processes": 5, "pairs": 6, "seconds": 3.0, "warm_up": 20.0, "jvm_flags": machine.DISPATCHER_FLAGS,
        "scenarios": ("ping,image,echo", "some of these"),
        "bound": (float, "exit with 1 if an interval lies wholly above this ratio"),
        "setting": ([], "NAME=VALUE: a setting of the checked out dispatcher; may be repeated"),
        "workers": (1, "workers of each dispatcher"),
        "worker_tls": (False, "TLS between the checked out dispatcher and its worker")}
    quick = {"processes": 1, "pairs": 2, "seconds": 0.5, "warm_up": 0.5}

    @classmethod
    def arguments(cls, parser):
        parser.add_argument("revision", help="the other commit, for example main or HEAD~1")

    @classmethod
    def verify(cls, options):
        wrong = [setting for setting in options.setting if "=" not in setting]
        if wrong:
            raise Failure(f"--setting {wrong[0]}: expected NAME=VALUE, such as function-request-timeout=10s")
        options.settings = dict(setting.split("=", 1) for setting in options.setting)
        options.scenarios = scenarios_of(options.scenarios)

    def execute(self):
        machine.build()
        self.tree = self.directory / "other"
        self.other = machine.git("rev-parse", "--verify", self.options.revision + "^{commit}")
        if not re.fullmatch("[0-9a-f]{40}", self.other):
            raise Failure(f"{self.options.revision}: expected a commit of this repository")
        try:
            machine.git("worktree", "add", "--detach", str(self.tree), self.other)
            machine.maven(f"building {self.other[:12]}", "-pl", "dispatcher-server", "-am", "-DskipTests", "package", cwd=self.tree)
            return {scenario.name: self.scenario(scenario) for scenario in self.options.scenarios}
        finally:
            machine.git("worktree", "remove", "--force", str(self.tree))

    def meta(self):
        return {"other": self.other, "settings": self.options.settings}

    def scenario(self, scenario):
        samples = []
        kind = type("Workers", (Crowd,), {"count": self.options.workers}) if self.options.workers > 1 else LambdaDispatcher
        for number in range(self.options.processes):
            ours = kind(self, f"ours-{number}")
            theirs = of_commit(kind, self.tree)(self, f"other-{number}")
            ours.flags.update(self.options.settings)
            ours.worker_tls = self.options.worker_tls
            both = [theirs, ours] if number % 2 else [ours, theirs]
            for each in both:
                each.start(self)
                await_answers(each, scenario, self.directory)
                requests = warm(each, scenario, self.directory, self.options.warm_up, self.options.seconds)
            progress(f"measuring {scenario.name}, processes {number + 1} of {self.options.processes}")
            samples += alternate(self.options.pairs, *(partial(measure, one, scenario, requests, self.directory) for one in (theirs, ours)))
            for each in both:
                each.stop()
        allocated = [sorted(sample["allocated_bytes"] for sample in of_one) for of_one in zip(*samples)]
        return {**compare(samples, self.options.processes), "allocated_bytes": allocated}

    def show(self, report):
        print(f"beside {self.other[:12]}\n\n" + rows("scenario", "other", "checked out", report["results"]))
        for name, row in report["results"].items():
            print(f"{name}: bytes/request " + ", ".join(f"{statistics.median(each):,.0f} ({each[0]:,.0f}–{each[-1]:,.0f})" for each in row["allocated_bytes"]))

    def failures(self, report):
        bound = self.options.bound
        return [f"{name}: the interval lies wholly above {bound}" for name, row in report["results"].items() if bound and row["ratio_low"] > bound]


if __name__ == "__main__":
    Compare.main()
