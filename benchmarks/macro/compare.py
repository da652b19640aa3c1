#!/usr/bin/env python3
"""Compares the CPU time per request of the checked out commit with that of another commit.

    benchmarks/macro/compare.py HEAD~1                      about 15 minutes
    benchmarks/macro/compare.py v0.1.0 --scenarios image --bound 1.02
    benchmarks/macro/compare.py HEAD --setting function-deadline=10s

Both dispatchers run concurrently, each with one event loop, on core 0, and each has a worker of its own commit. The workers and the load generator share core 1. Each
pair is one load on each dispatcher, in alternating order. The processes are started several times, because two JVMs differ by themselves.
With --setting, only the checked out commit has this setting, so HEAD shows what it costs.
With --worker-tls, only the checked out commit has TLS between dispatcher and worker, as a dispatcher has it by default.
It reports the ratio of CPU time per request, checked out ÷ other: the mean of all pairs, with its 95 % interval. With --bound, the exit code is 1
if the interval lies wholly above the bound.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import machine  # noqa: E402
import processes  # noqa: E402
from contenders import LambdaDispatcher  # noqa: E402
from load import SCENARIOS  # noqa: E402
from machine import progress  # noqa: E402
from measure import await_answers, measure, warm  # noqa: E402
from pairs import alternate, compare, table  # noqa: E402
from processes import ROOT, Failure  # noqa: E402


class OtherDispatcher(LambdaDispatcher):
    """The dispatcher of another commit, without the settings that it does not know."""

    def __init__(self, tree, *arguments):
        super().__init__(*arguments)
        self.tree = tree
        self.class_path = self.class_path.replace(str(ROOT), str(tree))

    def settings(self):
        command = [self.java, "-cp", self.class_path, "io.lambdadispatcher.server.Main", "serve", "--help"]
        known = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        settings = {name: value for name, value in super().settings().items() if f"--{name}" in known}
        if not re.search(r"--workers-tls-certificate\S*off", known):
            # Commits before TLS by default have no TLS without a certificate.
            settings.pop("workers-tls-certificate", None)
        return settings

    def worker_environment(self):
        """Early commits have another class of the demo's handler, which is their default."""
        environment = super().worker_environment()
        name = environment["LAMBDA_DISPATCHER_HANDLER"].replace(".", "/")
        if not list(self.tree.glob(f"*/src/main/java/{name}.java")):
            del environment["LAMBDA_DISPATCHER_HANDLER"]
        return environment


class Run:
    def __init__(self, options):
        self.options = options
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="compare-"))
        self.tree = self.directory / "other"
        self.java = machine.java_of(options.jdk)
        self.flags = machine.jvm_flags(self.java, options.jvm_flags.split())

    def execute(self):
        machine.build()
        other = machine.git("rev-parse", "--verify", self.options.revision + "^{commit}")
        if not re.fullmatch("[0-9a-f]{40}", other):
            raise Failure(f"{self.options.revision}: expected a commit of this repository")
        try:
            self.build(other)
            results = {scenario.name: self.scenario(scenario) for scenario in self.options.scenarios}
        finally:
            processes.stop_all()
            machine.git("worktree", "remove", "--force", str(self.tree))
        return {"meta": machine.meta(self.java, self.flags, other=other, pairs=self.options.pairs, seconds=self.options.seconds,
                                     settings=self.options.settings), "results": results}

    def build(self, other):
        progress(f"building {other[:12]}")
        machine.git("worktree", "add", "--detach", str(self.tree), other)
        command = ["mvn", "-q", "-B", "-ntp", "-pl", "dispatcher-server", "-am", "-DskipTests", "package"]
        if subprocess.run(command, cwd=self.tree, check=False).returncode != 0:
            raise Failure(f"the build of {other} failed")

    def scenario(self, scenario):
        samples = []
        for number in range(self.options.processes):
            ours = LambdaDispatcher(self.java, self.flags, [], (1, 100), f"ours-{number}")
            theirs = OtherDispatcher(self.tree, self.java, self.flags, [], (1, 100), f"other-{number}")
            ours.flags.update(self.options.settings)
            ours.worker_tls = self.options.worker_tls
            both = [theirs, ours] if number % 2 else [ours, theirs]
            for each in both:
                each.start(self)
                await_answers(each, scenario, self.directory)
                requests = warm(each, scenario, self.directory, self.options.warm_up, self.options.seconds)
            progress(f"measuring {scenario.name}, processes {number + 1} of {self.options.processes}")
            for pair in range(self.options.pairs):
                samples.append(alternate(
                    pair,
                    lambda: measure(theirs, scenario, requests, self.directory),
                    lambda: measure(ours, scenario, requests, self.directory)))
            for each in both:
                each.stop()
        return compare(samples, self.options.processes)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="the other commit, for example main or HEAD~1")
    parser.add_argument("--scenarios", default=",".join(each.name for each in SCENARIOS), help="some of %(default)s")
    parser.add_argument("--processes", type=int, default=5, help="how often both dispatchers are started, by default %(default)s")
    parser.add_argument("--pairs", type=int, default=6, help="pairs of loads for each start, by default %(default)s")
    parser.add_argument("--seconds", type=float, default=3, help="length of one load, by default %(default)g")
    parser.add_argument("--warm-up", type=float, default=20, metavar="SECONDS")
    parser.add_argument("--bound", type=float, metavar="RATIO", help="exit with 1 if an interval lies wholly above this ratio")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="a setting of the checked out dispatcher; may be repeated")
    parser.add_argument("--worker-tls", action="store_true", help="TLS between the checked out dispatcher and its worker")
    parser.add_argument("--quick", action="store_true", help="two short pairs, to check that everything works")
    parser.add_argument("--jdk", metavar="PATH", help="JDK that runs everything; by default JAVA_HOME, then the PATH")
    parser.add_argument("--jvm-flags", default=machine.DISPATCHER_FLAGS, help="JVM flags of the dispatchers")
    parser.add_argument("--json", metavar="FILE", help="file for the results, by default benchmarks/target/compare-<time>.json")
    options = parser.parse_args()
    for setting in options.setting:
        if "=" not in setting:
            raise Failure(f"--setting {setting}: expected NAME=VALUE, such as function-deadline=10s")
    options.settings = dict(setting.split("=", 1) for setting in options.setting)
    by_name = {each.name: each for each in SCENARIOS}
    unknown = [name for name in options.scenarios.split(",") if name not in by_name]
    if unknown:
        raise Failure(f"--scenarios {','.join(unknown)}: expected some of {','.join(by_name)}")
    options.scenarios = [by_name[name] for name in options.scenarios.split(",")]
    if options.quick:
        options.processes, options.pairs, options.seconds, options.warm_up = 1, 2, 0.5, 0.5
    return options


def main():
    processes.end_children_with_the_script()
    try:
        options = arguments()
        processes.need("h2load", "taskset", "mvn")
        run = Run(options)
        report = run.execute()
    except Failure as failure:
        sys.exit(f"compare: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        processes.stop_all()
    meta, results = report["meta"], report["results"]
    print(f"commit {meta['commit'][:12]}{' (dirty)' if meta['dirty'] else ''} beside {meta['other'][:12]}, {meta['jdk']}, {meta['cpu']}")
    print("\n" + table("scenario", "other", "checked out", results))
    machine.write_json(report, options.json, "compare")
    shutil.rmtree(run.directory)
    slower = [name for name, row in results.items() if options.bound and row["ratio_low"] > options.bound]
    if slower:
        sys.exit(f"compare: {', '.join(slower)}: the interval lies wholly above {options.bound}")


if __name__ == "__main__":
    main()
