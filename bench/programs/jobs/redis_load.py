"""Runs redis-server through rounds of concurrent clients, expiry and lazy frees.

argv: a folder for the socket, rounds, commands of each kind per client and round, a factor of the
values, and perhaps `report`. Standard output is always the same. Standard error has, for each round,
the server's used bytes and RSS under load, and both again after all keys are gone; with `report` also
a last line as of bench/programs/micro: the server's times in the rounds, its peak, and what is
resident a quiet second after them.
"""

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

CLIENTS = 6
EXPIRY_MS = 200


class Client:
    """One connection: whole batches of commands out, then their replies as bytes."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.stream = self.socket.makefile("rb")

    def __call__(self, *commands: str) -> list[bytes]:
        self.socket.sendall("".join(f"{command}\r\n" for command in commands).encode())
        return [self.reply() for _ in commands]

    def reply(self) -> bytes:
        line = self.stream.readline()
        if line[:1] == b"$" and line != b"$-1\r\n":
            return self.stream.read(int(line[1:]) + 2)
        if line[:1] == b"*":
            return b"".join(self.reply() for _ in range(int(line[1:])))
        return line


def batch(me: int, turn: int, commands_of_a_kind: int, factor: int) -> list[str]:
    """The commands of client `me` in one round: keys that expire, and large values."""
    commands = []
    for i in range(commands_of_a_kind):
        text = f"{i * factor + turn:x}" * (i * i % 61 + 1)
        commands += [
            f"set c{me}:{i} {text} px {EXPIRY_MS}",
            f"hset c{me}:hash field-{i} {text[:100]}",
            f"append c{me}:log {text[:50]}",
            f"rpush c{me}:list {text[:30]} {i}",
        ]
        if i % 100 == 99:
            commands += [f"lrange c{me}:list -5 -1", f"hmget c{me}:hash field-{i} field-{i - 7}", f"strlen c{me}:log"]
    return commands


def first_client(path: Path, server: subprocess.Popen[bytes]) -> Client:
    """Connect to the starting server, which refuses connections until it listens."""
    while True:
        try:
            return Client(path)
        except (FileNotFoundError, ConnectionRefusedError):
            assert server.poll() is None, "redis-server does not start"
            time.sleep(0.01)


def memory(client: Client) -> tuple[int, int]:
    """The server's used bytes, by its own count, and its RSS."""
    found = figures(client, "memory")
    return int(found["used_memory"]), int(found["used_memory_rss"])


def cpu_ns(client: Client) -> int:
    """The server's CPU time so far."""
    found = figures(client, "cpu")
    return round(1e9 * (float(found["used_cpu_user"]) + float(found["used_cpu_sys"])))


def figures(client: Client, section: str) -> dict[str, str]:
    """A section of what the server says of itself."""
    rows = client(f"info {section}")[0].decode().splitlines()
    return dict(row.split(":", 1) for row in rows if ":" in row)


def load(path: Path, turn: int, commands: int, factor: int) -> str:
    """One round: all clients at once, beside redis-benchmark's 50; returns the replies' digest."""
    digests = [""] * CLIENTS

    def work(me: int) -> None:
        digests[me] = hashlib.sha256(b"".join(Client(path)(*batch(me, turn, commands, factor)))).hexdigest()

    threads = [threading.Thread(target=work, args=(me,)) for me in range(CLIENTS)]
    options = "-c 50 -P 16 -n 10000 -r 5000 -d 300 -q"
    beside = ["redis-benchmark", "-s", str(path), *options.split()]
    expiring = ["set", "b:__rand_int__", "__data__", "px", str(EXPIRY_MS)]
    with subprocess.Popen([*beside, *expiring], stdout=subprocess.DEVNULL) as benchmark:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert benchmark.returncode == 0
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def settle(client: Client) -> None:
    """Wait until all keys have expired and the background thread has freed the unlinked keys."""
    client(*(f"unlink c{me}:{kind}" for me in range(CLIENTS) for kind in ("hash", "log", "list")))
    deadline = time.monotonic() + 30
    while client("dbsize") != [b":0\r\n"] or b"lazyfree_pending_objects:0" not in client("info memory")[0]:
        assert time.monotonic() < deadline, "keys do not expire"
        time.sleep(0.02)


def report(client: Client, server: int, operations: int, wall_ns: int, cpu_ns: int) -> str:
    """What the server has a quiet second after the rounds, with their times."""
    time.sleep(1)
    peak = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{server}/status").read_text())
    memory_bytes = {"end_rss_bytes": memory(client)[1], "peak_rss_bytes": int(peak[0]) * 1024}
    return json.dumps({"operations": operations, "wall_ns": wall_ns, "cpu_ns": cpu_ns} | memory_bytes)


def main() -> None:
    """Start the server, run the rounds, and stop the server."""
    folder, (rounds, commands, factor) = Path(sys.argv[1]), map(int, sys.argv[2:5])
    path = folder / f"redis-load-{os.getpid()}.sock"
    options = "--port 0 --appendonly no --hz 100 --io-threads 3 --io-threads-do-reads yes --lazyfree-lazy-expire yes"
    command = ["redis-server", "--unixsocket", str(path), "--dir", str(folder), "--save", "", *options.split()]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            control = first_client(path, server)
            began, spent = time.monotonic_ns(), cpu_ns(control)
            for turn in range(rounds):
                print(turn, load(path, turn, commands, factor), flush=True)
                loaded = memory(control)
                settle(control)
                print("round", *loaded, *memory(control), file=sys.stderr)
            if sys.argv[5:] == ["report"]:
                times = (time.monotonic_ns() - began, cpu_ns(control) - spent)
                print(report(control, server.pid, rounds * commands * CLIENTS, *times), file=sys.stderr)
            control.socket.sendall(b"shutdown nosave\r\n")
        except BaseException:
            server.kill()
            raise
    assert server.returncode == 0


if __name__ == "__main__":
    main()
