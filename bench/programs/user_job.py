"""A Python job of the pages and tests: a service's cache of user profiles, filled from JSON replies.

It uses the standard library alone, has no input, and prints the same output on every run. Each
request names a user. A profile that the cache lacks, or that has changed, is parsed from a JSON
reply and takes the place of the one used least lately. Each day ends with a report on all cached
profiles. Under `PYTHONMALLOC=malloc` each object of the interpreter is a malloc of its own: a
profile is some sixty blocks that live as long as the cache keeps it, beside short-lived strings.
"""

import argparse
import hashlib
import json
import random
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any

TITLES = ("brass lamp", "oak chair", "wool coat", "steel pan", "paper kite", "glass bowl", "clay cup", "linen sheet")
DISTINCT = 1 / 6
"""Distinct replies of the service that knows the profiles, as a share of a day's requests."""
CHANGED = 0.4
"""The share of requests after which a profile must be read again."""


def profile(number: int, rng: random.Random) -> dict[str, Any]:
    """One user in the form of a service's reply."""
    orders = [{"sku": f"s{rng.randrange(10**6)}", "count": rng.randrange(1, 5)} for _ in range(rng.randrange(12))]
    address = {"street": f"{rng.randrange(99)} {rng.choice(TITLES)} road", "code": f"{rng.randrange(10**5):05}"}
    visits = [{"path": f"/item/{rng.randrange(2000)}", "bytes": rng.randrange(60_000)} for _ in range(rng.randrange(9))]
    about = " ".join(rng.choices(TITLES, k=1 + int(1 / (0.01 + rng.random()))))  # a few are long
    tags = rng.sample(TITLES, 4)
    return {"id": f"u{number}", "tags": tags, "address": address, "orders": orders, "visits": visits, "about": about}


def requests(count: int, users: int, rng: random.Random) -> Iterator[int]:
    """The user of each request: some ask far more often than others."""
    for _ in range(count):
        yield int(users * rng.random() ** 2)


def report(cache: OrderedDict[int, dict[str, Any]]) -> dict[str, Any]:
    """What the cached profiles say."""
    sold: Counter[str] = Counter()
    visited: Counter[str] = Counter()
    digest = hashlib.sha256()
    for one in cache.values():
        digest.update(json.dumps(one, sort_keys=True).encode())
        for order in one["orders"]:
            sold[order["sku"][:3]] += order["count"]
        for visit in one["visits"]:
            visited[visit["path"]] += visit["bytes"]
    best, most = sold.most_common(3), visited.most_common(3)
    return {"profiles": len(cache), "sold": best, "visited": most, "digest": digest.hexdigest()}


def days(count: int, size: int, limit: int) -> Iterator[dict[str, Any]]:
    """Serve `size` requests on each day from a cache of `limit` profiles."""
    rng = random.Random(1)
    replies = [json.dumps(profile(number, rng)) for number in range(int(DISTINCT * size))]
    cache: OrderedDict[int, dict[str, Any]] = OrderedDict()
    for _ in range(count):
        for user in requests(size, 4 * limit, rng):
            if user not in cache or rng.random() < CHANGED:
                cache[user] = json.loads(rng.choice(replies))
            cache.move_to_end(user)
            if len(cache) > limit:
                cache.popitem(last=False)
        yield report(cache)


def main() -> None:
    """Print the report of each day as JSON."""
    parser = argparse.ArgumentParser(description="An allocation-heavy job with the same output on every run.")
    parser.add_argument("--size", type=int, default=12_000, help="requests a day (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="days (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=2500, help="cached profiles (default: %(default)s)")
    options = parser.parse_args()
    for one in days(options.rounds, options.size, options.limit):
        print(json.dumps(one, indent=1))


if __name__ == "__main__":
    main()
