"""The JSON Schemas of TOML files: current, shipped, found by a language server from the first line of a file."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

import pytest

import heapsmith
from heapsmith.codegen.generate import contents
from heapsmith.commands.schemas import schema_of
from heapsmith.model.design.design import load
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.toml_text import SCHEMA_KINDS, schema_file, schema_line
from heapsmith.tools.calibrate.calibrate import write_machine
from heapsmith.tools.sweep.grid import variants

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
TAPLO, TOMBI = (shutil.which(tool, path=PATH) for tool in ("taplo", "tombi"))
with_taplo = pytest.mark.skipif(TAPLO is None, reason="needs taplo")

GRID = """base = "default"

[values]
slab_bytes = [65536, 131072]
front.capacity = [64, 256]
"release.kind" = ["keep"]
"""


def lint(*files: Path, cwd: Path) -> str:
    """What taplo says against files; empty if all are right."""
    done = subprocess.run([str(TAPLO), "lint", *map(str, files)], cwd=cwd, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == ("error" not in done.stderr), done.stderr
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_the_schemas_are_current(kind: str) -> None:
    assert json.loads(schema_file(kind).read_text()) == json.loads(json.dumps(schema_of(kind)))


def test_the_command_prints_schema_and_line(call: Any) -> None:
    assert json.loads(call("schema", "grid").out) == json.loads(schema_file("grid").read_text())
    assert call("schema", "design", "--line").out == schema_line("design")
    assert call("schema", "trace").status == 2


@with_taplo
def test_the_files_of_the_package_are_valid(tmp_path: Path) -> None:
    files = [*(ROOT / "model/designs").glob("*.toml"), *(ROOT / "model/machines").glob("*.toml")]
    assert len(files) > 40
    assert all(file.read_text().startswith("#:schema ../schemas/") for file in files)
    assert lint(*files, cwd=tmp_path) == ""


@with_taplo
def test_what_heapsmith_writes_is_valid_anywhere(tmp_path: Path) -> None:
    """In a folder whose name has a space, and from another folder."""
    folder = tmp_path / "my designs"
    design = heapsmith.Design.load("hot").save(folder / "a.toml")
    machine = folder / "b.toml"
    write_machine(machine, load_hardware("epyc"))
    grid = folder / "c.toml"
    grid.write_text(schema_line("grid") + GRID)
    assert len(variants([str(grid)])[0]) == 4
    assert lint(design, machine, grid, cwd=tmp_path) == ""
    assert heapsmith.Design.load(design) == heapsmith.Design.load("hot")


@pytest.mark.slow
def test_what_must_be_equal_everywhere_names_no_file() -> None:
    """The design beside the C is part of it, byte for byte."""
    assert b"#:schema" not in contents(load("hot"))["design.toml"]


@with_taplo
@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("design", 'name = "a"\nsizes = [16]\nslab_byte = 4096\n', "'slab_byte' was unexpected"),
        ("design", 'name = "a"\nsizes = ["16"]\n', "is not of type"),
        ("design", 'name = "a"\nsizes = [16]\nthp = "sometimes"\n', "sometimes"),
        ("design", 'name = "a"\n', '"sizes" is a required property'),
        ("machine", 'name = "a"\nl1 = { bytes = 1 }\n', '"ways" is a required property'),
        ("grid", "[values]\nslab_byte = [4096]\n", "slab_byte"),
        ("grid", "[values]\nslab_bytes = 4096\n", "4096"),
        ("grid", '[values]\n"fronts.capacity" = [1]\n', "fronts.capacity"),
    ],
)
def test_wrong_files_are_refused(kind: str, text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(schema_line(kind) + text)
    assert said in lint(file, cwd=tmp_path)


class Server:
    """A language server over its standard streams (JSON-RPC 2.0 with the headers of LSP 3.17)."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.requests = 0

    def send(self, **message: Any) -> None:
        """Send a message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request; return its result. What else the server says is left out, its own requests get nulls."""
        self.requests += 1
        self.send(method=method, params=params, id=self.requests)
        while (message := self._read()).get("id") != self.requests or "method" in message:
            if "id" in message:
                items = (message.get("params") or {}).get("items")
                self.send(id=message["id"], result=None if items is None else [None] * len(items))
        assert "error" not in message, message
        return message["result"]

    def _read(self) -> Any:
        assert self.process.stdout
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        assert length, "the server has ended"
        return json.loads(self.process.stdout.read(length))


@contextmanager
def serving(command: list[str], folder: Path) -> Iterator[Server]:
    """A language server that has been initialised for a folder."""
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as process:
        try:
            server = Server(process)
            folders = [{"uri": folder.as_uri() + "/", "name": "a"}]
            server.ask("initialize", processId=None, rootUri=None, capabilities={}, workspaceFolders=folders)
            server.send(method="initialized", params={})
            yield server
        finally:
            process.kill()


def has_server(command: list[str]) -> bool:
    """Whether the program is there, and was built with its language server (that of PyPI's taplo was not)."""
    try:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as it:
            try:
                it.wait(1)
            except subprocess.TimeoutExpired:
                return True
            finally:
                it.kill()
    except FileNotFoundError:
        pass
    return False


def completions(server: Server, about: dict[str, Any], **position: int) -> list[Any]:
    """What the server proposes; it answers null for as long as it reads the schema."""
    for _ in range(3000):
        if found := server.ask("textDocument/completion", **about, position=position):
            return list(found)
        time.sleep(0.1)
    raise AssertionError("the server proposes nothing")


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        pytest.param([str(TOMBI), "lsp", "--offline"], id="tombi"),
        pytest.param([str(TAPLO), "lsp", "stdio"], id="taplo", marks=pytest.mark.big),
    ],
)
def test_an_editor_completes_fields_and_values(command: list[str], tmp_path: Path) -> None:
    if not has_server(command):
        pytest.skip(f"needs the language server {' '.join(command)}")
    file = tmp_path / "a.toml"
    text = schema_line("design") + 'name = "a"\nsizes = [16]\n\nempties = ""\n'
    file.write_text(text)
    about = {"textDocument": {"uri": file.as_uri()}}
    with serving(command, tmp_path) as server:
        opened = about["textDocument"] | {"languageId": "toml", "version": 1, "text": text}
        server.send(method="textDocument/didOpen", params={"textDocument": opened})
        fields = completions(server, about, line=3, character=0)
        values = completions(server, about, line=4, character=11)
    assert {"slab_bytes", "front", "release"} <= {item["label"] for item in fields}
    assert {'"shared"', '"dedicated"'} <= {item["label"] for item in values}
    assert "a power of two, 4096 to 2097152" in json.dumps(fields)  # what the field is for
