"""The measured programs. Each runs between the load and a backend, with one thread on one core."""

import pathlib
import re
import uuid
from functools import partial

import machine
from load import LOAD_CORE, PROXY_CORE, Shape
from processes import Process, await_that, free_port, run, tool

SECRET = "a-secret-for-loopback-benchmarks-only"
DEMO_HANDLER = "io.lambdadispatcher.server.demo.DemoHandler"


def arguments(settings):
    """@return the arguments of a dispatcher for its settings by name; those without a value are left out"""
    return [f"--{name}={value}" for name, value in settings.items() if value is not None]


def variables(settings):
    """@return the environment variables of a dispatcher or a worker for its settings by name"""
    return {f"LAMBDA_DISPATCHER_{name}": str(value) for name, value in settings.items()}


def backend_ports(run, protocol):
    """The ports of the backends for `h1` or `h2`. Most runs have one backend, which speaks both."""
    return run.backend_ports[protocol] if hasattr(run, "backend_ports") else [run.backend_port]


class Contender:
    """One process (tree) in front of a backend. Started once, and measured in every round."""

    def __init__(self, name, note):
        self.name = name
        self.note = note
        self.port = free_port()
        self.process = None
        self.shape = Shape()

    def start(self, run):
        raise NotImplementedError

    def launch(self, run, command):
        self.process = Process(self.name, command, PROXY_CORE, run.directory)
        self.process.await_port(self.port)

    def stop(self):
        self.process.stop()

    def allocated_bytes(self):
        """
        The bytes that all live threads of a JVM have allocated; None if the program is none. Each thread's figure is exact in the JVM; jcmd
        rounds it to at least three digits.
        """
        return parse_allocated(jcmd(self.java, self.process.pid, "Thread.print", "-e")) if self.is_java() else None

    def is_java(self):
        return hasattr(self, "java")


class Direct(Contender):
    """No proxy: the limits of the load generator and the backend."""

    def __init__(self):
        super().__init__("direct", "no proxy")

    def start(self, run):
        self.port = run.backend_port
        self.process = run.backend


def haproxy_command(file, sections, defaults=()):
    """Writes a configuration, and returns the command that runs HAProxy with it. @param sections lines by title"""
    common = ["mode http", "timeout connect 5s", "timeout client 60s", "timeout server 60s", *defaults]
    file.write_text("".join(f"{title}\n" + "".join(f"    {line}\n" for line in lines) for title, lines in {"defaults": common, **sections}.items()))
    return [tool("haproxy"), "-q", "-db", "-f", file]


class HaProxy(Contender):
    def __init__(self, name, protocol, front="h2"):
        super().__init__(name, f"HAProxy {machine.version('haproxy', '-v')}, {front}→{'h2c' if protocol == 'h2' else 'h1'}")
        self.protocol = protocol
        self.front = front

    def start(self, run):
        bind = f"ssl crt {run.pem} alpn h2" if self.front == "tls" else {"h2": "proto h2", "h1": ""}[self.front]
        option = " proto h2" if self.protocol == "h2" else ""
        servers = [f"server backend{port} 127.0.0.1:{port}{option}" for port in backend_ports(run, self.protocol)]
        self.launch(run, haproxy_command(run.directory / f"{self.name}.cfg", {
            "global": ["nbthread 1", "maxconn 4000"],
            "frontend public": [f"bind 127.0.0.1:{self.port} {bind}", "default_backend workers"],
            "backend workers": ["balance leastconn", *servers]}))


class Nghttpx(Contender):
    def __init__(self, front="h2"):
        super().__init__("nghttpx", f"nghttpx {machine.version('nghttpx', '--version')}, {front}→h2c")
        self.front = front

    def start(self, run):
        configuration = run.directory / "nghttpx.conf"
        secure = self.front == "tls"
        configuration.write_text("\n".join([
            f"frontend=127.0.0.1,{self.port}{'' if secure else ';no-tls'}",
            *([f"private-key-file={run.key}", f"certificate-file={run.certificate}"] if secure else []),
            *(f"backend=127.0.0.1,{port};/;proto=h2" for port in backend_ports(run, "h2")), "workers=1", "log-level=ERROR", ""]))
        self.launch(run, [tool("nghttpx"), f"--conf={configuration}"])


