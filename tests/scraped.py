"""A prometheus that scrapes the file `metrics` of a folder, and answers queries."""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
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
            with urllib.request.urlopen(url) as answer:
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


@contextmanager
def scraped(folder: Path, rules: Path | None = None) -> Iterator[Prometheus]:
    """A prometheus over a folder with a file `metrics`, five times a second."""
    if not shutil.which("prometheus"):
        pytest.skip("no prometheus (package prometheus)")
    served, port = free_port(), free_port()
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}\n"
        f"rule_files: {json.dumps([str(rules)] if rules else [])}\n"
        f"scrape_configs: [{{job_name: heap, static_configs: [{{targets: ['127.0.0.1:{served}']}}]}}]\n"
    )
    server = [sys.executable, "-m", "http.server", "-d", str(folder), "-b", "127.0.0.1", str(served)]
    scraper = [
        *("prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"),
        *(f"--web.listen-address=127.0.0.1:{port}",),
    ]
    null = subprocess.DEVNULL
    started = [subprocess.Popen(words, stdout=null, stderr=null) for words in (server, scraper)]
    try:
        yield Prometheus(port)
    finally:
        for one in started:
            one.terminate()
        for one in started:
            one.wait()
