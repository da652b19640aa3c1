#!/usr/bin/env python3
"""The scenarios that benchmarks of such systems publish, with hey over HTTP/2 and TLS against a running dispatcher.

Every answer must be a 200; before and after each scenario, curl fetches the same over HTTP/2 and HTTP/1.1 and the octets are
compared by SHA-256. Prints a Markdown table with the published figures beside ours.

    ./dispatcher demo                                          # in another terminal, then
    benchmarks/macro/scenarios.py --url https://localhost:8443
    benchmarks/macro/scenarios.py --demo                       # or: starts the demo, ends it afterwards
"""

import argparse
import collections
import datetime
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import processes  # noqa: E402
from processes import ROOT, Failure, Process, free_port, tool  # noqa: E402

IMAGE = "/public/silly-test-image.jpg"
IMAGE_BYTES = 168_161
LARGE_BYTES = 9_365_076

# body: None = GET; else the name of what is posted. Published: requests a second and average.
Scenario = collections.namedtuple("Scenario", "name title path body connections requests peer direct")
SCENARIOS = [
    Scenario("ping", "GET `/ping`, 4 B", "/ping", None, 100, 10_000, "2,741, 34 ms", "5,553, 17 ms"),
    Scenario("image", "GET image, 168,161 B", IMAGE, None, 100, 10_000, "644, 133 ms", "480, 197 ms"),
    Scenario("echo", "POST `/echo`, 168,161 B", "/echo", "image", 100, 10_000, "320, 286 ms", "242, 397 ms"),
    Scenario("large", "POST `/echo`, 9,365,076 B", "/echo", "large", 10, 60, "6.2, 1,532 ms", "impossible"),
]


