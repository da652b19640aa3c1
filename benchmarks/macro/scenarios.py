#!/usr/bin/env -S python3 -B
"""Runs the scenarios that dispatchers for Lambda publish. Compares workers with one invocation per request, in one run on one machine.

Each side is a complete dispatcher with TLS in front of an imitation of Lambda. Both run the same handlers. On the side `dispatch`,
invocations are workers, which connect to the dispatcher. On the side `direct`, each request is one invocation with Lambda's rules: an
environment serves one request at a time, with JSON and base64, cold starts, and at most 6 MB. S3, the database and cold starts are
simulated, as the rows say.

    benchmarks/macro/scenarios.py                       # everything, eight minutes
    benchmarks/macro/scenarios.py --quick               # checks that everything works, without useful figures
    benchmarks/macro/scenarios.py --only ping,image
"""

import collections
import hashlib
import json
import math
import random
import re
import statistics
import struct
import time
import urllib.request

import machine
from driver import Driver, table
from load import IMAGE_BYTES, LARGE_BYTES, Load, Scenario, Shape
from processes import Failure, Process, answers, await_that, free_port, progress, run, tool

IMAGE = "/public/silly-test-image.jpg"
FEATURES = 42
# Pools: initial workers, maximum of workers, streams of each; maximum of environments for one invocation per request.
Pool = collections.namedtuple("Pool", "name least most streams environments timeout_millis")
POOLS = [
    Pool("warm", 20, 20, 5, 100, 900_000),
    Pool("many", 40, 40, 5, 200, 900_000),
    Pool("few", 2, 2, 5, 10, 900_000),
    Pool("growing", 2, 20, 5, 100, 900_000),
    Pool("hanging", 20, 20, 5, 100, 3_000),
]

S3 = "the time of S3 (lognormal, median {s3_millis:g} ms)"
COLD = "the time of cold starts (lognormal, median {cold_start_millis:g} ms, for both sides)"
PUT = "a database behind TLS on loopback (service time {service_millis:g} ms in the median, round trips of {round_trip_millis:g} ms), called by the AWS SDK's DynamoDB client"

# body: None = GET; otherwise the name of the posted body. published: in the words of its authors.
Row = collections.namedtuple(
    "Row", "name title path body pool connections requests dispatch direct simulated load", defaults=("", "closed")
)
ROWS = [
    Row("ping", "GET `/ping`, 4 B", "/ping", None, "warm", 100, 10_000, "2,741 rps, 34 ms", "5,553 rps, 17 ms"),
    Row("s3-image", "GET S3 image, 168,161 B, warm", "/s3/image", None, "warm", 100, 1000, "452 rps, 188 ms", "457 rps, 202 ms", S3),
    Row(
        "scale-up", "GET S3 image, scale-up: 2 warm of 20 workers, 10 warm of 100 environments", "/s3/image", None, "growing", 100, 1000,
        "81 rps, 1,167 ms, max 2.7 s", "98 rps, 873 ms, max 8.8 s", f"{S3}, and {COLD}", "from-few"),
    Row("s3-image-c10", "GET S3 image, 2 workers, 10 environments", "/s3/image", None, "few", 10, 1000, "52 rps, 185 ms", "193 rps, 50 ms", S3),
    Row("image", "GET local image, 168,161 B", IMAGE, None, "warm", 100, 1000, "644 rps, 133 ms", "480 rps, 197 ms"),
    Row("echo", "POST `/echo`, 168,161 B", "/echo", "image", "warm", 100, 1000, "320 rps, 286 ms", "242 rps, 397 ms"),
    Row("echo-large", "POST `/echo`, 9,365,076 B", "/echo", "large", "warm", 10, 60, "6.2 rps, 1,532 ms", "impossible"),
    Row(
        "timeouts", "200 rps, one handler timeout in 326", "/sometimes", None, "hanging", 20, 12_000,
        "60,000 requests, 184 timeouts, 4 failures", "", f"{COLD}. The function has a timeout of 3 s", "constant"),
    Row("json", "inference, JSON, 12 B", "/inference/json", "features.json", "warm", 100, 1000, "404 rps", ""),
    Row("json-c200", "inference, JSON, 12 B", "/inference/json", "features.json", "many", 200, 5000, "476 rps", ""),
    Row("protobuf", "inference, protobuf, 7 B", "/inference/protobuf", "features.pb", "warm", 100, 1000, "394 rps", ""),
    Row("protobuf-c200", "inference, protobuf, 7 B", "/inference/protobuf", "features.pb", "many", 200, 5000, "481 rps", ""),
    Row("put", "database put, connection kept", "/put/1", None, "few", 1, 100, "10 ms", "", PUT),
    Row("put-afresh", "database put, new connection", "/put-afresh/1", None, "few", 1, 60, "33 ms", "", PUT),
    Row("put-ten", "ten puts in a row, connection kept", "/put/10", None, "few", 1, 20, "60 ms", "", PUT),
    Row("put-ten-afresh", "ten puts in a row, new connections", "/put-afresh/10", None, "few", 1, 12, "180 ms", "", PUT),
]
RATE = 200
# What a new connection for each put costs: rows with and without keep-alive, and the published ratio of their times.
KEEP_ALIVE = [("one put", "put", "put-afresh", 33 / 10), ("ten puts in a row", "put-ten", "put-ten-afresh", 180 / 60)]
MEDIA_TYPES = {"features.json": "application/json", "features.pb": "application/x-protobuf"}


