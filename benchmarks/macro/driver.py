"""What the programs of this directory have in common: arguments, the run from its start to its end, the file of results, and tables."""

import argparse
import pathlib
import resource
import shutil
import sys
import tempfile

import machine
import processes
from contenders import programs
from load import LOAD_CORE, PROXY_CORE
from processes import Failure, Process, free_port, progress, some_of

# The options that several programs have. Each program says which it has, by their defaults.
OPTIONS = {
    "rounds": "measurements of each row, of which the median is shown",
    "pairs": "pairs of loads for each start",
    "processes": "how often the dispatchers are started",
    "seconds": "length of one measurement",
    "warm_up": "seconds of warm-up, unless another option names them",
    "worker_warm_up": "seconds of warm-up if the worker is new",
    "jvm_warm_up": "seconds of warm-up of a new JVM, which compiles its code then",
    "jvm_flags": "JVM flags of the dispatcher",
    "worker_flags": "JVM flags of the workers",
    "check": "fail if a promise is not kept, which the description names",
}


class Driver:
    """
    A program that measures. `main` parses the arguments and calls `execute`, `show` and `failures`. Everything that was started ends with it.
    """

    # The names that --only chooses from; None if there is no such option. A name may have a suffix, after a +.
    names = None
    tools = ("h2load", "taskset")
    cores = 1
    # The options that the program has, with their defaults. A default of False is a switch, a list may be repeated, and a type has no default.
    # Options that are not in OPTIONS also have a help text, after the default.
    defaults = {}
    # The values of any options with --quick.
    quick = {}

    def __init__(self, options):
        self.options = options
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.title()}-"))
        self.java = machine.java_of(options.jdk)
        self.flags = self.jvm_flags(self.java)
        self.backend_port = free_port()
        self.results = []

    @classmethod
    def title(cls):
        return pathlib.Path(sys.modules[cls.__module__].__file__).stem.replace("_", "-")

    @classmethod
    def arguments(cls, parser):
        """Adds arguments that are no options."""

    @classmethod
    def verify(cls, options):
        """Checks and converts the arguments. Raises Failure."""

    def execute(self):
        """Measures. @return the results, if they are not in self.results"""
        raise NotImplementedError

    def meta(self):
        """What the report says of the run, in addition to the machine, the flags and the numbers of the options."""
        return {}

    def show(self, report):
        """Prints the report."""

    def failures(self, report):
        """@return why the program ends with exit code 1; empty if the run has passed. If there is an option --check, only with it"""
        return [f"{row['name']}: {problem}" for row in report["results"] for problem in self.problems(row)]

    @staticmethod
    def problems(row):
        """@return what a result should not have"""
        return ()

    def one_by_one(self, measure):
        """Measures each name of --only. @param measure returns a result for a name and a directory of its own"""
        for name in self.options.only:
            progress(name)
            directory = self.directory / name
            directory.mkdir()
            self.results.append({"name": name, **measure(name, directory)})
            progress(f"{name}: {self.results[-1]}")

    def jvm_flags(self, java, *more):
        return machine.jvm_flags(java, [*getattr(self.options, "jvm_flags", machine.DISPATCHER_FLAGS).split(), *more])

    def start_backend(self, core=LOAD_CORE):
        command = [self.java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", machine.BENCHMARKS_JAR, "io.lambdadispatcher.bench.endtoend.BackendMain"]
        self.backend = Process("backend", [*command, self.backend_port], core, self.directory)
        self.backend.await_port(self.backend_port)

    def report(self):
        results = self.execute()
        common = {name: value for name in self.defaults if type(value := getattr(self.options, name)) in (int, float)}
        if "worker_flags" in self.defaults:
            common["worker_flags"] = self.options.worker_flags.split()
        if hasattr(self, "contenders"):
            common["contenders"] = {contender.name: contender.note for contender in self.contenders}
        return {"meta": machine.meta(self.java, self.flags, **{**common, **self.meta()}), "results": self.results if results is None else results}

    @classmethod
    def parse(cls, arguments=None):
        doc = sys.modules[cls.__module__].__doc__
        parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        cls.arguments(parser)
        if cls.names:
            parser.add_argument("--only", default=",".join(cls.names), help="measures some of %(default)s")
        for name, default in cls.defaults.items():
            default, text = default if isinstance(default, tuple) else (default, OPTIONS[name])
            if default is False:
                kind = {"action": "store_true"}
            elif default == []:
                kind = {"action": "append", "default": []}
            elif isinstance(default, type):
                kind = {"type": default}
            else:
                kind, text = {"type": type(default), "default": default}, text if default == "" else f"{text}; default: %(default)s"
            parser.add_argument(f"--{name.replace('_', '-')}", help=text, **kind)
        if cls.quick:
            parser.add_argument("--quick", action="store_true", help="runs everything once and shortly, to check that it works")
        parser.add_argument("--jdk", metavar="PATH", help="JDK that runs everything; default: JAVA_HOME, then the PATH")
        parser.add_argument("--json", metavar="FILE", help=f"file for the results; default: benchmarks/target/{cls.title()}-<time>.json")
        options = parser.parse_args(arguments)
        if cls.names:
            options.only = some_of("only", options.only, cls.names)
        if cls.quick and options.quick:
            vars(options).update(cls.quick)
        cls.verify(options)
        return options

    @classmethod
    def main(cls):
        processes.end_children_with_the_script()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        try:
            options = cls.parse()
            processes.need(*cls.tools, *programs(options.only if cls.names else ()))
            if cls.cores == 2 and PROXY_CORE == LOAD_CORE and not getattr(options, "available", False):
                raise Failure("one core only; two are needed, one for the proxies and one for load and backend")
            run = cls(options)
            report = run.report()
        except Failure as failure:
            sys.exit(f"{cls.title()}: {failure}")
        except KeyboardInterrupt:
            sys.exit(130)
        finally:
            processes.stop_all()
        meta = report["meta"]
        print(f"commit {meta['commit'][:12]}{' (dirty)' if meta['dirty'] else ''}, {meta['jdk']}, {meta['cpu']}")
        run.file = machine.write_json(report, options.json, cls.title())
        run.show(report)
        failures = run.failures(report) if getattr(options, "check", True) else []
        if failures:
            sys.exit("\n".join([*(f"{cls.title()}: {failure}" for failure in failures), f"logs: {run.directory}"]))
        shutil.rmtree(run.directory)


def by(rows, key):
    """@return the rows by their value of a key, in the order of the first of each"""
    found = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def table(head, rows):
    """@return Markdown. @param head the titles, separated by |. @param rows lists of cells"""
    titles = head.split("|")
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(str(cell).strip() for cell in line)} |" for line in lines)
