"""The program of `make demo`: parses an access log and joins it with JSON profiles.

It uses the standard library alone, has no input, and prints the same output on every run. Under
`PYTHONMALLOC=malloc` each object of the interpreter is a malloc of its own: parsing makes
short-lived strings and tuples, the rest long-lived dicts and lists.
"""

import argparse
import hashlib
import json
import random
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

LINE = re.compile(
    r'(?P<host>\d+\.\d+\.\d+\.\d+) - (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<method>[A-Z]+) (?P<path>[^ ?"]+)'
    r'(?:\?(?P<query>[^ "]*))? HTTP/1\.1" (?P<status>\d{3}) (?P<length>\d+)'
)
WORD = re.compile(r"[a-z]+")
PATHS = ("/", "/search", "/cart", "/item/{}", "/user/{}/orders", "/static/app.{}.js", "/api/v2/items/{}")
TITLES = ("brass lamp", "oak chair", "wool coat", "steel pan", "paper kite", "glass bowl", "clay cup", "linen sheet")


class Hit(NamedTuple):
    """One request of the log."""

    user: str
    path: str
    query: dict[str, str]
    status: int
    length: int


def log_lines(count: int, rng: random.Random) -> Iterator[str]:
    """`count` lines in the combined log format."""
    for second in range(count):
        host = ".".join(str(rng.randrange(1, 255)) for _ in range(4))
        path = rng.choice(PATHS).format(rng.randrange(2000))
        query = f"?q={rng.choice(TITLES).replace(' ', '+')}&page={rng.randrange(9)}" if path == "/search" else ""
        time = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
        status = rng.choice((200, 200, 200, 304, 404, 500))
        yield f'{host} - u{rng.randrange(500)} [{time}] "GET {path}{query} HTTP/1.1" {status} {rng.randrange(60_000)}'


def profile(number: int, rng: random.Random) -> dict[str, Any]:
    """One user in the form of a service's reply."""
    orders = [{"sku": f"s{rng.randrange(10**6)}", "count": rng.randrange(1, 5)} for _ in range(rng.randrange(12))]
    address = {"street": f"{rng.randrange(99)} {rng.choice(TITLES)} road", "code": f"{rng.randrange(10**5):05}"}
    return {"id": f"u{number}", "tags": rng.sample(TITLES, 4), "address": address, "orders": orders}


def parse(lines: Iterable[str]) -> list[Hit]:
    """The requests in the log; every line must match."""
    hits = []
    for line in lines:
        found = LINE.match(line)
        assert found, line
        query = dict(pair.split("=", 1) for pair in (found["query"] or "").split("&") if pair)
        hits.append(Hit(found["user"], found["path"], query, int(found["status"]), int(found["length"])))
    return hits


def sessions(hits: Iterable[Hit]) -> dict[str, list[str]]:
    """The last 32 paths of each user, in order."""
    recent: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=32))
    for hit in hits:
        recent[hit.user].append(hit.path)
    return {user: list(paths) for user, paths in sorted(recent.items())}


def rendered(hits: list[Hit], limit: int) -> int:
    """Characters of the pages that a cache of `limit` entries (LRU) had to render."""
    cache: OrderedDict[str, str] = OrderedDict()
    made = 0
    for hit in hits:
        if page := cache.pop(hit.path, None):
            cache[hit.path] = page
            continue
        page = "\n".join(f"<li id={row}>{hit.path}: {title}</li>" for row, title in enumerate(TITLES))
        made += len(page)
        cache[hit.path] = page
        if len(cache) > limit:
            cache.popitem(last=False)
    return made


def job(size: int, seed: int) -> dict[str, Any]:
    """Run the whole job over `size` log lines; the summary depends on every step."""
    rng = random.Random(seed)
    hits = parse(log_lines(size, rng))
    users = {row["id"]: row for row in json.loads(json.dumps([profile(number, rng) for number in range(500)]))}
    paths = sessions(hits)
    joined = json.dumps([{"user": users[user], "paths": seen} for user, seen in paths.items()], sort_keys=True)
    words = Counter(WORD.findall(joined))
    totals: Counter[str] = Counter()
    for hit in hits:
        totals[f"{hit.status} {hit.path.split('/')[1]}"] += hit.length
    again = json.loads(joined, object_pairs_hook=OrderedDict)
    return {
        "hits": len(hits),
        "searches": Counter(hit.query["q"] for hit in hits if hit.query).most_common(3),
        "rendered": rendered(hits, 300),
        "words": sorted(words.items(), key=lambda item: (-item[1], item[0]))[:8],
        "bytes": dict(sorted(totals.items())),
        "sessions": hashlib.sha256(json.dumps(again).encode()).hexdigest(),
    }


def main() -> None:
    """Print the summary of a few seeds as JSON."""
    parser = argparse.ArgumentParser(description="An allocation-heavy job with the same output on every run.")
    parser.add_argument("--size", type=int, default=12_000, help="log lines per round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=4, help="rounds, each with its own seed (default: %(default)s)")
    options = parser.parse_args()
    for seed in range(options.rounds):
        print(json.dumps(job(options.size, seed), indent=1))


if __name__ == "__main__":
    main()