def nginx_command(home, connections, http):
    """Writes a configuration into a new directory, and returns the command that runs nginx with it, with one thread."""
    home.mkdir()
    configuration = home / "nginx.conf"
    temporary = "".join(f"    {kind}_temp_path {home}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    configuration.write_text(
        f"""daemon off;
worker_processes 1;
pid {home}/pid;
error_log stderr error;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
{temporary}{http}}}
""")
    return [tool("nginx"), "-e", "stderr", "-p", home, "-c", configuration]


class Nginx(Contender):
    """Streams bodies like the other proxies. By default, nginx buffers bodies first, large ones in files."""

    def __init__(self):
        super().__init__("nginx", f"nginx {machine.version('nginx', '-v')}, h2→h1")

    def start(self, run):
        self.launch(run, nginx_command(
            run.directory / "nginx", 4096, f"""    client_max_body_size 0;
    upstream backend {{
        server 127.0.0.1:{run.backend_port};
        keepalive 200;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{self.port} http2;
        location / {{
            proxy_pass http://backend;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_request_buffering off;
        }}
    }}
"""))


# The proxies whose front can be chosen, by name.
PROXIES = {"nghttpx": Nghttpx, "haproxy-h1": partial(HaProxy, "haproxy-h1", "h1"), "haproxy-h2": partial(HaProxy, "haproxy-h2", "h2")}


def programs(names):
    """@return the programs that must be installed for the contenders of these names"""
    return [program for name in names if (program := name.partition("-")[0]) in ("haproxy", "nghttpx", "nginx")]


# For each gateway of benchmarks/gateway: its title, its library, its main class, and its arguments for its port and that of the backend.
ROUTE = "--spring.cloud.gateway.server.webflux.routes[0]"
GATEWAYS = {
    "spring-gateway": ("Spring Cloud Gateway", "spring-cloud-gateway-server-webflux", "SpringGateway", [
        "--server.address=127.0.0.1", "--server.port={0}", "--server.http2.enabled=true", "--logging.level.root=warn",
        f"{ROUTE}.id=backend", f"{ROUTE}.uri=http://127.0.0.1:{{1}}", f"{ROUTE}.predicates[0]=Path=/**"]),
    "vertx-proxy": ("Vert.x proxy", "vertx-http-proxy", "VertxGateway", ["{0}", "{1}"]),
}


class JvmGateway(Contender):
    """A gateway on one event loop."""

    def __init__(self, run, name):
        title, library, self.main_class, self.arguments = GATEWAYS[name]
        super().__init__(name, f"{title} {machine.gateway_library(library)}, h2→h1")
        self.java = run.java
        self.jvm_flags = run.flags

    def start(self, run):
        # The default of Spring's gateway is at least four event loops, even on one core.
        command = [self.java, *self.jvm_flags, "-Dreactor.netty.ioWorkerCount=1", "-cp", machine.GATEWAY_CLASS_PATH]
        given = [argument.format(self.port, run.backend_port) for argument in self.arguments]
        self.launch(run, [*command, f"io.lambdadispatcher.benchmarks.gateway.{self.main_class}", *given])


