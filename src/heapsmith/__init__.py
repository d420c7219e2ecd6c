"""heapsmith: record what a program allocates, simulate allocator designs on it, generate and prove the best one.

The ten names of the Python interface (docs/python.md). Each is imported when it is used first.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heapsmith.api.designs import Design, build, generate, verify
    from heapsmith.api.models import simulate
    from heapsmith.api.programs import compare, report
    from heapsmith.api.traces import Trace, record
    from heapsmith.api.tuning import tune

__version__ = "0.1.0"

__all__ = ["Design", "Trace", "build", "compare", "generate", "record", "report", "simulate", "tune", "verify"]

_HOMES = {
    "designs": ("Design", "generate", "build", "verify"),
    "models": ("simulate",),
    "programs": ("compare", "report"),
    "traces": ("Trace", "record"),
    "tuning": ("tune",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"heapsmith.api.{home}"), name)
            return value
    raise AttributeError(f"module 'heapsmith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
