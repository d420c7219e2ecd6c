"""A dask cluster: sweeps whose workers and scheduler die, and a search that is that of one machine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import msgspec
import pytest
from conftest import Answer
from sweeps import request, rows_of, silent, swept
from traces import random_trace

from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.tune import tune
from heapsmith.tools.sweep import sweep as fleet
from heapsmith.tools.sweep.cluster import Cluster
from heapsmith.tools.sweep.search import ClusterRunner
from heapsmith.tools.sweep.tasks import Found, Store

for _package in ("distributed", "pyarrow.parquet"):
    pytest.importorskip(_package, reason="sweeps on a cluster need it")

Call = Callable[..., Answer]


def started(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """A process of dask in a folder of its own, without this process's cache of designs and traces."""
    folder.mkdir()
    with (folder / "log").open("wb") as log:
        return subprocess.Popen([sys.executable, "-m", *words], cwd=folder, stdout=log, stderr=log)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, dict[str, subprocess.Popen[bytes]]]]:
    """A scheduler's address, and its process and those of its two workers by name."""
    pytest.importorskip("distributed", reason="distributed is not installed")
    told = tmp_path / "scheduler.json"
    with ExitStack() as stack:

        def start(name: str, *words: str) -> subprocess.Popen[bytes]:
            process = started([*words, "--scheduler-file", str(told)], tmp_path / name)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        quiet = ("--no-dashboard", "--host", "127.0.0.1")
        scheduler = start("scheduler", "distributed.cli.dask_scheduler", "--port", "0", *quiet)
        worker = ("distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", *quiet)
        workers = {name: start(name, *worker) for name in ("worker-0", "worker-1")}
        address = ""
        limit = time.monotonic() + 120
        while not address:
            assert time.monotonic() < limit, "the scheduler does not start"
            time.sleep(0.05)
            # The scheduler writes in place: the file may not be there yet, or only a part of it
            with suppress(FileNotFoundError, json.JSONDecodeError):
                address = json.loads(told.read_text())["address"]
        from distributed import Client

        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=120)
        yield address, workers | {"scheduler": scheduler}


def search_is_that_of_this_machine(address: str, folder: Path) -> None:
    """A search on the cluster ends with the design and the figures of a search here, and refuses damage alike."""
    trace = random_trace(folder / "searched.hst", 3000, 5, threads=2)
    few = Asked(simulations=9, jobs=1, latency=True, cores=2)
    here = tune(trace, base=load("default"), name="made", asked=few, hold_out=[trace])
    with Cluster(address) as open_cluster:
        hire = partial(ClusterRunner, open_cluster)
        there = tune(trace, base=load("default"), name="made", asked=few, hold_out=[trace], hire=hire)
    spent = msgspec.structs.replace(there.spent, seconds=here.spent.seconds)
    assert msgspec.structs.replace(there, spent=spent) == here


@pytest.mark.big
def test_a_cluster_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path,
    cluster: tuple[str, dict[str, subprocess.Popen[bytes]]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    address, processes = cluster
    search_is_that_of_this_machine(address, tmp_path)
    asked = request(tmp_path, "[values]\nfront.capacity = [8, 12, 16, 24, 32, 48, 64, 96]\n", traces=3)
    swept(fleet.Request(asked.variants, [], asked.traces, None, tmp_path / "whole"), tmp_path / "whole.parquet")
    put: Counter[str] = Counter()
    real = Store.put

    def noted(self: Store, key: str, found: Found) -> None:
        put[key] += 1
        if len(put) == 2:
            processes["worker-0"].kill()
        real(self, key, found)

    monkeypatch.setattr(Store, "put", noted)
    done = fleet.sweep(asked, tmp_path / "r.parquet", fleet.executor(1, address), silent)
    assert processes["worker-0"].wait() == -signal.SIGKILL
    assert (done.simulated, done.rows) == (24, 24)
    assert len(put) == 24
    assert set(put.values()) == {1}
    assert rows_of(tmp_path / "r.parquet") == rows_of(tmp_path / "whole.parquet")
    damaged = tmp_path / "damaged.hst"
    content = bytearray(asked.traces[0].read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    bad = fleet.Request(asked.variants[:1], [], [damaged], None, asked.folder)
    with pytest.raises(BadInput, match=r"damaged\.hst: chunk"):
        fleet.sweep(bad, tmp_path / "bad.parquet", fleet.executor(1, address), silent)
    assert not (tmp_path / "bad.parquet").exists()
    assert capfd.readouterr() == ("", "")  # none of dask's own words

    def ends(self: Store, key: str, found: Found) -> None:
        processes["scheduler"].kill()
        real(self, key, found)

    monkeypatch.setattr(Store, "put", ends)
    again = fleet.Request(asked.variants, [], asked.traces, None, tmp_path / "again")
    with pytest.raises(Missing, match="the scheduler ended"):
        fleet.sweep(again, tmp_path / "again.parquet", fleet.executor(1, address), silent)
    assert 0 < len(list(again.folder.rglob("*.json"))) < 24
    assert not (tmp_path / "again.parquet").exists()


@pytest.mark.thorough
def test_the_scheduler_ends_before_it_hands_over_a_result(
    tmp_path: Path, cluster: tuple[str, dict[str, subprocess.Popen[bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Future
    from distributed.comm import CommClosedError

    address, processes = cluster
    asked = request(tmp_path, traces=1)

    def reset(self: Future) -> object:
        raise CommClosedError("Connection reset by peer")  # what dask says if it has not noticed the end yet

    with monkeypatch.context() as patched:
        patched.setattr(Future, "result", reset)
        with pytest.raises(Missing, match="the scheduler ended"):
            fleet.sweep(asked, tmp_path / "r.parquet", fleet.executor(1, address), silent)
    exception = Future.exception

    def ends(self: Future) -> object:
        said = exception(self)
        processes["scheduler"].kill()
        processes["scheduler"].wait()
        return said

    monkeypatch.setattr(Future, "exception", ends)
    with pytest.raises(Missing, match="the scheduler ended"):
        fleet.sweep(asked, tmp_path / "r.parquet", fleet.executor(1, address), silent)
    assert not (tmp_path / "r.parquet").exists()


@pytest.mark.thorough
def test_schedulers_that_are_none(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from heapsmith.tools.sweep import cluster as dask

    pytest.importorskip("distributed", reason="distributed is not installed")
    asked = request(tmp_path, traces=1)
    monkeypatch.setattr(dask, "PATIENCE_S", 1)
    options = ("--designs", "lean", "--traces", asked.traces[0], "--store", asked.folder, "-o", tmp_path / "r.parquet")
    answer = call("sweep", *options, "--scheduler", "tcp://127.0.0.1:1")
    assert answer.status == 3
    assert "no dask scheduler answers" in answer.err
    answer = call("sweep", *options, "--scheduler", "nonsense://127.0.0.1:1")
    assert answer.status == 2
    assert "expected tcp://HOST:PORT" in answer.err
    monkeypatch.setitem(sys.modules, "distributed", None)
    answer = call("sweep", *options, "--scheduler", "tcp://127.0.0.1:1")
    assert answer.status == 3
    assert "pip install 'heapsmith[sweep]'" in answer.err
    assert not os.path.exists(tmp_path / "r.parquet")
