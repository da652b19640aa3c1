#!/usr/bin/env -S python3 -B
"""Measures the memory that bodies and connections need, in a running dispatcher (e.g. ./dispatcher demo).

    benchmarks/macro/memory.py echo --port 8080 --pids DISPATCHER,WORKER,...          2 GiB through /echo, streaming in both directions
    benchmarks/macro/memory.py slow --port 8080 --pids DISPATCHER,WORKER,...          a 1 KB/s reader, and a handler that does not read
    benchmarks/macro/memory.py idle --port 8080 --pids DISPATCHER --protocol h2       10,000 idle connections; heap size from jcmd

--port is the plain port on 127.0.0.1. --pids lists the processes to watch, the dispatcher first. Needs curl, and jcmd for idle.
"""

import argparse
import contextlib
import hashlib
import os
import resource
import socket
import subprocess
import sys
import threading
import time

import hostile
from contenders import heap_used_mib, jcmd
from load import PING
from machine import java_of
from processes import rss_kib, sampled


@contextlib.contextmanager
def rss(pids):
    """Samples memory until the block ends, then prints the first, the highest and the last value."""
    with sampled(0.5, lambda: [rss_kib(pid) // 1024 for pid in pids]) as samples:
        yield
    for pid, each in zip(pids, zip(*samples)):
        print(f"process {pid}: RSS first {each[0]}, peak {max(each)}, last {each[-1]} MiB")


def echo(options):
    total = int(options.gib * (1 << 30))
    curl = subprocess.Popen(
        ["curl", "-sN", "--http2-prior-knowledge", "-X", "POST", "-T", "-", f"http://127.0.0.1:{options.port}/echo"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    sent, received, count = hashlib.sha256(), hashlib.sha256(), 0
    block = os.urandom(1 << 20)

    def feed():
        for begin in range(0, total, len(block)):
            part = block[:total - begin]
            sent.update(part)
            curl.stdin.write(part)
        curl.stdin.close()

    feeder = threading.Thread(target=feed)
    start = time.time()
    with rss(options.pids):
        feeder.start()
        while part := curl.stdout.read(1 << 20):
            received.update(part)
            count += len(part)
        feeder.join()
    seconds = time.time() - start
    same = sent.digest() == received.digest()
    print(f"{count} bytes in {seconds:.1f} s, {count / seconds / 1e6:.0f} MB/s, SHA-256 {'same' if same else 'DIFFERS'}")
    return not same


def slow(options):
    body = memoryview(bytes(64 << 20))

    def start(path):
        client = socket.create_connection(("127.0.0.1", options.port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        accepted = [0]

        def feed():
            client.sendall(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            with contextlib.suppress(OSError):  # closed below
                while accepted[0] < len(body):
                    accepted[0] += client.send(body[accepted[0]:accepted[0] + 65536])

        threading.Thread(target=feed, daemon=True).start()
        return client, accepted

    with rss(options.pids):
        reader, of_reader = start("/double-echo")
        silent, of_silent = start("/silent")
        for _ in range(options.seconds):
            reader.recv(1024)
            time.sleep(1)
    print(f"accepted, kernel buffers included: {of_reader[0]} bytes for the slow reader, {of_silent[0]} bytes for the silent handler")
    reader.close()
    silent.close()


def idle(options):
    wanted, (_, hard) = options.connections + 100, resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        sys.exit(f"memory: {hard} open files allowed, {wanted} needed: raise ulimit -n or lower --connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    request = hostile.get(PING.path)
    if options.protocol == "h2":
        request = hostile.PREFACE + hostile.settings() + hostile.got(PING.path)(1)
    pid = options.pids[0]
    heap, resident, clients = heap_kib(pid), rss_kib(pid) // 1024, []
    for i in range(options.connections):
        client = socket.create_connection(("127.0.0.1", options.port), source_address=(f"127.0.0.{2 + i % 4}", 0))
        client.sendall(request)
        clients.append(client)
        if i % 500 == 499:
            for answered in clients[-500:]:
                answered.recv(4096)
    time.sleep(2)
    heap_now = heap_kib(pid)
    print(f"{options.connections} idle {options.protocol} connections: heap {heap:.0f} -> {heap_now:.0f} KiB, "
          f"{(heap_now - heap) * 1024 / options.connections:.0f} bytes each; RSS {resident} -> {rss_kib(pid) // 1024} MiB")


def heap_kib(pid):
    java = java_of(None)
    jcmd(java, pid, "GC.run")
    return heap_used_mib(java, pid) * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["echo", "slow", "idle"])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pids", type=lambda text: [int(pid) for pid in text.split(",")], required=True)
    parser.add_argument("--gib", type=float, default=2, help="size of the body in GiB (echo only)")
    parser.add_argument("--seconds", type=int, default=60, help="duration (slow only)")
    parser.add_argument("--connections", type=int, default=10_000, help="number of connections (idle only)")
    parser.add_argument("--protocol", choices=["h1", "h2"], default="h1", help="protocol of the connections (idle only)")
    options = parser.parse_args()
    sys.exit({"echo": echo, "slow": slow, "idle": idle}[options.what](options))


if __name__ == "__main__":
    main()
