"""What doctor reports: all it looks for, what is essential, and what is lacking where something is taken away."""

from pathlib import Path

import msgspec
import pytest

from heapsmith.codegen import built
from heapsmith.commands import results
from heapsmith.tools.report import doctor as examination
from heapsmith.tools.report.doctor import DoctorReport, doctor

for _package in ("pyarrow", "dask", "lz4", "google.protobuf"):
    pytest.importorskip(_package, reason="the doctor misses it too")

ESSENTIAL = {
    "kernel",
    "C library",
    "python",
    "gcc",
    "cache directory",
    "numpy",
    "numba",
    "msgspec",
    "tomlkit",
    "Jinja2",
    "typer",
}
OTHER = {
    "objdump",
    "objcopy",
    "addr2line",
    "clang",
    "valgrind",
    "invariant TSC",
    "overcommit",
    "transparent huge pages",
    "cores",
    "caches",
    "peers",
    "pyarrow",
    "dask",
    "lz4",
    "protobuf",
}


def found(report: DoctorReport, name: str) -> examination.Finding:
    (finding,) = [finding for finding in report.findings if finding.name == name]
    return finding


def test_a_machine_that_runs_the_tests_lacks_nothing() -> None:
    report = doctor()
    names = [finding.name for finding in report.findings]
    assert len(names) == len(set(names))
    assert {finding.name for finding in report.findings if finding.essential} >= ESSENTIAL
    assert {finding.name for finding in report.findings if not finding.essential} == OTHER
    assert report.lacking == []
    assert all(finding.found and finding.needed_for for finding in report.findings)
    assert "gcc" in found(report, "gcc").found
    assert msgspec.json.decode(msgspec.json.encode(report), type=DoctorReport) == report


def test_tools_that_are_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    report = doctor()
    assert report.lacking == ["gcc"]
    assert "gcc not found on PATH" in found(report, "gcc").found
    assert found(report, "objdump").found == "not found on PATH"
    assert not found(report, "valgrind").ok
    results.doctor(report)
    words = capsys.readouterr().out.partition("to install what is not there:\n")[2].split("\n")
    commands = ["gcc libc6-dev", "binutils", "clang", "valgrind"]
    assert words == [*(f"  apt install {packages}" for packages in commands), ""]


def test_without_gcc_a_wheel_of_a_platform_lacks_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(built, "PREBUILT", tmp_path)
    (tmp_path / "libdefault-0123.so").touch()
    report = doctor()
    assert report.lacking == []
    assert found(report, "gcc").needed_for == "build, and run and compare under other designs than default"


def test_a_compiler_without_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    complaint = "probe.c:1:10: fatal error: pthread.h: none"
    (tmp_path / "gcc").write_text(
        f"#!/bin/sh\n[ $1 = --version ] && echo gcc 0 && exit\necho '{complaint}' >&2\nexit 1\n"
    )
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    report = doctor()
    assert report.lacking == ["gcc"]
    assert "pthread.h: none" in found(report, "gcc").found


def test_a_system_of_musl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = "#!/bin/sh\n[ $1 = --version ] && echo gcc 14 && exit\necho x86_64-alpine-linux-musl\n"
    (tmp_path / "gcc").write_text(script)
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(examination.os, "confstr", lambda name: None)
    report = doctor()
    assert report.lacking == ["C library", "gcc"]
    assert "makes programs for musl (x86_64-alpine-linux-musl), which is not supported" in found(report, "gcc").found


def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    report = doctor()
    assert report.lacking == ["cache directory"]
    assert found(report, "cache directory").found == "/dev/null/cache/heapsmith: Not a directory; set XDG_CACHE_HOME"


def test_kernel_settings_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "thp").write_text("always [madvise] never\n")
    (tmp_path / "overcommit").write_text("2\n")
    monkeypatch.setattr(examination, "THP", tmp_path / "thp")
    monkeypatch.setattr(examination, "OVERCOMMIT", tmp_path / "overcommit")
    report = doctor()
    assert found(report, "transparent huge pages").found == "madvise"
    assert found(report, "overcommit").found.startswith("2 (never")
    assert not found(report, "overcommit").ok
    monkeypatch.setattr(examination, "THP", tmp_path / "none")
    assert found(doctor(), "transparent huge pages").found == "none"


def test_packages_are_those_the_distribution_requires(monkeypatch: pytest.MonkeyPatch) -> None:
    required = ["numpy>=2.0", "no.such-package >=1 ; python_version > '3'", 'pytest>=8 ; extra == "dev"']
    required += ['no-such-cluster[of] >=1; extra == "sweep"']
    monkeypatch.setattr(examination, "requires", lambda _: required)
    report = doctor()
    assert found(report, "numpy").ok
    assert report.lacking == ["no.such-package"]
    assert not found(report, "no-such-cluster").ok
    assert "pytest" not in [finding.name for finding in report.findings]
