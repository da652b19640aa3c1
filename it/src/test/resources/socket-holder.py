"""Holds listening sockets and passes them to a program, as systemd does.

    socket-holder.py PORT... -- PROGRAM ARGUMENT...

Commands, one in each line of standard input. The oldest process has number 0:

    restart      term, exit and start
    start        starts one process more, beside those that run
    ready        waits until the newest process has said that it is ready, and prints "ready", or
                 "not ready" after 150 s
    term         sends SIGTERM to the oldest process
    exit         waits for the oldest process, and prints "exit" and its exit code
    kill NUMBER  sends SIGKILL to this process, waits for it, and prints the same

One process runs at first. The end of standard input stops all.
"""
import fcntl
import os
import signal
import socket
import sys
import time

FIRST_DESCRIPTOR = 3
MOST_START_SECONDS = 150
separator = sys.argv.index("--")
command = sys.argv[separator + 1:]
sockets = []
for port in sys.argv[1:separator]:
    listening = socket.create_server(("127.0.0.1", int(port)), backlog=4096)
    listening.setblocking(False)
    sockets.append(listening)
started = 0
# The process, and the socket on which it says that it is ready.
running = []


def start():
    global started
    started += 1
    name = f"socket-holder-{os.getpid()}-{started}"
    notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notified.bind("\0" + name)
    child = os.fork()
    if child:
        running.append((child, notified))
        return
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # First out of the way, because the sockets can have the descriptors of each other.
    moved = [fcntl.fcntl(each.fileno(), fcntl.F_DUPFD_CLOEXEC, 100) for each in sockets]
    for index, descriptor in enumerate(moved):
        os.dup2(descriptor, FIRST_DESCRIPTOR + index)
    os.environ["LISTEN_FDS"] = str(len(sockets))
    os.environ["LISTEN_PID"] = str(os.getpid())
    os.environ["NOTIFY_SOCKET"] = "@" + name
    os.execvp(command[0], command)


def await_ready():
    notified = running[-1][1]
    end = time.monotonic() + MOST_START_SECONDS
    try:
        message = b""
        while message != b"READY=1":
            notified.settimeout(max(0.001, end - time.monotonic()))
            message = notified.recv(4096)
        print("ready", flush=True)
    except socket.timeout:
        print("not ready", flush=True)


def send(number, signal_number):
    os.kill(running[number][0], signal_number)


def await_exit(number):
    child, notified = running.pop(number)
    _, status = os.waitpid(child, 0)
    notified.close()
    print("exit", os.waitstatus_to_exitcode(status), flush=True)


start()
for line in sys.stdin:
    word, *number = line.split()
    if word in ("restart", "term"):
        send(0, signal.SIGTERM)
    if word in ("restart", "exit"):
        await_exit(0)
    if word in ("restart", "start"):
        start()
    if word == "ready":
        await_ready()
    if word == "kill":
        send(int(number[0]), signal.SIGKILL)
        await_exit(int(number[0]))
for each in range(len(running)):
    send(each, signal.SIGTERM)
while running:
    await_exit(0)
