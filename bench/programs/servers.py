"""The real servers of the suite `servers`: their output depends on their inputs alone; they report on themselves."""

from pathlib import Path

from heapsmith.bench.programs import inputs
from heapsmith.bench.programs.programs import Program, job


def servers(folder: Path, *, scale: float = 1, seed: int = 1) -> list[Program]:
    """The servers with work in `folder`; `scale` sets its amount, `seed` varies it."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    factor = inputs.factor(seed)

    def size(full: int) -> int:
        return max(1, round(full * scale))

    redis = ["python3", *job("redis_load.py", folder, 3, size(1000), factor, "report")]
    python = [
        "env",
        "PYTHONMALLOC=malloc",
        "PYTHONHASHSEED=0",
        "python3",
        *job("python_server.py", 24, size(60), factor),
    ]
    return [
        Program("redis-threads", "redis-server", redis, ("redis-server", "redis-benchmark"), True, 3, reports=True),
        Program("python-server", "python3", python, ("python3",), False, 8, reports=True),
    ]
