"""Clients with HTTP/1.1: one for an event loop, and many that send requests in a thread, when they are due."""

import asyncio
import collections
import select
import threading
import time

GOOD_SECONDS = 1


class Unanswered(OSError):
    """A connection was closed before an answer."""


class Client:
    """
    Like most clients, it does not use a connection that was closed, and sends a GET again that was not answered on a kept connection. With
    `strict`, both are failures. `source` is its address. It has as many connections as there are requests in flight.
    """

    def __init__(self, port, source=None, strict=False):
        self.port = port
        self.source = source and (source, 0)
        self.strict = strict
        self.idle = []

    async def request(self, method, path, body=b"", fields=""):
        """@return the status, the header fields by name in lower case, and the body"""
        message = f"{method} {path} HTTP/1.1\r\nhost: a\r\n{fields}content-length: {len(body)}\r\n\r\n".encode() + body
        while self.idle:
            reader, writer = self.idle.pop()
            if not self.strict and is_closed(reader, writer):
                writer.close()
                continue
            try:
                return await self.exchange(reader, writer, message)
            except Unanswered:
                if self.strict or method == "POST":
                    raise
        return await self.exchange(*await asyncio.open_connection("127.0.0.1", self.port, local_addr=self.source), message)

    async def exchange(self, reader, writer, message):
        try:
            writer.write(message)
            try:
                status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            except ConnectionError as failed:
                raise Unanswered(str(failed)) from failed
            except asyncio.IncompleteReadError as failed:
                raise Unanswered(f"closed after {len(failed.partial)} bytes") from failed
            fields = dict(line.split(": ", 1) for line in lines if ": " in line)
            body = await reader.readexactly(int(fields.get("content-length", 0)))
        except BaseException:
            writer.close()
            raise
        if fields.get("connection") == "close":
            writer.close()
        else:
            self.idle.append((reader, writer))
        return int(status.split()[1]), fields, body

    def close(self):
        for _, writer in self.idle:
            writer.close()


def is_closed(reader, writer):
    """Whether the server has closed an idle connection, even if the event loop is late and does not know it yet."""
    descriptor = writer.get_extra_info("socket").fileno()
    if reader.at_eof() or descriptor < 0:
        return True
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)
    return bool(readable.poll(0))


class Answer(collections.namedtuple("Answer", "planned ended problem what status fields body", defaults=(None, "", 200, {}, b""))):
    """What came of a request. problem -- why it was lost; None if it was answered with 200. body -- its beginning"""

    def is_good(self):
        return self.problem is None and self.ended - self.planned <= GOOD_SECONDS


async def due(seconds, interval):
    """Yields when each request is due, at that time. @param interval returns the seconds until the next one"""
    planned = time.monotonic()
    end = planned + seconds
    while planned < end:
        yield planned
        planned += interval()
        await asyncio.sleep(max(0, planned - time.monotonic()))


class Background:
    """An event loop in a thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.begun = set()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def begin(self, coroutine):
        begun = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        # The loop has only weak references.
        self.begun.add(begun)
        begun.add_done_callback(self.begun.discard)
        return begun

    def run(self, coroutine):
        return self.begin(coroutine).result()

    async def end_all(self):
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def close(self):
        """Cancels what has not ended."""
        if self.thread.is_alive():
            self.run(self.end_all())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()


class Clients(Background):
    """Send requests in a thread, whether or not earlier ones are answered. `answers` has one Answer for each, in the order of their ends."""

    def __init__(self, port, timeout=30):
        self.client = Client(port)
        self.timeout = timeout
        self.answers = []
        self.tasks = set()
        super().__init__()

    def send(self, planned, what, asking):
        """@param what it is, for the answer. @param asking returns the status, the header fields and the body"""
        task = asyncio.ensure_future(self.ask(planned, what, asking))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def ask(self, planned, what, asking):
        found = 0, {}, b""
        try:
            status, fields, body = await asyncio.wait_for(asking, self.timeout)
            found = status, fields, body[:100]
            problem = None if status == 200 else f"status {status}"
        except asyncio.TimeoutError:
            problem = f"no answer within {self.timeout} s"
        except (OSError, EOFError, ValueError) as failed:
            problem = f"{type(failed).__name__} {failed}"
        self.answers.append(Answer(planned, time.monotonic(), problem, what, *found))
        return self.answers[-1]

    async def finish(self):
        while self.tasks:
            await asyncio.wait(self.tasks)

    def losses(self, since=0):
        return [f"{answer.what}: {answer.problem}" for answer in self.answers if answer.problem and answer.planned >= since]

    def close(self):
        self.loop.call_soon_threadsafe(self.client.close)
        super().close()