class Side:
    """A dispatcher and the Lambda that it invokes, on free ports."""

    def __init__(self, name, run):
        self.name = name
        self.run = run
        self.has_workers = name == "dispatch"
        self.port, self.admin_port, self.lambda_port = free_port(), free_port(), free_port()
        self.url = f"https://localhost:{self.port}"

    def start(self):
        run = self.run
        shape = "{0.name}=worker,{0.most},900000" if self.has_workers else "{0.name}=event,{0.environments},{0.timeout_millis}"
        functions = [shape.format(pool) for pool in POOLS]
        command = run.jvm(
            "-cp", f"{machine.BENCHMARKS_JAR}:{machine.SERVER_CLASS_PATH}", "io.lambdadispatcher.bench.lambda.LambdaMain", f"port={self.lambda_port}",
            f"cold-start-millis={run.options.cold_start_millis}", f"s3-millis={run.options.s3_millis}", f"database=https://localhost:{run.database_port}",
            f"certificate={run.certificate}", *functions)
        self.functions = Process(f"{self.name}-lambda", command, None, run.directory)
        self.functions.await_port(self.lambda_port)
        configuration = run.directory / f"{self.name}.yaml"
        # JSON is also YAML.
        configuration.write_text(json.dumps(self.configuration(), indent=1))
        command = run.jvm("-cp", machine.SERVER_CLASS_PATH, "io.lambdadispatcher.server.Main", "serve", "--config", configuration)
        # The AWS SDK requires credentials; the imitation of Lambda does not check them.
        credentials = {"AWS_ACCESS_KEY_ID": "loopback", "AWS_SECRET_ACCESS_KEY": "loopback"}
        self.dispatcher = Process(f"{self.name}-dispatcher", command, None, run.directory, credentials)
        self.dispatcher.await_port(self.admin_port)

    def configuration(self):
        tls = {"port": f"127.0.0.1:{self.port}", "certificate": str(self.run.certificate), "key": str(self.run.key)}
        return {
            "public": {"plain": {"port": "off"}, "tls": tls},
            "workers": {"port": f"127.0.0.1:{free_port()}", "advertised-addresses": "127.0.0.1:0"},
            # hey opens all its streams on one connection before it has read the limit, and cannot repeat a POST that is refused.
            "http": {"max-concurrent-streams": 1000},
            "admin": {"port": self.admin_port},
            "shutdown": {"delay": "0"},
            "aws": {"region": "us-east-1", "endpoint": f"http://127.0.0.1:{self.lambda_port}"},
            "functions": [{"name": pool.name, "header": f"x-function: {pool.name}", "lambda": pool.name, **self.mode(pool)} for pool in POOLS]}

    def mode(self, pool):
        if not self.has_workers:
            return {"mode": "direct", "event-format": "alb"}
        return {"launcher": "lambda", "min-workers": pool.least, "max-workers": pool.most, "worker-concurrency": pool.streams,
                "worker-timeout": f"{pool.timeout_millis}ms"}

    def await_ready(self):
        await_that(lambda: answers(f"http://127.0.0.1:{self.admin_port}/ready"), 180, f"{self.name} to be ready", self.dispatcher, self.functions)

    def cold_starts(self, pool):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.lambda_port}/counts", timeout=10) as answer:
            return json.load(answer)[pool]["coldStarts"]

    def cpu_seconds(self):
        return {"dispatcher": self.dispatcher.cpu().seconds(), "functions": self.functions.cpu().seconds()}

    def fetch(self, row, files, version="--http2"):
        """@return status and bytes of one response"""
        answer = self.run.directory / "answer"
        answer.unlink(missing_ok=True)
        body = ["-X", "POST", "-H", f"content-type: {media_type(row)}", "-H", "expect:", "--data-binary", f"@{files[row.body]}"] if row.body else []
        command = [tool("curl"), "-sk", version, "-m", 120, "-o", answer, "-w", "%{http_code}", "-H", f"x-function: {row.pool}", *body]
        status = run([*command, self.url + row.path])
        return int(status), answer.read_bytes() if answer.exists() else b""

    def closed(self, row, files, connections, requests):
        """Uses hey: each connection sends the next request when it has received the response."""
        body = ["-m", "POST", "-T", media_type(row), "-D", files[row.body]] if row.body else []
        command = [tool("hey"), "-h2", "-c", connections, "-n", requests, "-t", "120", "-H", f"x-function: {row.pool}", *body]
        printed = run([*command, self.url + row.path], timeout=900)
        statuses = {int(code): int(count) for code, count in re.findall(r"\[(\d{3})\]\s+(\d+) responses", printed)}
        if not statuses:
            raise Failure(f"{row.name}, {self.name}: hey got no responses:\n{printed}")

        def millis(name):
            found = re.search(name + r"\s+([\d.]+)", printed)
            # hey does not print a percentile if there are too few responses.
            return float(found.group(1)) * 1000 if found else None

        # hey gives each connection the same number of requests, and drops the remainder.
        sent = requests // connections * connections
        return {
            "rps": float(re.search(r"Requests/sec:\s+([\d.]+)", printed).group(1)), "avg_ms": millis("Average:"),
            "p50_ms": millis("50% in"), "p99_ms": millis("99% in"), "max_ms": millis("Slowest:"), "sent": sent,
            "errors": sent - statuses.get(200, 0), "statuses": statuses}

    def constant(self, row, connections, requests):
        """Uses h2load: each request is due at its time, even if earlier ones have not ended. Latencies are of responses with 200."""
        sent = Load(self.port, Scenario(row.name, row.path, 0, 0), requests, self.run.directory, Shape(connections, 100, True, RATE), 900,
                         fields=[f"x-function: {row.pool}"]).answers()
        micros = sorted(duration for _, status, duration in sent if status == 200)
        if not micros:
            raise Failure(f"{row.name}, {self.name}: no 200 among {len(sent)} answers")
        statuses = collections.Counter(status for _, status, _ in sent)
        timed_out = statuses[504 if self.has_workers else 502]
        starts = [start for start, _, _ in sent]
        quantile = lambda share: micros[min(len(micros) - 1, math.ceil(share * len(micros)) - 1)] / 1000
        return {
            "rps": (len(sent) - 1) / (max(starts) - min(starts)) * 1e6, "avg_ms": statistics.fmean(micros) / 1000,
            "p50_ms": quantile(0.5), "p99_ms": quantile(0.99), "max_ms": micros[-1] / 1000, "sent": requests,
            "time_outs": timed_out, "errors": requests - len(micros) - timed_out, "statuses": dict(statuses)}


