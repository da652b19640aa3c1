"""Describes the conditions of a run: JDKs, the build, the commit, the machine."""

import datetime
import functools
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

from processes import ROOT, Failure, need, progress, run, tool

BENCHMARKS_JAR = ROOT / "benchmarks/target/benchmarks.jar"
SERVER_LIBRARIES = ROOT / "dispatcher-server/target/lib"
SERVER_CLASS_PATH = f"{ROOT}/dispatcher-server/target/classes:{ROOT}/dispatcher-server/target/lib/*"
GATEWAY = ROOT / "benchmarks/gateway"
GATEWAY_CLASS_PATH = f"{GATEWAY}/target/classes:{GATEWAY}/target/lib/*"
# The flags of ./dispatcher and the containers, with a fixed heap size.
DISPATCHER_FLAGS = "-Xms512m -Xmx512m -XX:+ExitOnOutOfMemoryError -Dio.netty.leakDetection.level=disabled"
MODULES = ("dispatcher-wire", "dispatcher-core", "extensions/access-log", "extensions/aws", "extensions/cache", "extensions/compression", "extensions/micrometer", "extensions/opentelemetry", "extensions/shadow", "lambda-worker", "dispatcher-server", "benchmarks")


def java_of(jdk):
    home = jdk or os.environ.get("JAVA_HOME")
    java = str(pathlib.Path(home) / "bin/java") if home else tool("java")
    if not java or not os.access(java, os.X_OK):
        raise Failure(f"no java program at {java}; a JDK of 17 or newer is needed, in --jdk, JAVA_HOME or the PATH")
    return java


def jdk_home(release):
    """The installed JDK of a feature version, or None."""
    for javac in sorted(pathlib.Path("/").glob("usr/lib/jvm/*/bin/javac")) + sorted(pathlib.Path("/opt").glob("*/bin/javac")):
        if jdk_release(javac.parent / "java") == release:
            return str(javac.parent.parent)
    return None


def jdk_release(java):
    return int(re.search(r'version "(\d+)', run([java, "-version"], stderr=subprocess.STDOUT)).group(1))


def jdk_version(java):
    return run([java, "-version"], stderr=subprocess.STDOUT).splitlines()[1]


def jvm_flags(java, flags):
    """Netty's flags for this Java release, as in the launch script, followed by the given flags."""
    direct_buffers = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "-Dio.netty.tryReflectionSetAccessible=true"]
    return [*(["--enable-native-access=ALL-UNNAMED"] if jdk_release(java) >= 24 else direct_buffers), *flags]


def version(name, flag):
    found = re.search(r"\d+\.\d+[.\d]*", run([tool(name), flag], stderr=subprocess.STDOUT))
    return found.group() if found else "of unknown version"


def maven(what, *arguments, cwd=ROOT):
    need("mvn")
    progress(what)
    if subprocess.run(["mvn", "-q", "-B", "-ntp", *map(str, arguments)], cwd=cwd, check=False).returncode != 0:
        raise Failure(f"{what} failed")


def build():
    if not BENCHMARKS_JAR.exists() or not SERVER_LIBRARIES.exists() or is_older_than_sources(BENCHMARKS_JAR):
        maven("building", "-pl", "dispatcher-server,benchmarks", "-am", "-DskipTests", "package")


def has_gateways():
    return any((GATEWAY / "target/lib").glob("*.jar")) and (GATEWAY / "target/classes").exists()


def build_gateways():
    """Builds the gateways separately, because most builds do not need their dependencies."""
    sources = [GATEWAY / "pom.xml", *(GATEWAY / "src").rglob("*.java")]
    if not has_gateways() or (GATEWAY / "target/lib").stat().st_mtime <= max(source.stat().st_mtime for source in sources):
        maven("building the JVM gateways (leave them out with --only)", "-f", GATEWAY / "pom.xml", "clean", "package")


def gateway_library(artifact):
    """The version of a library that the gateways were built with."""
    jars = (GATEWAY / "target/lib").glob(f"{artifact}-[0-9]*.jar")
    return next((jar.stem.removeprefix(artifact + "-") for jar in jars), "of unknown version")


def compiled(name, class_path, java, directory):
    """Compiles a Java file that is beside this one. @return the directory of its classes"""
    compiler = pathlib.Path(java).with_name("javac")
    if not os.access(compiler, os.X_OK):
        raise Failure(f"no compiler at {compiler}; a JDK is needed, in --jdk, JAVA_HOME or the PATH")
    source = pathlib.Path(__file__).with_name(f"{name}.java")
    run([compiler, "--release", "17", "-parameters", "-cp", class_path, "-d", directory / "classes", source])
    return directory / "classes"


def is_older_than_sources(built):
    """Returns whether the build is outdated. The report names a commit, so the measured code must not be older."""
    sources = [ROOT / "pom.xml", *(ROOT / module / "pom.xml" for module in MODULES)]
    for module in (*MODULES, "examples/inference"):
        sources += (path for path in (ROOT / module / "src/main").rglob("*") if path.is_file())
    return max(source.stat().st_mtime for source in sources) > built.stat().st_mtime


def meta(java, flags, **more):
    """The conditions of a run. Every report of this directory begins with them."""
    return {
        "taken": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "HEAD"),
        # Without documents, because a run of several drivers writes its results there.
        "dirty": bool(git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")),
        "jdk": jdk_version(java),
        "flags": list(flags),
        "cpu": next(iter(re.findall(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())), platform.machine()),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "command": command_line(sys.argv),
        "load_average": os.getloadavg(),
        **more}


def certificate(directory):
    """Creates a certificate for this host. @return the files of the certificate and of its key"""
    need("openssl")
    made, key = directory / "certificate.pem", directory / "key.pem"
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                   "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", made])
    return made, key


def command_line(arguments):
    """The command as a user would type it: without the place of results and of this copy of the repository."""
    text = re.sub(r" --json[= ]\S+", "", " ".join([pathlib.Path(arguments[0]).name, *arguments[1:]]))
    return text.replace(f"{ROOT}/", "")


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def write_json(report, file, name):
    """Writes to `file`, or to the default place for results. @return the path"""
    stamp = report["meta"]["taken"].replace(":", "").replace("+0000", "")
    path = pathlib.Path(file or ROOT / "benchmarks/target" / f"{name}-{stamp}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(small_json(report) + "\n")
    progress(f"wrote {path}")
    return path


def small_json(report):
    """Formats JSON with one line for each result, so a new run changes few lines of the repository."""
    text = functools.partial(json.dumps, ensure_ascii=False)
    members = [f"{text(name)}: " + ("[\n  " + ",\n  ".join(map(text, value)) + "\n ]" if isinstance(value, list) and value else text(value))
               for name, value in report.items()]
    return "{\n " + ",\n ".join(members) + "\n}"
