#!/usr/bin/env python3
"""Sends odd HTTP/1.1 requests to the dispatcher, nginx, HAProxy and Node's parser, all in front of the same application. Compares what
the application receives: the number of requests, their methods, targets and bodies.

If the dispatcher passes on fewer requests than another server, it has refused one or waits, which is safe. If it passes on more or other
requests, the two servers may disagree about where a request ends (request smuggling). Such cases are listed. The exit code is 1 if, for
such a case, no other server reads the bytes as the dispatcher does, and EXPECTED has no reason. Needs nginx, haproxy and node.

usage: it/differential/http1.py [--cases N] [--seed N] [--verbose]
"""
import argparse, asyncio, collections, json, os, random, re, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OTHERS = ["nginx", "haproxy", "node"]
END = b"GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
QUIET_SECONDS = 0.3
PATIENT_SECONDS = 1.5

# Correct differences, by a pattern of the bytes. docs/reference/http.md has the reasons of common ones.
EXPECTED = [
    (rb"^(xGET|get|XYZZY) ", "a method may be any token: RFC 9110 section 9.1; the application refuses these"),
]


def head(method=b"GET", target=b"/a", version=b"HTTP/1.1", headers=()):
    lines = [method + b" " + target + b" " + version, b"Host: a", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def table():
    """Handwritten cases: pairs of a name and bytes, which are sent before END."""
    cases = []

    def add(name, data):
        cases.append((name, data))

    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    for value in [b"5", b"+5", b"-5", b"05", b"5 ", b" 5", b"5,5", b"5, 5", b"5,6", b"0x5", b"5;", b"5.0", b"", b"\t5\t", b"5\x0b", b"5\x00",
                  b"5\xa0", b"five", b"00000000000000000005", b"18446744073709551621", b"4294967301", b"9" * 30, b"0", b"3"]:
        add("content-length value", head(b"POST", headers=[b"Content-Length:" + value]) + b"hello")
        add("content-length value", head(b"POST", headers=[b"Content-Length:" + value]) + smuggled)
    for one, two in [(b"5", b"5"), (b"5", b"6"), (b"0", b"5"), (b"5", b"0")]:
        add("two content-lengths", head(b"POST", headers=[b"Content-Length: " + one, b"Content-Length: " + two]) + b"hello")
        add("two content-lengths, 1.0",
            head(b"POST", version=b"HTTP/1.0", headers=[b"Connection: keep-alive", b"Content-Length: " + one, b"Content-Length: " + two]) + b"hello")
    chunked = b"5\r\nhello\r\n0\r\n\r\n"
    for value in [b"chunked", b"Chunked", b" chunked ", b"chunked,", b",chunked", b"chunked, chunked", b"identity", b"chunked, identity",
                  b"identity, chunked", b"gzip, chunked", b"chunked, gzip", b"xchunked", b"chunkedx", b"chunked;q=1", b"\x0bchunked", b"chunked\x0b",
                  b"chunked\x00", b"\"chunked\"", b"", b"\tchunked", b"chunke", b"chun\tked", b"chunked\r\n ", b"\r\n chunked", b"\x85chunked"]:
        for version in [b"HTTP/1.1", b"HTTP/1.0"]:
            add("transfer-encoding value " + ("1.0" if version.endswith(b"0") else "1.1"),
                head(b"POST", version=version, headers=[b"Connection: keep-alive", b"Transfer-Encoding:" + value]) + chunked)
        for length in [b"4", b"5", b"15", b"0"]:
            add("transfer-encoding and content-length",
                head(b"POST", headers=[b"Content-Length: " + length, b"Transfer-Encoding:" + value]) + chunked + smuggled)
            add("transfer-encoding and content-length",
                head(b"POST", headers=[b"Transfer-Encoding:" + value, b"Content-Length: " + length]) + chunked)
    for one, two in [(b"chunked", b"identity"), (b"identity", b"chunked"), (b"chunked", b"chunked"), (b"gzip", b"chunked"), (b"chunked", b"x")]:
        add("two transfer-encodings", head(b"POST", headers=[b"Transfer-Encoding: " + one, b"Transfer-Encoding: " + two]) + chunked)
    for name in [b"Content-Length ", b"Content-Length\t", b" Content-Length", b"\tContent-Length", b"Content_Length", b"Content-Length\x00", b"Content Length",
                 b"\"Content-Length\"", b"Content-Length\x0b", b"X:Content-Length", b"content-length", b"CONTENT-LENGTH", b"\xc3\x89", b"", b"a@b", b"a(b"]:
        add("header name", head(b"POST", headers=[name + b": 5"]) + b"hello")
        add("header name", head(b"POST", headers=[b"X: y", name + b": 5"]) + b"hello")
    for name in [b"Transfer-Encoding ", b"Transfer-Encoding\t", b" Transfer-Encoding", b"Transfer_Encoding", b"Transfer-Encoding\x00", b"Transfer Encoding"]:
        add("header name", head(b"POST", headers=[name + b": chunked"]) + chunked)
        add("header name", head(b"POST", headers=[b"Content-Length: 15", name + b": chunked"]) + chunked)
    for size in [b"5", b"05", b"000000005", b"0" * 20 + b"5", b"5 ", b" 5", b"\t5", b"5\t", b"0x5", b"+5", b"-5", b"5;a", b"5;a=b", b"5 ;a=b", b"5;a=\"b\"", b"5;", b"5;\x00",
                 b"5;a\nb", b"5;a\rb", b"5,", b"5.", b"5 5", b"g", b"", b"100000005", b"10000000000000005", b"ffffffffffffffff", b"5\x0b", b"5\xa0", b"5;\xff"]:
        add("chunk size", head(b"POST", headers=[b"Transfer-Encoding: chunked"]) + size + b"\r\nhello\r\n0\r\n\r\n")
    for body in [b"5\nhello\n0\n\n", b"5\r\nhello\n0\r\n\r\n", b"5\nhello\r\n0\r\n\r\n", b"5\rhello\r0\r\r", b"5\r\nhello0\r\n\r\n", b"5\r\nhello\r\n0\r\n\n",
                 b"5\r\nhello\r\n0\n\r\n", b"5\r\nhelloXX0\r\n\r\n", b"5\r\nhello!\r\n0\r\n\r\n", b"6\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n\r\n0\r\n\r\n", b"5\r\nhello\r\n00\r\n\r\n",
                 b"5\r\nhello\r\n0;x\r\n\r\n", b"5\r\nhello\r\n0\r\nT: v\r\n\r\n", b"5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n", b"5\r\nhello\r\n0\r\nT\r\n\r\n", b"5\r\nhello\r\n0\r\n T: v\r\n\r\n",
                 b"5\r\nhello\r\n0\r\nT: v\n\n", b"5\r\nhello\r\n0\r\nHost: b\r\nTransfer-Encoding: x\r\n\r\n", b"5\r\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\r\n", b"0\r\n\r\nX"]:
        add("chunk framing", head(b"POST", headers=[b"Transfer-Encoding: chunked"]) + body)
    for line in [b"GET  /a HTTP/1.1", b"GET /a  HTTP/1.1", b"GET\t/a\tHTTP/1.1", b"GET /a HTTP/1.1 ", b" GET /a HTTP/1.1", b"GET /a", b"GET /a HTTP/1.0", b"GET /a HTTP/1.2",
                 b"GET /a HTTP/2.0", b"GET /a HTTP/0.9", b"GET /a http/1.1", b"GET /a HTTP/01.1", b"GET /a HTTP/1.10", b"GET /a HTTP/1", b"GET /a HTTP/1.1x", b"GET /a b HTTP/1.1", b"GET a HTTP/1.1",
                 b"GET * HTTP/1.1", b"OPTIONS * HTTP/1.1", b"GET  HTTP/1.1", b"get /a HTTP/1.1", b"G\xc3\x89T /a HTTP/1.1", b"GE@T /a HTTP/1.1", b"GE/T /a HTTP/1.1", b"PATCH /a HTTP/1.1", b"XYZZY /a HTTP/1.1",
                 b"GET http://a/b HTTP/1.1", b"GET http://b/c HTTP/1.1", b"GET HTTP://a/b HTTP/1.1", b"GET https://a/b HTTP/1.1", b"GET http://a HTTP/1.1", b"GET http://u@a/b HTTP/1.1", b"GET ftp://a/b HTTP/1.1",
                 b"GET //a/b HTTP/1.1", b"GET /a#b HTTP/1.1", b"GET /a?b#c HTTP/1.1", b"GET /\xc3\xa9 HTTP/1.1", b"GET /\x00 HTTP/1.1", b"GET /a\x7f HTTP/1.1", b"GET /a\x0b HTTP/1.1", b"GET /a\rHTTP/1.1", b"GET\r/a HTTP/1.1", b"GET /%00 HTTP/1.1",
                 b"GET /a/../b HTTP/1.1", b"GET /%2e%2e/b HTTP/1.1", b"GET /a\\b HTTP/1.1", b"GET ?a HTTP/1.1", b"GET /?a?b HTTP/1.1", b"GET /<>\"{}|^` HTTP/1.1", b"CONNECT a:80 HTTP/1.1", b"TRACE /a HTTP/1.1", b"\x00GET /a HTTP/1.1"]:
        add("request line", line + b"\r\nHost: a\r\n\r\n")
    for host in [[], [b"Host: a", b"Host: a"], [b"Host: a", b"Host: b"], [b"Host:"], [b"Host: a b"], [b"Host: a,b"], [b"Host: a/b"], [b"Host: a@b"], [b"Host: [::1]"], [b"Host: a:x"], [b"Host: a\x00"], [b"Host : a"], [b" Host: a"]]:
        add("host", b"\r\n".join([b"GET /a HTTP/1.1", *host]) + b"\r\n\r\n")
    plain = [b"POST /a HTTP/1.1", b"Host: a", b"Content-Length: 5", b"", b""]
    for ending in [b"\n", b"\r", b"\r\r\n", b"\n\r", b"\x0b\n", b"\x85"]:
        add("line ending", ending.join(plain) + b"hello")
        for i in range(4):
            lines = [line + (ending if i == j else b"\r\n") for j, line in enumerate(plain[:4])]
            add("line ending", b"".join(lines) + b"hello")
    for between in [b"\r\n", b"\n", b"\r", b"\r\n\r\n", b" ", b"\x00", b"\t", b"\r\n \r\n", b"x"]:
        add("before a request", between + head())
        add("between requests", head(b"POST", headers=[b"Content-Length: 5"]) + b"hello" + between)
    for value in [b"a\x00b", b"a\rb", b"a\nb", b"a\x01b", b"a\x7fb", b"a\x80b", b"\r\n b", b"\r\n\tb", b"\n b", b"a\r\n b: c", b"a\r\n\r\n b", b"a\rContent-Length: 5", b"a\nContent-Length: 5"]:
        add("header value", head(b"POST", headers=[b"X: " + value]) + b"hello")
        add("header value", head(b"GET", headers=[b"X: " + value]))
    for method in [b"GET", b"HEAD", b"DELETE", b"OPTIONS", b"TRACE"]:
        add("body of " + method.decode(), head(method, headers=[b"Content-Length: 5"]) + b"hello")
        add("body of " + method.decode(), head(method, headers=[b"Transfer-Encoding: chunked"]) + chunked)
    for value in [b"100-continue", b"100-Continue", b"x", b"100-continue, x", b""]:
        add("expect", head(b"POST", headers=[b"Expect: " + value, b"Content-Length: 5"]) + b"hello")
    for value in [b"close", b"Close", b"close, x", b"x, close", b"content-length", b"transfer-encoding", b"host", b"upgrade"]:
        add("connection", head(b"POST", headers=[b"Connection: " + value, b"Content-Length: 5"]) + b"hello")
        add("connection", head(b"POST", headers=[b"Connection: " + value, b"Transfer-Encoding: chunked"]) + chunked)
    add("upgrade", head(headers=[b"Connection: upgrade", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__"]))
    add("upgrade", head(headers=[b"Connection: upgrade", b"Upgrade: x"]) + smuggled)
    add("upgrade", head(b"POST", headers=[b"Connection: upgrade", b"Upgrade: x", b"Content-Length: 5"]) + b"hello")
    add("header without a colon", head(headers=[b"x"]))
    add("header without a colon", head(b"POST", headers=[b"x", b"Content-Length: 5"]) + b"hello")
    return cases


SPECIAL = [b"\r", b"\n", b"\r\n", b" ", b"\t", b"\x00", b"\x0b", b":", b",", b";", b"0", b"5", b"+", b"-", b"\x80", b"\xff", b"\"", b"chunked", b"Content-Length: 5\r\n",
           b"Transfer-Encoding: chunked\r\n", b"HTTP/1.1", b"HTTP/1.0", b"\r\n\r\n", b"X: y\r\n"]


def mutated(cases, count, seed):
    """The handwritten cases with one to three changes."""
    source = random.Random(seed)
    for _ in range(count):
        name, data = source.choice(cases)
        for _ in range(source.randint(1, 3)):
            at = source.randrange(len(data) + 1)
            what = source.randrange(4)
            if what == 0:
                data = data[:at] + source.choice(SPECIAL) + data[at:]
            elif what == 1:
                data = data[:at] + data[at + source.randint(1, 3):]
            elif what == 2:
                data = data[:at] + source.choice(SPECIAL) + data[at + 1:]
            else:
                other = source.choice(cases)[1]
                data = data[:at] + other[source.randrange(len(other)):]
        yield "mutated: " + name, data


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def await_port(port, process, log, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"{process.args[0]} does not listen on {port}:\n" + open(log).read()[-2000:])


class Contenders:
    """The four servers in front of one application, which has a separate port for each."""

    def __init__(self, directory):
        self.directory = directory
        self.processes = []
        names = ["dispatcher", *OTHERS]
        ports = free_ports(2 * len(names) + 3)
        self.control, self.workers, self.admin = ports[:3]
        self.ports = dict(zip(names, ports[3:3 + len(names)]))
        self.backends = dict(zip(names, ports[3 + len(names):]))
        self.ports["node"] = self.backends["node"]

    def start(self):
        self.start_backend()
        self.start_nginx()
        self.start_haproxy()
        self.start_dispatcher()

    def run(self, name, command, port, env=None):
        log = os.path.join(self.directory, name + ".log")
        process = subprocess.Popen(command, stdout=open(log, "w"), stderr=subprocess.STDOUT, env=env, start_new_session=True)
        self.processes.append(process)
        await_port(port, process, log)

    def file(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start_backend(self):
        ports = [str(port) for port in self.backends.values()]
        self.run("backend", ["node", os.path.join(HERE, "backend.js"), str(self.control), *ports], self.control)

    def start_nginx(self):
        configuration = self.file("nginx.conf", f"""
            daemon off; pid {self.directory}/nginx.pid; error_log {self.directory}/nginx-error.log; worker_processes 1;
            events {{}}
            http {{
              access_log off; client_body_temp_path {self.directory}/body; proxy_temp_path {self.directory}/proxy;
              fastcgi_temp_path {self.directory}/fastcgi; uwsgi_temp_path {self.directory}/uwsgi; scgi_temp_path {self.directory}/scgi;
              server {{
                listen 127.0.0.1:{self.ports["nginx"]};
                location / {{ proxy_pass http://127.0.0.1:{self.backends["nginx"]}; proxy_http_version 1.1; proxy_request_buffering off; }}
              }}
            }}""")
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        self.run("nginx", [nginx, "-p", self.directory, "-c", configuration, "-e", self.directory + "/nginx-start.log"], self.ports["nginx"])

    def start_haproxy(self):
        configuration = self.file("haproxy.cfg", f"""
defaults
  mode http
  timeout connect 2s
  timeout client 5s
  timeout server 5s
frontend clients
  bind 127.0.0.1:{self.ports["haproxy"]}
  default_backend application
backend application
  server one 127.0.0.1:{self.backends["haproxy"]}
""")
        haproxy = shutil.which("haproxy") or "/usr/sbin/haproxy"
        self.run("haproxy", [haproxy, "-db", "-f", configuration], self.ports["haproxy"])

    def start_dispatcher(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAMBDA_DISPATCHER_")}
        self.run("dispatcher", [
            os.path.join(ROOT, "dispatcher"), "serve", "--public-plain-port", f"127.0.0.1:{self.ports['dispatcher']}",
            "--workers-port", f"127.0.0.1:{self.workers}", "--admin-port", str(self.admin), "--function-launcher", "local",
            "--function-min-workers", "1", "--function-max-workers", "1", "--shutdown-delay", "0",
            "--local-environment", f"LAMBDA_DISPATCHER_WEB_PORT={self.backends['dispatcher']}"], self.ports["dispatcher"], environment)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/ready", timeout=2):
                    return
            except OSError:
                time.sleep(0.1)
        sys.exit("the dispatcher does not become ready:\n" + open(os.path.join(self.directory, "dispatcher.log")).read()[-2000:])

    def take(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.control}/", timeout=5) as answer:
            seen = json.load(answer)
        return {name: seen.get(str(port), []) for name, port in self.backends.items()}

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


async def send(port, data, quiet):
    """Returns whether the server has closed the connection, and the status of its last response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    closed = False
    try:
        writer.write(data)
        await writer.drain()
        while True:
            part = await asyncio.wait_for(reader.read(65536), quiet)
            if not part:
                closed = True
                break
            answer += part
    except asyncio.TimeoutError:
        pass
    except OSError:
        closed = True
    writer.close()
    statuses = re.findall(rb"HTTP/1\.[01] (\d{3})", answer)
    return closed, int(statuses[-1]) if statuses else 0


def meaning(records):
    """The parts that both ends of a proxy must agree on. An absolute target means its path."""
    return [(r["method"], re.sub(r"^(?i:https?)://[^/?]*", "", r["target"]) or "/", r["bytes"], r.get("body")) for r in records if r["ended"]]


def relation(ours, theirs):
    if ours == theirs:
        return "same"
    if ours == theirs[:len(ours)]:
        return "stricter"
    return "more" if theirs == ours[:len(theirs)] else "other"


async def compare(contenders, data, quiet):
    contenders.take()
    names = list(contenders.ports)
    results = await asyncio.gather(*(send(contenders.ports[n], data + END, quiet) for n in names))
    await asyncio.sleep(quiet / 20)
    seen = {n: meaning(records) for n, records in contenders.take().items()}
    return tuple(relation(seen["dispatcher"], seen[n]) for n in OTHERS), seen, dict(zip(names, results))


async def run(contenders, cases, verbose):
    examples = {}
    for name, data in cases:
        relations, seen, results = await compare(contenders, data, QUIET_SECONDS)
        if is_suspicious(relations):
            # On a busy machine, a response may have arrived too late, perhaps that of the previous case.
            await asyncio.sleep(PATIENT_SECONDS)
            relations, seen, results = await compare(contenders, data, PATIENT_SECONDS)
        key = (name.replace("mutated: ", ""), relations)
        examples.setdefault(key, []).append((data, seen, results))
        if verbose:
            print(relations, name, data)
    return examples


def is_suspicious(relations):
    """No other server reads the bytes as the dispatcher does, and the dispatcher is not merely stricter than all of them."""
    return "other" in relations or "same" not in relations and "more" in relations


def explanation(data):
    return next((reason for pattern, reason in EXPECTED if re.search(pattern, data)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000, help="mutated requests, besides those of the table")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    # On SIGTERM, exits in the usual way, which stops all servers.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    written = table()
    cases = written + list(mutated(written, options.cases, options.seed))
    with tempfile.TemporaryDirectory() as directory:
        contenders = Contenders(directory)
        try:
            contenders.start()
            examples = asyncio.run(run(contenders, cases, options.verbose))
        finally:
            contenders.stop()
    total = collections.Counter()
    for (_, relations), some in examples.items():
        for other, one in zip(OTHERS, relations):
            total[other, one] += len(some)
    print(f"{len(cases)} cases ({len(written)} written by hand, seed {options.seed})")
    for other in OTHERS:
        print(f"  dispatcher against {other}: " + ", ".join(f"{one} {total[other, one]}" for one in ("same", "stricter", "more", "other")))
    unexplained = 0
    for (name, relations), cases in sorted(examples.items()):
        if not {"more", "other"} & set(relations):
            continue
        print(f"\n{name}: {len(cases)} cases, against " + ", ".join(f"{o} {r}" for o, r in zip(OTHERS, relations)))
        for data, seen, results in cases:
            reason = explanation(data) if is_suspicious(relations) else "another server reads it as the dispatcher does"
            unexplained += not reason
            print(f"  {'NOT EXPLAINED' if not reason else reason}: " + repr(data)[1:])
            for who in ["dispatcher", *OTHERS]:
                closed, status = results[who]
                requests = "; ".join(f"{m} {t} {b}" for m, t, b, _ in seen[who])
                print(f"    {who:10} {status} {'closed' if closed else 'open':6} {requests}")
    print(f"\n{unexplained} cases without an explanation")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
