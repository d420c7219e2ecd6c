"""JSON, regular expressions, threads and a child process; the output is always the same."""

import json
import re
import subprocess
import sys
import threading

RECORDS = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
FACTOR = int(sys.argv[2]) if len(sys.argv) > 2 else 1


def documents(seed: int) -> str:
    """RECORDS small documents as JSON text."""
    return json.dumps(
        [
            {"id": i, "name": f"item-{i * seed * FACTOR % 977}", "tags": [f"t{j}" for j in range(i % 7)]}
            for i in range(RECORDS)
        ]
    )


def work(seed: int, results: dict[int, tuple[int, int, str]]) -> None:
    """Parses its documents, searches them and keeps three figures."""
    text = documents(seed)
    parsed = json.loads(text)
    names = re.findall(r'"item-(\d+)"', text)
    words = sorted({tag for row in parsed for tag in row["tags"]} | set(names), key=lambda word: (len(word), word))
    results[seed] = (len(text), len(names), words[-1])


def main() -> None:
    """Four threads over the same work, then a child process."""
    results: dict[int, tuple[int, int, str]] = {}
    threads = [threading.Thread(target=work, args=(seed, results)) for seed in (3, 5, 7, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in sorted(results):
        print(seed, *results[seed])
    print(subprocess.run(["echo", "child"], capture_output=True, text=True, check=True).stdout, end="")


if __name__ == "__main__":
    main()
