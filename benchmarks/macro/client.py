"""A client with HTTP/1.1 for one event loop. It has as many connections as there are requests in flight."""

import asyncio
import select


class Unanswered(OSError):
    """A connection was closed before an answer."""


class Client:
    """
    Like most clients, it does not use a connection that was closed, and sends a GET again that was not answered on a kept connection. With
    `strict`, both are failures. `source` is its address.
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
