"""Tables whose columns are missing, twice, of another type, or have values that no call has: one line each."""

import datetime
import decimal
import io
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from test_imports import events

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports import csv_table
from heapsmith.model.trace.imports.formats import import_trace

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

GOOD: dict[str, Any] = {"op": ["malloc"] * 3, "pointer": [16, 32, 48], "size": [8, 8, 8]}
DAY = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def bad(tmp_path: Path, columns: Any) -> str:
    """What the import of these columns says, behind the file's name."""
    file = tmp_path / "t.parquet"
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), file)
    with pytest.raises(BadInput, match=f"^{re.escape(str(file))}: ") as failed:
        import_trace(file, tmp_path / "out.hst")
    assert os.listdir(tmp_path) == ["t.parquet"]
    said = str(failed.value).removeprefix(f"{file}: ")
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    "columns",
    [
        {"pointer": [16], "size": [8]},
        {"op": ["malloc"], "size": [8]},
        {"x": [1]},
        {f"a{i}": [1] for i in range(99)},
        {},
    ],
)
def test_a_column_that_is_needed(tmp_path: Path, columns: dict[str, Any]) -> None:
    assert bad(tmp_path, columns).startswith("columns: expected op and pointer among them, got ")


def test_a_column_twice(tmp_path: Path) -> None:
    table = pa.Table.from_arrays(
        [pa.array(column) for column in (["malloc"], [16], [32])], ["op", "pointer", "pointer"]
    )
    assert bad(tmp_path, table) == "columns: expected one pointer, got 2"
    (tmp_path / "t.parquet").unlink()
    (tmp_path / "t.csv").write_text("op,pointer,size,size\nmalloc,16,8,8\n")
    with pytest.raises(BadInput, match=r"t\.csv: columns: expected one size, got 2"):
        import_trace(tmp_path / "t.csv", tmp_path / "out.hst")


@pytest.mark.parametrize("name", ["op", "caller"])
@pytest.mark.parametrize("value", [["malloc"], {"a": "malloc"}, 1.5, True, DAY])
def test_a_column_of_words(tmp_path: Path, name: str, value: object) -> None:
    said = bad(tmp_path, GOOD | {name: [value] * 3})
    assert said.startswith(f"column {name}: expected words, got ")


@pytest.mark.parametrize("name", ["pointer", "old_pointer", "size", "alignment", "thread", "time_ns", "processor"])
@pytest.mark.parametrize("value", [[1], {"a": 1}, True, DAY, b"1"])
def test_a_column_of_numbers(tmp_path: Path, name: str, value: object) -> None:
    said = bad(tmp_path, GOOD | {name: [value] * 3})
    assert said.startswith(f"column {name}: expected whole numbers, got ")


@pytest.mark.parametrize("value", [-8, 1.5, float("nan"), "x", decimal.Decimal("1.5"), 2**64 - 1])
def test_a_value_that_is_no_number_of_a_call(tmp_path: Path, value: object) -> None:
    column = [8 if not isinstance(value, str) else "8", 8 if not isinstance(value, str) else "8", value]
    kind = pa.uint64() if value == 2**64 - 1 else None
    said = bad(tmp_path, GOOD | {"size": pa.array(column, kind)})
    assert re.match(r"row 3: size: expected a (?:whole )?number from 0 to \d+, got ", said)


@pytest.mark.parametrize("op", [None, "", "MALLOC", "new"])
def test_an_operation_that_is_none(tmp_path: Path, op: str | None) -> None:
    said = bad(tmp_path, GOOD | {"op": pa.array(["malloc", op, "malloc"], pa.string())})
    assert said.startswith("row 2: op: expected one of malloc, ")


def test_no_rows(tmp_path: Path) -> None:
    empty = {"op": pa.array([], pa.string()), "pointer": pa.array([], pa.int64())}
    assert bad(tmp_path, empty) == "has no calls of malloc or free; expected Parquet with named columns"


def test_nested_columns_beside_are_passed_over(tmp_path: Path) -> None:
    """Words as numbers or bytes, whole numbers of any kind, and nulls are taken."""
    columns = GOOD | {"op": [b"malloc"] * 3, "pointer": ["0x10", "32", "48"], "size": pa.array([8.0, None, 7.0])}
    columns |= {"meta": [{"op": 1, "pointer": [2]}] * 3, "caller": pa.nulls(3)}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    import_trace(tmp_path / "t.parquet", tmp_path / "out.hst")
    assert events(tmp_path / "out.hst") == ["0 0 malloc 0 8 -", "0 0 malloc 1 0 -", "0 0 malloc 2 7 -"]


def test_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"\xef\xbb\xbfop,pointer,size\nmalloc,16,8\n")
    assert import_trace(tmp_path / "t", tmp_path / "out.hst").events == 1


@pytest.mark.parametrize(("wrong", "said"), [("malloc,1,1e3", "invalid value '1e3'"), ("malloc,1", "got 2: malloc,1")])
def test_rows_of_csv_are_read_by_this_thread(
    wrong: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of pyarrow that hold a file of Python abort the process as it ends. Rows are counted over blocks."""
    readers = set()

    class Noting(io.BufferedReader):
        def read(self, size: int | None = -1, /) -> bytes:
            readers.add(threading.get_ident())
            return super().read(size)

    monkeypatch.setattr(io, "BufferedReader", Noting)
    rows = [f"malloc,{16 * number},8" for number in range(1, 100_000)]
    file, out = tmp_path / "t.csv", tmp_path / "out.hst"
    file.write_text("\n".join(["op,pointer,size", *rows]))
    assert file.stat().st_size > 1 << 20
    assert import_trace(file, out).events == len(rows)
    rows[-2] = wrong
    file.write_text("\n".join(["op,pointer,size", *rows]))
    with pytest.raises(BadInput, match=rf"t\.csv: row {len(rows)}: .*{said}"):
        import_trace(file, out)
    assert readers == {threading.get_ident()}


def test_a_row_of_csv_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows end where blocks do not; each is read whole, and of a longer one than two blocks nothing is."""
    monkeypatch.setattr(csv_table, "_BLOCK_BYTES", 64)
    rows = [f"malloc,{1 + number},{16 + number}" for number in range(40)]
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(["op,pointer,size", *rows]))
    assert import_trace(path, tmp_path / "t.hst").events == len(rows)
    sizes = [int(size) for line in events(tmp_path / "t.hst") for size in re.findall(r"malloc \d+ (\d+)", line)]
    assert sizes == [16 + number for number in range(40)]
    path.write_text("\n".join(["op,pointer,size", *rows, f"malloc,{'7' * 200},1"]))
    with pytest.raises(BadInput, match=r"calls\.csv.*: expected rows of at most 64 bytes"):
        import_trace(path, tmp_path / "other.hst")
