#!/usr/bin/env python3
"""Measures the memory that bodies and connections need, in a running dispatcher (e.g. ./dispatcher demo).

    benchmarks/macro/memory.py echo --port 8080 --pids DISPATCHER,WORKER,...          2 GiB through /echo, streaming in both directions
    benchmarks/macro/memory.py slow --port 8080 --pids DISPATCHER,WORKER,...          a 1 KB/s reader, and a handler that does not read
    benchmarks/macro/memory.py idle --port 8080 --pids DISPATCHER --protocol h2       10,000 idle connections; heap size from jcmd

--port is the plain port on 127.0.0.1. --pids lists the processes to watch, the dispatcher first. Needs curl, and jcmd for idle.
"""
import argparse
import hashlib
import os
import resource
import socket
import subprocess
import threading
import time


def rss_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) // 1024


class Rss:
    """Samples memory until the block ends, then prints the first, the highest and the last value."""

    def __init__(self, pids):
        self.samples = {pid: [rss_mib(pid)] for pid in pids}
        self.ended = threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ended.wait(0.5):
            for pid, samples in self.samples.items():
                samples.append(rss_mib(pid))

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for pid, samples in self.samples.items():
            print(f"process {pid}: RSS first {samples[0]}, peak {max(samples)}, last {samples[-1]} MiB")


def echo(options):
    total = int(options.gib * (1 << 30))
    curl = subprocess.Popen(
        ["curl", "-sN", "--http2-prior-knowledge", "-X", "POST", "-T", "-", f"http://127.0.0.1:{options.port}/echo"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    sent, received, count = hashlib.sha256(), hashlib.sha256(), 0
    block = os.urandom(1 << 20)

    def feed():
        left = total
        while left:
            part = block[:left] if left < len(block) else block
            sent.update(part)
            curl.stdin.write(part)
            left -= len(part)
        curl.stdin.close()

    feeder = threading.Thread(target=feed)
    start = time.time()
    with Rss(options.pids):
        feeder.start()
        while part := curl.stdout.read(1 << 20):
            received.update(part)
            count += len(part)
        feeder.join()
    seconds = time.time() - start
    same = sent.digest() == received.digest()
    print(f"{count} bytes in {seconds:.1f} s, {count / seconds / 1e6:.0f} MB/s, SHA-256 {'same' if same else 'DIFFERS'}")
    return 0 if same else 1


def slow(options):
    body = memoryview(bytes(64 << 20))

    def start(path):
        client = socket.create_connection(("127.0.0.1", options.port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        accepted = [0]

        def feed():
            client.sendall(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            try:
                while accepted[0] < len(body):
                    accepted[0] += client.send(body[accepted[0]:accepted[0] + 65536])
            except OSError:
                pass  # closed below

        threading.Thread(target=feed, daemon=True).start()
        return client, accepted

    with Rss(options.pids):
        reader, of_reader = start("/double-echo")
        silent, of_silent = start("/silent")
        for _ in range(options.seconds):
            reader.recv(1024)
            time.sleep(1)
    print(f"accepted, kernel buffers included: {of_reader[0]} bytes for the slow reader, {of_silent[0]} bytes for the silent handler")
    reader.close()
    silent.close()
    return 0


def heap_kib(pid):
    subprocess.run(["jcmd", str(pid), "GC.run"], check=True, capture_output=True)
    info = subprocess.run(["jcmd", str(pid), "GC.heap_info"], check=True, capture_output=True, text=True).stdout
    return int(info.split("used ")[1].split("K")[0])


def idle(options):
    wanted, (_, hard) = options.connections + 100, resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        raise SystemExit(f"memory: {hard} open files allowed, {wanted} needed: raise ulimit -n or lower --connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if options.protocol == "h2":
        block = bytes([0x82, 0x86, 0x04, 5]) + b"/ping" + bytes([0x01, 1]) + b"a"
        request = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
                   + len(block).to_bytes(3, "big") + bytes([1, 5, 0, 0, 0, 1]) + block)
    else:
        request = b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n"
    pid = options.pids[0]
    heap, rss, clients = heap_kib(pid), rss_mib(pid), []
    for i in range(options.connections):
        client = socket.create_connection(("127.0.0.1", options.port), source_address=(f"127.0.0.{2 + i % 4}", 0))
        client.sendall(request)
        clients.append(client)
        if i % 500 == 499:
            for answered in clients[-500:]:
                answered.recv(4096)
    time.sleep(2)
    heap_now, rss_now = heap_kib(pid), rss_mib(pid)
    print(f"{options.connections} idle {options.protocol} connections: heap {heap} -> {heap_now} KiB, "
          f"{(heap_now - heap) * 1024 / options.connections:.0f} bytes each; RSS {rss} -> {rss_now} MiB")
    return 0


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
    raise SystemExit({"echo": echo, "slow": slow, "idle": idle}[options.what](options))


if __name__ == "__main__":
    main()
