#!/usr/bin/env -S python3 -B
"""Measures how long a launched worker takes to become ready, in Lambda's runtime interface emulator, by phase.

    benchmarks/macro/cold_start.py                  all packagings of examples/hello, five launches of each kind
    benchmarks/macro/cold_start.py --rounds 1 --only image
    benchmarks/macro/cold_start.py --function spring-boot --only zip,zip-java

The packagings are:

    zip        the zip as Maven makes it, for a managed runtime
    zip-cache  that zip after `docker/build-function --image`, for a managed runtime
    zip-java   that zip after `docker/build-function`, with a Java runtime of its own
    image      the container image

Needs root, Docker, and the images of `it/docker/build-images`. The launches of the packagings alternate. Each launch uses a new container with 512 MB, and with the processor time
that Lambda gives to that memory (0.29), or a whole processor. A launch is one invocation, and these are its phases:

    init    the JVM starts, Lambda's runtime client loads the handler
    load    from the invocation to the creation of the worker: parses the event, loads classes
    worker  from the creation of the worker to its first ready connection

In the rows "after a warm-up", the environment has answered an init-only invocation before, as with function.prewarmed-environments.
The emulator does not imitate the AOT cache that AWS's java25 runtime has for its own runtime client.
"""

import base64
import calendar
import hmac
import json
import os
import pathlib
import re
import statistics
import subprocess
import time
import zipfile

import machine
from contenders import SECRET, variables
from driver import Driver, table
from processes import ROOT, Failure, Process, await_that, free_port, progress, run

FUNCTION = "hello"
HANDLER = "io.lambdadispatcher.worker.LambdaHandler"
# The zip of each function, and its environment variables.
FUNCTIONS = {
    "hello": ("hello/target/hello-function.zip", {"LAMBDA_DISPATCHER_HANDLER": "com.example.hello.HelloHandler"}),
    "spring-boot": ("spring-boot-worker/target/prices-function.zip", {
        "LAMBDA_DISPATCHER_HANDLER": "io.lambdadispatcher.spring.worker.SpringBootHandler", "MAIN_CLASS": "com.example.prices.Prices"}),
}
CLIENT = "com.amazonaws.services.lambda.runtime.api.client.AWSLambda"
IMAGES = {"zip": "local/lambda-rie:25", "zip-cache": "local/lambda-rie:25", "zip-java": "local/lambda-rie:25", "image": "local/lambda-worker:test"}
# What Lambda passes to the wrapper script of a function.
MANAGED = ["/opt/java/bin/java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:MaxRAMPercentage=60", "-cp", "/var/runtime/lib/*", CLIENT]
INVOKE = "/2015-03-31/functions/function/invocations"
# Lambda gives one processor for 1,769 MB.
SHARES = {"0.29": 512 / 1769, "1": 1.0}
PERIOD_MICROS = 20_000
PATIENCE_SECONDS = 60


def token(worker):
    """The launch token of a worker, with which a dispatcher launches it: docs/reference/protocol.md."""
    base64url = lambda content: base64.urlsafe_b64encode(content).decode().rstrip("=")
    hmac_sha256 = lambda key, text: hmac.digest(key, text.encode(), "sha256")
    signed = f"v1.{base64url(FUNCTION.encode())}.{base64url(worker.encode())}.{int(time.time()) + 300}"
    return f"{signed}.{base64url(hmac_sha256(hmac_sha256(SECRET.encode(), 'function' + FUNCTION), signed))}"


def docker(*arguments, **more):
    return run(["docker", *arguments], **more).strip()