def media_type(row):
    return MEDIA_TYPES.get(row.body, "application/octet-stream")


class Scenarios(Driver):
    names = tuple(row.name for row in ROWS)
    tools = ("hey", "h2load", "curl", "openssl")
    defaults = {
        "rounds": 3, "warm_up": 2.0, "jvm_warm_up": 60.0, "jvm_flags": machine.DISPATCHER_FLAGS,
        "scale": (1.0, "multiplies the number of requests of each row"),
        "cold_start_millis": (2000.0, "median time of a cold start"),
        "s3_millis": (45.0, "median response time of S3"),
        "service_millis": (4.0, "median response time of the database"),
        "round_trip_millis": (1.5, "round-trip time to the database")}
    quick = {"rounds": 1, "scale": 0.05, "cold_start_millis": 200.0, "warm_up": 0.0, "jvm_warm_up": 0.0}

    def jvm(self, *arguments):
        return [self.java, *self.flags, *arguments]

    def execute(self):
        options = self.options
        self.database_port = free_port()
        machine.build()
        self.certificate, self.key = machine.certificate(self.directory)
        settings = [self.certificate, self.key, options.service_millis, options.round_trip_millis]
        command = self.jvm("-cp", machine.BENCHMARKS_JAR, "io.lambdadispatcher.bench.workload.DatabaseMain", self.database_port, *settings)
        Process("database", command, None, self.directory).await_port(self.database_port)
        self.dispatch, self.direct = sides = Side("dispatch", self), Side("direct", self)
        for side in sides:
            progress(f"starting {side.name}")
            side.start()
        for side in sides:
            side.await_ready()
        self.make_bodies()
        for side in sides:
            progress(f"warming up {side.name}")
            self.warm_up(ROWS[0], side, options.warm_up, options.jvm_warm_up)
        return [self.measure(row) for row in ROWS if row.name in options.only]

    def show(self, report):
        print("\n" + tables(report))

    def make_bodies(self):
        image = Row("image", "", IMAGE, None, "warm", 1, 1, "", "")
        status, content = self.dispatch.fetch(image, {})
        if status != 200 or len(content) != IMAGE_BYTES:
            raise Failure(f"{self.dispatch.url}{IMAGE}: status {status}, {len(content)} bytes, expected 200 and {IMAGE_BYTES}")
        draw = random.Random(FEATURES)
        keys = [f"f{place:02}" for place in range(FEATURES)]
        values = [round(draw.gauss(0, 1), 4) for _ in keys]
        contents = {
            "image": content, "large": random.Random(LARGE_BYTES).randbytes(LARGE_BYTES),
            "features.json": json.dumps({"keys": keys, "values": values}).encode(), "features.pb": protobuf(keys, values)}
        self.files = {name: self.directory / name for name in contents}
        for name, content in contents.items():
            self.files[name].write_bytes(content)

    def measure(self, row):
        progress(row.name)
        requests = max(row.connections, int(row.requests * self.options.scale))
        sides, digest, size, reason = self.same_bytes(row)
        for side in sides:
            self.warm_up(row, side, self.options.warm_up, 3 * self.options.warm_up)
        # The sides alternate over several rounds, so that disturbances of the machine affect both.
        rounds = 1 if row.load != "closed" else self.options.rounds
        samples = [[self.sample(row, side, requests) for side in sides] for _ in range(rounds)]
        dispatch, direct = middle([sample[0] for sample in samples]), middle([sample[1] for sample in samples if len(sides) == 2])
        return {
            "name": row.name, "title": row.title, "concurrency": row.connections, "requests": dispatch["sent"], "bytes": size,
            "sha256": digest, "dispatch": dispatch, "direct": direct, "direct_reason": reason,
            "rps_ratio": dispatch["rps"] / direct["rps"] if direct else None,
            "avg_ratio": dispatch["avg_ms"] / direct["avg_ms"] if direct else None,
            "published": {"dispatch": row.dispatch or None, "direct": row.direct or None},
            "simulated": row.simulated.format(**vars(self.options)) or None}

    def same_bytes(self, row):
        """Checks that both sides return the same bytes. @return the sides that can, SHA-256 and size, and why the other side cannot"""
        status, content = self.dispatch.fetch(row, self.files)
        digest = hashlib.sha256(content).hexdigest()
        posted = row.body if row.path == "/echo" else "image" if row.path in (IMAGE, "/s3/image") else None
        if status != 200 or (posted and content != self.files[posted].read_bytes()):
            raise Failure(f"{row.name}: dispatch gave status {status}, {len(content)} bytes, expected 200 and what was posted, or the image")
        if row.direct == "impossible":
            # Over HTTP/2, curl 7.88 sometimes loses a response that arrives before the request is sent.
            status, _ = self.direct.fetch(row, self.files, "--http1.1")
            if status != 413:
                raise Failure(f"{row.name}: direct gave status {status}, expected 413")
            return [self.dispatch], digest, len(content), "413: an event holds at most 6 MiB, or 1 MiB behind an ALB"
        status, content = self.direct.fetch(row, self.files)
        if status != 200 or hashlib.sha256(content).hexdigest() != digest:
            raise Failure(f"{row.name}: direct gave status {status}, {len(content)} bytes, expected 200 and SHA-256 {digest}")
        return [self.dispatch, self.direct], digest, len(content), None

    def warm_up(self, row, side, least, most):
        """Warms up until the JIT has little left to compile. With the AWS client, this takes a hundred thousand requests."""
        if row.load == "from-few":
            # Brings the pools to the size that the row needs: four in flight need no third worker, ten create ten environments.
            side.closed(row, self.files, 4 if side is self.dispatch else 10, 60)
            return
        connections = max(2, row.connections)
        started = time.monotonic()
        while True:
            before = side.dispatcher.cpu()
            side.closed(row, self.files, connections, connections * (2 if most == 0 or row.body == "large" else 10))
            spent = side.dispatcher.cpu().since(before)
            compiled = spent.of_threads("C[12] Compiler") < 0.1 * spent.seconds()
            elapsed = time.monotonic() - started
            if elapsed >= most or (elapsed >= least and compiled):
                return

    def sample(self, row, side, requests):
        before, cold_before = side.cpu_seconds(), side.cold_starts(row.pool)
        if row.load == "constant":
            sample = side.constant(row, row.connections, requests)
        else:
            sample = side.closed(row, self.files, row.connections, requests)
            if sample["errors"]:
                raise Failure(f"{row.name}, {side.name}: expected {sample['sent']} × 200, got {sample['statuses']}\n{side.dispatcher.log_end()}")
        sample["cpu_seconds_per_1000"] = {name: (after - before[name]) / sample["sent"] * 1000 for name, after in side.cpu_seconds().items()}
        sample["cold_starts"] = side.cold_starts(row.pool) - cold_before
        return sample