class Target:
    """The dispatcher under test, as curl sees it."""

    def __init__(self, url, directory):
        self.url = url.rstrip("/")
        self.directory = directory

    def fetch(self, path, post=None, version="--http2"):
        """@return status and octets of one answer"""
        answer = self.directory / "answer"
        answer.unlink(missing_ok=True)
        command = [tool("curl"), "-sk", version, "-o", answer, "-w", "%{http_code} %{http_version}"]
        if post:
            command += ["-X", "POST", "-H", "content-type: application/octet-stream", "--data-binary", f"@{post}"]
        done = subprocess.run(map(str, command + [self.url + path]), capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise Failure(f"curl {version} {self.url}{path} failed with exit code {done.returncode}")
        status, spoken = done.stdout.split()
        expected = "2" if version == "--http2" else "1.1"
        if self.url.startswith("https") and spoken != expected:
            raise Failure(f"{self.url} spoke HTTP/{spoken} to curl {version}, expected {expected}")
        return int(status), answer.read_bytes() if answer.exists() else b""


def verify(target, scenario, files, expected):
    """Both protocol versions give the expected octets."""
    for version in ("--http2", "--http1.1"):
        status, octets = target.fetch(scenario.path, files.get(scenario.body), version)
        found = hashlib.sha256(octets).hexdigest()
        if status != 200 or found != expected:
            raise Failure(
                f"{scenario.title} with curl {version}: status {status}, {len(octets)} octets with SHA-256 {found}, "
                f"expected 200 and {expected}"
            )


def run_hey(target, scenario, files):
    command = [tool("hey"), "-h2", "-c", scenario.connections, "-n", scenario.requests, "-t", "120"]
    if scenario.body:
        command += ["-m", "POST", "-T", "application/octet-stream", "-D", files[scenario.body]]
    command = [*map(str, command), target.url + scenario.path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return {"command": " ".join(["hey", *command[1:]]), **parse(done.stdout)}


def parse(printed):
    statuses = {int(code): int(count) for code, count in re.findall(r"\[(\d{3})\]\s+(\d+) responses", printed)}
    if not statuses:
        raise Failure(f"hey got no responses:\n{printed}")
    number = lambda pattern: float(re.search(pattern, printed).group(1))
    errors = printed.partition("Error distribution:")[2]
    return {
        "requests_per_second": number(r"Requests/sec:\s+([\d.]+)"),
        "average_millis": number(r"Average:\s+([\d.]+)") * 1000,
        "p50_millis": number(r"50% in ([\d.]+)") * 1000,
        "p99_millis": number(r"99% in ([\d.]+)") * 1000 if "99% in" in printed else None,
        "slowest_millis": number(r"Slowest:\s+([\d.]+)") * 1000,
        "body_bytes": int(number(r"Size/request:\s+(\d+)")) if "Size/request" in printed else None,
        "statuses": statuses,
        "errors": [line.strip() for line in errors.splitlines() if line.strip()],
    }


def check(scenario, result, expected_bytes):
    count = result["statuses"].get(200, 0)
    # hey gives each connection the same number of requests, and leaves out the rest of the division.
    wanted = scenario.requests // scenario.connections * scenario.connections
    if count != wanted or len(result["statuses"]) != 1 or result["errors"]:
        raise Failure(f"{scenario.title}: expected {wanted} × 200, got {result['statuses']}, errors {result['errors']}")
    if result["body_bytes"] not in (None, expected_bytes):
        raise Failure(f"{scenario.title}: {result['body_bytes']} octets an answer, expected {expected_bytes}")


def prepare(target, directory):
    """The files to post, and what each scenario's answer has to be."""
    status, image = target.fetch(IMAGE)
    if status != 200 or len(image) != IMAGE_BYTES:
        raise Failure(f"{target.url}{IMAGE}: status {status}, {len(image)} octets, expected 200 and {IMAGE_BYTES}")
    contents = {"image": image, "large": random.Random(LARGE_BYTES).randbytes(LARGE_BYTES)}
    files = {}
    for name, octets in contents.items():
        files[name] = directory / name
        files[name].write_bytes(octets)
    answers = {"ping": b"pong", "image": image, "echo": image, "large": contents["large"]}
    return files, answers


def execute(options, target, directory):
    files, answers = prepare(target, directory)
    results = []
    for scenario in chosen(options.only):
        progress(scenario.title)
        answer = answers[scenario.name]
        digest = hashlib.sha256(answer).hexdigest()
        verify(target, scenario, files, digest)
        if options.warm_up:
            run_hey(target, scenario, files)
        result = run_hey(target, scenario, files)
        check(scenario, result, len(answer))
        verify(target, scenario, files, digest)
        results.append({"scenario": scenario.name, "sha256": digest, **result})
    return {
        "taken": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "HEAD"),
        "dirty": bool(git("status", "--porcelain", "--untracked-files=no")),
        "url": target.url,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
        "results": results,
    }


def chosen(only):
    known = [scenario.name for scenario in SCENARIOS]
    names = only.split(",") if only else known
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Failure(f"--only {','.join(unknown)}: expected some of {','.join(known)}")
    return [scenario for scenario in SCENARIOS if scenario.name in names]


def print_table(report):
    by_name = {scenario.name: scenario for scenario in SCENARIOS}
    print(f"commit {report['commit'][:12]}{' (dirty)' if report['dirty'] else ''}, {report['cores']} cores shared by load, "
          "dispatcher and workers; requests/s and average\n")
    print("| scenario | c, n | this dispatcher | p50, p99, max ms | 200s | peer dispatch | direct |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for result in report["results"]:
        scenario = by_name[result["scenario"]]
        p99 = "–" if result["p99_millis"] is None else f"{result['p99_millis']:,.1f}"
        print(
            f"| {scenario.title} | {scenario.connections}, {scenario.requests:,} "
            f"| **{amount(result['requests_per_second'])}, {amount(result['average_millis'])} ms** "
            f"| {result['p50_millis']:,.1f}, {p99}, {result['slowest_millis']:,.1f} "
            f"| 100 %, same SHA-256 | {scenario.peer} | {scenario.direct} |"
        )
    print("\nPublished figures: peer with 20 workers of 512 MB and a router of 1 vCPU; direct with 100 Lambdas of 512 MB behind an "
          "ALB, n = 1,000 for the image and its echo. Ours is one machine over loopback: read orders of magnitude, not ratios.")


def amount(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def start_demo(directory):
    """@return its TLS URL, when it answers"""
    port = free_port()
    flags = [
        f"--public-tls-port={port}",
        f"--public-plain-port={free_port()}",
        f"--workers-port={free_port()}",
        f"--admin-port={free_port()}",
    ]
    demo = Process("demo", [ROOT / "dispatcher", "demo", *flags], None, directory)
    # The first start builds.
    demo.await_port(port, seconds=300)
    target = Target(f"https://localhost:{port}", directory)
    deadline = time.monotonic() + 30
    while target.fetch("/ping")[0] != 200:
        demo.check()
        if time.monotonic() > deadline:
            raise Failure(f"the demo does not answer /ping with 200:\n{demo.log_end()}")
        time.sleep(0.2)
    return target


def progress(text):
    print(f"scenarios: {text}", file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="https://localhost:8443", help="of the dispatcher, by default %(default)s")
    parser.add_argument("--demo", action="store_true", help="start ./dispatcher demo on free ports instead of --url")
    parser.add_argument("--only", help="some of ping,image,echo,large")
    parser.add_argument("--warm-up", action="store_true", help="run each scenario twice and report the second")
    parser.add_argument("--json", metavar="FILE", help="by default benchmarks/target/scenarios-<time>.json")
    return parser.parse_args()


def main():
    options = arguments()
    processes.end_children_with_the_script()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="scenarios-"))
    try:
        processes.need("hey", "curl")
        target = start_demo(directory) if options.demo else Target(options.url, directory)
        report = execute(options, target, directory)
    except Failure as failure:
        sys.exit(f"scenarios: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        processes.stop_all()
    print_table(report)
    stamp = report["taken"].replace(":", "").replace("+0000", "")
    path = pathlib.Path(options.json or ROOT / "benchmarks/target" / f"scenarios-{stamp}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")
    shutil.rmtree(directory)
    progress(f"wrote {path}")


if __name__ == "__main__":
    main()