class Environment:
    """One execution environment, which is a container with the emulator in front of the function."""

    def __init__(self, kind, share, files, variables):
        command = [*(f"--env={name}={value}" for name, value in variables.items()), "-e", "AWS_LAMBDA_FUNCTION_TIMEOUT=60",
                   "--memory", "512m", "--memory-swap", "512m", "--cpu-period", PERIOD_MICROS, "--cpu-quota", round(share * PERIOD_MICROS),
                   "--add-host", "dispatcher:host-gateway", "-p", "127.0.0.1::8080"]
        if kind == "zip":
            command += ["-e", "JAVA_HEAP=-XX:MaxRAMPercentage=60", "-v", f"{files / kind}:/var/task:ro", IMAGES[kind], HANDLER]
        elif kind == "image":
            # The emulator is not in the image. It starts the image's own command.
            java = json.loads(docker("inspect", "-f", "{{json .Config.Entrypoint}}", IMAGES[kind]))
            command += ["-v", f"{files / 'aws-lambda-rie'}:/aws-lambda-rie:ro", "--entrypoint", "/aws-lambda-rie", IMAGES[kind], *java, HANDLER]
        else:
            command += ["-v", f"{files / kind}:/var/task:ro", "--entrypoint", "/usr/local/bin/aws-lambda-rie", IMAGES[kind],
                        "/var/task/bootstrap", *(MANAGED if kind == "zip-cache" else []), HANDLER]
        self.id = docker("run", "-d", *command)
        self.url = f"http://127.0.0.1:{docker('port', self.id, 8080).splitlines()[0].rpartition(':')[2]}{INVOKE}"
        self.pid = int(docker("inspect", "-f", "{{.State.Pid}}", self.id))
        time.sleep(0.5)

    def invoke(self, event, wait):
        """Invokes the function. @param wait whether to wait for its response; a worker's comes when it ends"""
        command = ["curl", "-s", "-S", "-m", str(PATIENCE_SECONDS), "-d", json.dumps(event), self.url]
        if wait:
            return run(command)
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def cpu_seconds(self):
        for line in pathlib.Path(f"/proc/{self.pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if "cpuacct" in controllers:
                return int(pathlib.Path(f"/sys/fs/cgroup/cpuacct{path}/cpuacct.usage").read_text()) / 1e9
            if not controllers and (stat := pathlib.Path(f"/sys/fs/cgroup{path}/cpu.stat")).exists():
                return int(re.search(r"usage_usec (\d+)", stat.read_text())[1]) / 1e6
        raise Failure("the cgroup of the container has no CPU time")

    def log(self):
        return docker("logs", self.id, stderr=subprocess.STDOUT)

    def remove(self):
        docker("rm", "-f", self.id)


class ColdStart(Driver):
    names = tuple(IMAGES)
    tools = ("docker", "curl")
    defaults = {
        "rounds": 5,
        "function": ("hello", "hello, or spring-boot, which has no image, and no zip-cache, because its training needs an environment variable")}

    @classmethod
    def verify(cls, options):
        if options.function not in FUNCTIONS:
            raise Failure(f"--function {options.function}: expected one of {', '.join(FUNCTIONS)}")
        if options.function != "hello" and {"image", "zip-cache"} & set(options.only):
            raise Failure(f"--only {','.join(options.only)}: expected zip, zip-java or both, because the function is {options.function}")

    def execute(self):
        self.launches, self.flags = 0, []
        self.prepare()
        self.start_dispatcher()
        return [row for share in SHARES for warm in (False, True) for row in self.rows(share, warm)]

    def prepare(self):
        path, self.variables = FUNCTIONS[self.options.function]
        self.zip = ROOT / "examples" / path
        if not self.zip.exists():
            raise Failure(f"{self.zip.relative_to(ROOT)} is missing; run: mvn -q -P examples -DskipTests package")
        for image in IMAGES.values():
            if not docker("images", "-q", image):
                raise Failure(f"no image {image}; run: it/docker/build-images base && it/docker/build-images product")
        for kind in self.options.only:
            if kind != "image":
                self.unpack(kind)
        made = docker("create", IMAGES["zip"])
        docker("cp", f"{made}:/usr/local/bin/aws-lambda-rie", self.directory)
        docker("rm", made)

    def unpack(self, kind):
        options = {"zip-cache": ["--image", "local/lambda-java:25"], "zip-java": []}.get(kind)
        archive = self.zip
        if options is not None:
            progress(f"building {kind}")
            archive = self.directory / f"{kind}.zip"
            handler = self.variables["LAMBDA_DISPATCHER_HANDLER"]
            run([ROOT / "docker/build-function", *options, handler, self.zip, archive], env={**os.environ, **self.variables})
        with zipfile.ZipFile(archive) as function:
            for entry in function.infolist():
                path = function.extract(entry, self.directory / kind)
                pathlib.Path(path).chmod((entry.external_attr >> 16) & 0o777 or 0o755)
                os.utime(path, (calendar.timegm((*entry.date_time, 0, 0, 0)),) * 2)

    def start_dispatcher(self):
        self.worker_port, public, admin = free_port(), free_port(), free_port()
        settings = {"WORKERS_PORT": self.worker_port, "PUBLIC_PLAIN_PORT": public, "ADMIN_PORT": admin, "WORKERS_SECRET": SECRET,
                    "WORKERS_TLS_CERTIFICATE": "off", "FUNCTION_NAME": FUNCTION, "FUNCTION_LAUNCHER": "external", "SHUTDOWN_DELAY": "0"}
        command = [self.java, "-cp", machine.SERVER_CLASS_PATH, "io.lambdadispatcher.server.Main", "serve"]
        self.dispatcher = Process("dispatcher", command, None, self.directory, variables(settings))
        self.dispatcher.await_port(public)

    def rows(self, share, warm):
        progress(f"{share} of a processor{', after a warm-up' if warm else ''}")
        samples = [{kind: self.launch(kind, SHARES[share], warm) for kind in self.options.only} for _ in range(self.options.rounds)]
        for kind in self.options.only:
            some = [each[kind] for each in samples]
            medians = {name: statistics.median(sample[name] for sample in some) for name in some[0]}
            yield {"packaging": kind, "processors": share, "after_warm_up": warm, **medians, "samples": some}

    def launch(self, kind, share, warm):
        self.launches += 1
        worker = f"worker-{self.launches}"
        environment = Environment(kind, share, self.directory, self.variables)
        try:
            if warm:
                environment.invoke({"warmUp": True, "holdMillis": 0}, wait=True)
            cpu, begin = environment.cpu_seconds(), time.monotonic()
            invocation = environment.invoke(
                {"function": FUNCTION, "workerId": worker, "token": token(worker), "addresses": [f"dispatcher:{self.worker_port}"], "tls": False}, wait=False)
            while not re.search(rf"worker {worker} .* is ready", self.dispatcher.log.read_text()):
                if invocation.poll() is not None or time.monotonic() - begin > PATIENCE_SECONDS:
                    raise Failure(f"{worker} does not become ready:\n{environment.log()}")
                time.sleep(0.005)
            total, cpu = (time.monotonic() - begin) * 1000, environment.cpu_seconds() - cpu
            own = re.compile(rf"worker {worker} ready after (\d+) ms")
            # The dispatcher can log it before the worker does.
            await_that(lambda: own.search(environment.log()), PATIENCE_SECONDS, f"{worker} to log that it is ready", self.dispatcher)
            log = environment.log()
            own = float(own.search(log)[1])
            init = 0.0 if warm else float(re.search(r"INIT REPORT\(durationMs: ([\d.]+)\)", log)[1])
            return {"total_ms": total, "init_ms": init, "load_ms": total - init - own, "worker_ms": own, "cpu_ms": cpu * 1000}
        finally:
            environment.remove()

    def show(self, report):
        print(table("packaging | processors | | init | load | worker | launch to ready | CPU time", [
            [row["packaging"], row["processors"], "after a warm-up" if row["after_warm_up"] else "cold",
             *(f"{row[name]:,.0f} ms" for name in ("init_ms", "load_ms", "worker_ms", "total_ms", "cpu_ms"))]
            for row in report["results"]]))


if __name__ == "__main__":
    ColdStart.main()