def protobuf(keys, values):
    """message Request { repeated string keys = 1; repeated float values = 2; }: each length is below 128 except that of the floats"""
    texts = b"".join(bytes([1 << 3 | 2, len(key)]) + key.encode() for key in keys)
    floats = struct.pack(f"<{len(values)}f", *values)
    return texts + bytes([2 << 3 | 2, len(floats) & 0x7F | 0x80, len(floats) >> 7]) + floats


def middle(samples):
    """The sample with the median rate, and the rates of all samples."""
    if not samples:
        return None
    ordered = sorted(samples, key=lambda sample: sample["rps"])
    return {**ordered[(len(ordered) - 1) // 2], "rounds_rps": [sample["rps"] for sample in samples]}


def keep_alive(results):
    """Ratios of the average times with new and with kept connections, for both sides. Pairs that were not measured are left out."""
    by_name = {result["name"]: result for result in results}
    ratio = lambda side, kept, afresh: by_name[afresh][side]["avg_ms"] / by_name[kept][side]["avg_ms"]
    return [{"title": title, "published": published, **{side: ratio(side, kept, afresh) for side in ("dispatch", "direct")}}
            for title, kept, afresh, published in KEEP_ALIVE if {kept, afresh} <= by_name.keys()]


def tables(report):
    notes, rows = [], []
    for result in report["results"]:
        dispatch, direct = result["dispatch"], result["direct"]
        rows.append([
            result["title"] + note(result["simulated"], notes), f"{result['concurrency']}, {result['requests']:,}",
            figures(dispatch), figures(direct) if direct else result["direct_reason"],
            f"**{result['rps_ratio']:.2f}**, {result['avg_ratio']:.2f}" if direct else "–",
            f"{cpu(dispatch)}, {cpu(direct)}", result["published"]["dispatch"] or "–", result["published"]["direct"] or "–"])
    head = ("scenario | c, n | dispatch: rps, avg, p99, max ms | direct: rps, avg, p99, max ms | dispatch ÷ direct: rps, avg "
            "| CPU-s per 1,000: dispatch, direct | published: dispatch | published: direct")
    text = table(head, rows) + "\n\n" + "\n".join(f"{number}. Simulated: {what}." for number, what in enumerate(notes, 1))
    pairs = keep_alive(report["results"])
    if pairs:
        text += "\n\n" + table("database | new connections ÷ kept: dispatch | direct | published", [
            [pair["title"], f"**{pair['dispatch']:.1f}**", f"{pair['direct']:.1f}", f"{pair['published']:.1f}"] for pair in pairs])
    return text.strip()


def note(simulated, notes):
    if not simulated:
        return ""
    if simulated not in notes:
        notes.append(simulated)
    return f" [{notes.index(simulated) + 1}]"


def figures(sample):
    text = f"{amount(sample['rps'])}, {amount(sample['avg_ms'])}, {amount(sample['p99_ms'])}, {amount(sample['max_ms'])}"
    if "time_outs" in sample:
        text += f"; {sample['time_outs']} timeouts, {sample['errors']} failures"
    return text + (f"; {sample['cold_starts']} cold starts" if sample["cold_starts"] else "")


def cpu(sample):
    if sample is None:
        return "–"
    spent = sample["cpu_seconds_per_1000"]
    return f"{spent['dispatcher']:.2f} + {spent['functions']:.2f}"


def amount(value):
    return "–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


if __name__ == "__main__":
    Scenarios.main()