class LambdaDispatcher(Contender):
    """
    The dispatcher with one event loop by default, and one worker process with the demo routes. It has the JVM and the flags of the run, or another
    JVM, and more flags.
    """

    def __init__(self, run, variant=None, worker_shape=(1, 100), java=None, more_flags=(), note=None):
        super().__init__(f"dispatcher-{variant}" if variant else "dispatcher", note or f"Lambda Dispatcher, {variant or 'h2→worker streams'}")
        self.java = java or run.java
        self.jvm_flags = run.jvm_flags(self.java, *more_flags)
        self.worker_flags = getattr(run.options, "worker_flags", "").split()
        self.worker_shape = worker_shape
        self.class_path = machine.SERVER_CLASS_PATH
        self.worker_port = free_port()
        self.flags = {"event-loops": 1}
        # The other proxies have no TLS to their backends either.
        self.worker_tls = False
        self.worker_settings = {}
        self.core = PROXY_CORE
        self.worker = None

    def settings(self):
        return {
            "public-plain-port": f"127.0.0.1:{self.port}", "public-tls-port": "off", "workers-port": f"127.0.0.1:{self.worker_port}",
            **({} if self.worker_tls else {"workers-tls-certificate": "off"}),
            "admin-port": free_port(), "shutdown-delay": "0", "function-launcher": "external",
            # The worker chooses these numbers. The settings are the maximum that a dispatcher accepts.
            "function-worker-concurrency": "64000 connections 64",
            **self.flags}

    def start(self, run):
        command = [self.java, *self.jvm_flags, "-cp", self.class_path, "io.lambdadispatcher.server.Main", "serve", *arguments(self.settings())]
        self.process = Process(self.name, command, self.core, run.directory, {"LAMBDA_DISPATCHER_WORKERS_SECRET": SECRET})
        self.process.await_port(self.port)
        self.process.await_port(self.worker_port)
        self.worker = self.start_worker(run)

    def start_worker(self, run):
        command = [self.java, *self.worker_flags, "-cp", self.class_path, "io.lambdadispatcher.worker.WorkerMain"]
        return Process(f"{self.name}-worker", command, LOAD_CORE, run.directory, self.worker_environment())

    def worker_environment(self):
        # A launch token is valid for only one worker, once.
        return variables({
            **({} if self.worker_tls else {"TLS": "false"}), "ADDRESSES": f"127.0.0.1:{self.worker_port}", "FUNCTION": "default", "SECRET": SECRET,
            "WORKER_ID": f"benchmark-{uuid.uuid4()}", "HANDLER": DEMO_HANDLER, "CONNECTIONS": self.worker_shape[0], "STREAMS": self.worker_shape[1],
            **self.worker_settings})

    def stop(self):
        for process in (self.worker, self.process):
            if process:
                process.stop()

    def secure(self, certificate, key):
        """Gives clients TLS only."""
        self.shape = Shape(tls=True)
        self.flags.update({
            "public-plain-port": "off", "public-tls-port": f"127.0.0.1:{self.port}", "public-tls-certificate": certificate, "public-tls-key": key})


class Crowd(LambdaDispatcher):
    """A dispatcher with many workers in one process, on one event loop."""

    count = 1

    def start_worker(self, run):
        command = [self.java, *self.worker_flags, "-cp", machine.BENCHMARKS_JAR, "io.lambdadispatcher.bench.endtoend.WorkersMain", self.count]
        workers = Process(f"{self.name}-workers-{self.count}", command, LOAD_CORE, run.directory, self.worker_environment())
        await_that(lambda: "ready" in workers.log.read_text(), 120, f"{self.count} workers", workers, self.process)
        return workers


def jcmd(java, pid, *command):
    return run([pathlib.Path(java).resolve().parent / "jcmd", pid, *command])


UNITS = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_allocated(printed):
    return sum(int(number) * UNITS[unit] for number, unit in re.findall(r"\ballocated=(\d+)([BKMG])", printed))


def parse_heap_used(printed):
    """Used MiB in `GC.heap_info` of any collector. Sums the heap's parts, without metaspace."""
    used = 0.0
    for line in printed.splitlines():
        found = re.search(r"\bused (\d+)([BKMG])\b", line)
        if found and not re.match(r"\s*(Metaspace|class space)", line, re.IGNORECASE):
            used += int(found.group(1)) * UNITS[found.group(2)] / UNITS["M"]
    return used


def heap_used_mib(java, pid):
    return parse_heap_used(jcmd(java, pid, "GC.heap_info"))
