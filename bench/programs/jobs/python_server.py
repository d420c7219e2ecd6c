"""A threaded HTTP server of the standard library; a child process sends requests over socket pairs.

argv: connections, requests of each, a factor of their numbers. Standard output is a digest of all
replies, always the same. The last line of standard error is a report as of bench/programs/micro:
the server's own times, its peak, and what is resident a quiet second after the last request.
"""

import gc
import hashlib
import json
import os
import re
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

RECORDS, SESSIONS, AT_ONCE = 400, 200, 8
"""Records of the catalogue, documents that a connection keeps, connections at once."""


class Service(BaseHTTPRequestHandler):
    """One connection, in a thread of its own: searches, documents that it keeps for a while, pages."""

    protocol_version = "HTTP/1.1"
    catalogue: tuple[dict[str, str], ...] = ()

    def setup(self) -> None:
        super().setup()
        self.kept: dict[str, object] = {}

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def date_time_string(self, timestamp: float | None = None) -> str:
        """Return a constant: replies are always the same."""
        return "Thu, 01 Jan 1970 00:00:00 GMT"

    def do_GET(self) -> None:
        """Answer a search as JSON, or all that matches as a page."""
        asked = urlsplit(self.path)
        words = re.compile("|".join(parse_qs(asked.query)["q"]))
        found = [row | {"at": str(at)} for at, row in enumerate(self.catalogue) if words.search(row["text"])]
        if asked.path == "/page":
            items = "".join("<tr>{}</tr>".format("".join(f"<td>{cell}</td>" for cell in row.values())) for row in found)
            self.answer(f"<table>{items}</table>")
        else:
            self.answer(json.dumps(found[:50], indent=1))

    def do_POST(self) -> None:
        """Keep a document; the oldest goes."""
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.kept[self.path] = document
        if len(self.kept) > SESSIONS:
            del self.kept[next(iter(self.kept))]
        self.answer(json.dumps({"kept": len(self.kept), "keys": sorted(document)}))

    def answer(self, text: str) -> None:
        """Send a reply of one piece."""
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def request(connection: int, number: int, factor: int) -> bytes:
    """The bytes of one request: four in ten keep a document, one in ten asks for a page."""
    drawn = (connection * 7919 + number * factor) % 9973
    if drawn % 10 < 4:
        rows = [{"id": k, "name": f"n{k * drawn % 977}"} for k in range(drawn % 40)]
        body = json.dumps({f"field{drawn % 7}": "x" * (drawn % 3000), "rows": rows}).encode()
        return b"POST /%d HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (drawn % 500, len(body), body)
    path = "page" if drawn % 10 == 4 else "search"
    return f"GET /{path}?q=word{drawn % 89}\\b&q=n{drawn % 13}x HTTP/1.1\r\nHost: here\r\n\r\n".encode()


def ask(lines: list[socket.socket], requests: int, factor: int) -> None:
    """The clients: each sends its requests one after the other; print the digest of all replies."""
    digests = [hashlib.sha256() for _ in lines]

    def client(number: int) -> None:
        stream = lines[number].makefile("rb")
        for turn in range(requests):
            lines[number].sendall(request(number, turn, factor))
            head = b"".join(iter(stream.readline, b"\r\n"))
            digests[number].update(head + stream.read(int(head.partition(b"Content-Length: ")[2].split(b"\r")[0])))
        stream.close()
        lines[number].close()

    def clients(first: int) -> None:
        for number in range(first, len(lines), AT_ONCE):
            client(number)

    threads = [threading.Thread(target=clients, args=(first,)) for first in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest(), flush=True)


def serve(lines: list[socket.socket]) -> None:
    """A thread for each connection, AT_ONCE at a time, as they come."""

    def connection(line: socket.socket) -> None:
        Service(line, "client", None)  # type: ignore[arg-type]  # it asks nothing of its server
        line.close()

    def connections(first: int) -> None:
        for line in lines[first::AT_ONCE]:
            thread = threading.Thread(target=connection, args=(line,))
            thread.start()
            thread.join()

    acceptors = [threading.Thread(target=connections, args=(first,)) for first in range(AT_ONCE)]
    for acceptor in acceptors:
        acceptor.start()
    for acceptor in acceptors:
        acceptor.join()


def status_bytes(name: str) -> int:
    """A row of /proc/self/status, which is in KiB."""
    return int(re.findall(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) * 1024


def main() -> None:
    """Fork the clients, serve them, then wait a second and report."""
    connections, requests, factor = map(int, sys.argv[1:])
    pairs = [socket.socketpair() for _ in range(connections)]
    child = os.fork()
    if child == 0:
        for ours, _ in pairs:
            ours.close()
        ask([theirs for _, theirs in pairs], requests, factor)
        os._exit(0)
    for _, theirs in pairs:
        theirs.close()
    began, spent = time.monotonic_ns(), time.process_time_ns()
    words = [f"word{k * factor % 89} n{k % 13}x" for k in range(RECORDS)]
    Service.catalogue = tuple({"name": f"item-{k}", "text": text} for k, text in enumerate(words))
    serve([ours for ours, _ in pairs])
    Service.catalogue = ()
    gc.collect()
    took, cpu = time.monotonic_ns() - began, time.process_time_ns() - spent
    assert os.waitpid(child, 0)[1] == 0
    time.sleep(1)
    report = {"operations": connections * requests, "wall_ns": took, "cpu_ns": cpu}
    memory = {"end_rss_bytes": status_bytes("VmRSS"), "peak_rss_bytes": status_bytes("VmHWM")}
    print(json.dumps(report | memory), file=sys.stderr)


if __name__ == "__main__":
    main()
