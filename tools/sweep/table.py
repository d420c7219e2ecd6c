"""The result of a sweep as one Parquet file, a row per design and trace."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

import heapsmith
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import staged
from heapsmith.model.memory.hardware import Hardware
from heapsmith.tools.sweep.grid import Variant
from heapsmith.tools.sweep.tasks import Found, Recording, Store, machine_hash, model_version


def require_parquet() -> None:
    """Raise Missing if pyarrow is not installed: before the work, not after it."""
    try:
        import pyarrow.parquet  # noqa: F401 - only whether it is there
    except ImportError:
        raise Missing("no package pyarrow, which writes Parquet: pip install 'heapsmith[sweep]'") from None


def write_table(
    out: Path, variants: Sequence[Variant], traces: Sequence[Recording], hardware: Hardware | None, store: Store
) -> int:
    """Write the rows of all designs on all traces to `out`, in this order; return their number.

    Rows are written by trace, so memory does not grow with the number of traces.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    about = {"heapsmith": heapsmith.__version__, "model": model_version()}
    schema = pa.schema([(name, _type(kind)) for name, kind in columns().items()], metadata=about)
    hashes = [design.hash() for design, _ in variants]
    with staged(out) as written, ParquetWriter(written, schema, compression="zstd") as writer:
        for trace in traces:
            rows = list(_rows(variants, hashes, trace, hardware, store))
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return len(variants) * len(traces)


def columns() -> dict[str, Any]:
    """Return the type of each column by its name."""
    texts = ("design", "design_hash", "choices", "trace", "trace_digest", "machine", "machine_hash", "model")
    return dict.fromkeys(texts, str) | {field.name: field.type for field in msgspec.structs.fields(Found)}


def _type(kind: Any) -> Any:
    import pyarrow as pa

    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    return kinds[kind] if kind in kinds else next(kinds[one] for one in kind.__args__ if one in kinds)


def _rows(
    variants: Sequence[Variant],
    hashes: Sequence[str],
    trace: Recording,
    hardware: Hardware | None,
    store: Store,
) -> Iterator[dict[str, Any]]:
    for (design, choices), design_hash in zip(variants, hashes, strict=True):
        found = store.get(store.key(design_hash, trace.digest))
        if found is None:
            raise CheckFailed(f"{design.name} on {trace.path}: its result has gone from the store; run the sweep again")
        yield {
            "design": design.name,
            "design_hash": design_hash,
            "choices": json.dumps(choices),
            "trace": trace.path.name,
            "trace_digest": trace.digest,
            "machine": hardware.name if hardware else None,
            "machine_hash": machine_hash(hardware),
            "model": model_version(),
            **msgspec.structs.asdict(found),
        }
