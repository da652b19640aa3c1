"""Holds listening sockets and passes them to a program, as systemd does.

    socket-holder.py PORT... -- PROGRAM ARGUMENT...

For each line on standard input, it stops the program with SIGTERM, prints its exit code, and starts it again. The end of standard input stops both.
"""
import fcntl
import os
import signal
import socket
import sys

FIRST_DESCRIPTOR = 3
separator = sys.argv.index("--")
command = sys.argv[separator + 1:]
sockets = []
for port in sys.argv[1:separator]:
    listening = socket.create_server(("127.0.0.1", int(port)), backlog=4096)
    listening.setblocking(False)
    sockets.append(listening)


def start():
    child = os.fork()
    if child:
        return child
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # First out of the way, because the sockets can have the descriptors of each other.
    moved = [fcntl.fcntl(each.fileno(), fcntl.F_DUPFD_CLOEXEC, 100) for each in sockets]
    for index, descriptor in enumerate(moved):
        os.dup2(descriptor, FIRST_DESCRIPTOR + index)
    os.environ["LISTEN_FDS"] = str(len(sockets))
    os.environ["LISTEN_PID"] = str(os.getpid())
    os.execvp(command[0], command)


def stop(child):
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    print("exit", os.waitstatus_to_exitcode(status), flush=True)


running = start()
for _ in sys.stdin:
    stop(running)
    running = start()
stop(running)
