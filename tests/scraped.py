"""A prometheus that scrapes the file `metrics` of a folder, and answers queries; a node_exporter over a folder."""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Prometheus(NamedTuple):
    """One that runs."""

    port: int

    def asked(self, path: str, **words: str) -> Any:
        """What its interface answers; None while it does not."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def query(self, text: str) -> list[Any]:
        """What a query finds, as soon as it finds something; nothing after a minute."""
        found, end = None, time.monotonic() + 60
        while not found and time.monotonic() < end:
            time.sleep(0.1)
            found = (self.asked("query", query=text) or {}).get("result")
        return found or []


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SERVES = """
import functools, http.server, sys
of = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
of.func.extensions_map[""] = sys.argv[3]
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), of).serve_forever()
"""


@contextmanager
def scraped(folder: Path, rules: Path | None = None, kind: str = "text/plain; version=0.0.4") -> Iterator[Prometheus]:
    """A prometheus over a folder with a file `metrics`, which is of this kind, five times a second."""
    if not shutil.which("prometheus"):
        pytest.skip("no prometheus (package prometheus)")
    served, port = free_port(), free_port()
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}\n"
        f"rule_files: {json.dumps([str(rules)] if rules else [])}\n"
        f"scrape_configs: [{{job_name: heap, static_configs: [{{targets: ['127.0.0.1:{served}']}}]}}]\n"
    )
    server = [sys.executable, "-c", SERVES, str(folder), str(served), kind]
    scraper = [
        *("prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"),
        *(f"--web.listen-address=127.0.0.1:{port}",),
    ]
    with running(server), running(scraper):
        yield Prometheus(port)


@contextmanager
def running(command: list[str]) -> Iterator[None]:
    """A program that says nothing, until the body has ended."""
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=null, stderr=null)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def collected(folder: Path) -> Iterator[Callable[[], str]]:
    """What node_exporter shows of the files of a folder, asked as a scrape does; empty while it does not answer."""
    if not (exporter := shutil.which("prometheus-node-exporter")):
        pytest.skip("no node_exporter (package prometheus-node-exporter)")
    port = free_port()
    own = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={folder}")

    def shown() -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    with running([exporter, *own, f"--web.listen-address=127.0.0.1:{port}"]):
        yield shown
