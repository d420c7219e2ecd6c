"""Heap profiles become sizes and lifetimes; files of the real tools where these are there, else as they wrote them."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Answer

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.reader import verify
from heapsmith.model.trace.synth.fit import LivesFit
from heapsmith.model.trace.synth.profiles import SHORTEST, fit_profile

GPERFTOOLS = b"""heap profile:    201:   120000 [ 10501:   546800] @ heapprofile
     1:   100000 [     1:   100000] @ 0x55c4c5ce3224 0x7fd9c364524a
   200:    20000 [   500:    50000] @ 0x55c4c5ce31fd 0x7fd9c364524a
     0:        0 [ 10000:   396800] @ 0x55c4c5ce31ad 0x7fd9c364524a

MAPPED_LIBRARIES:
55c4c5ce2000-55c4c5ce3000 r--p 00000000 00:00 1 /a
"""
"""Written by libtcmalloc.so.4 of gperftools 2.10, for 10,000 short lives, 500 blocks of which 300 die, a large one."""

JEMALLOC = b"""heap_v2/1
  t*: 202: 219008 [10502: 729408]
  t0: 202: 219008 [10502: 729408]
@ 0x7fb74faa2630 0x5652610e8224
  t*: 1: 114688 [1: 114688]
  t0: 1: 114688 [1: 114688]
@ 0x7fb74faa2630 0x5652610e81fd
  t*: 200: 22400 [500: 56000]
  t0: 200: 22400 [500: 56000]
@ 0x7fb74faa2630 0x5652610e81ad
  t*: 0: 0 [10000: 476800]
  t0: 0: 0 [10000: 476800]
"""
"""Written by libjemalloc.so.2 of Debian (5.3.0) with prof_accum for the same program; one site by hand."""

DHAT = b"""{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":true,"tu":"instrs","Mtu":"Minstr"
,"tuth":500,"cmd":"./a","pid":2154,"te":1501838,"tg":1468200,"pps":
[{"tb":396800,"tbk":10000,"tl":811583,"mb":56,"mbk":1,"gb":0,"gbk":0,"eb":0,"ebk":0,"rb":0,"wb":240000,"fs":[1,2]}
,{"tb":50000,"tbk":500,"tl":19160800,"mb":50000,"mbk":500,"gb":50000,"gbk":500,"eb":20000,"ebk":200,"fs":[1,3]}]
,"ftbl":["[root]"]}"""
"""Written by valgrind --tool=dhat for the same program, cut."""


def fit_of(tmp_path: Path, content: bytes) -> LivesFit:
    """The fit of a profile with this content."""
    (tmp_path / "profile").write_bytes(content)
    fit = fit_profile(tmp_path / "profile")
    assert fit is not None
    return fit


@pytest.mark.parametrize(("content", "sizes"), [(GPERFTOOLS, [40, 100, 100_000]), (JEMALLOC, [48, 112, 114_688])])
def test_sites_by_littles_law(tmp_path: Path, content: bytes, sizes: list[int]) -> None:
    small, some, large = fit_of(tmp_path, content).phases[0].blocks
    assert [small.size, some.size, large.size] == sizes
    assert [small.weight, some.weight, large.weight] == [10_000, 500, 1]
    assert (small.lifetime, large.lifetime) == (SHORTEST, None)  # all die at once; all live for ever
    assert some.lifetime == pytest.approx(200 * 10_501 / 500)  # 200 live of a rate of 500 in 10,501


def test_dhat_tells_lifetimes(tmp_path: Path) -> None:
    fit = fit_of(tmp_path, DHAT)
    small, some = fit.phases[0].blocks
    assert small.lifetime == pytest.approx(811_583 / 1_501_838 * 10_500 / 10_000)
    assert some.lifetime == pytest.approx(19_160_800 / 1_501_838 * 10_500 / 500)


def test_samples_stand_for_all_blocks(tmp_path: Path) -> None:
    """By hand, from jeprof: a sampled block of n bytes stands for 1 / (1 - exp(-n / interval)) blocks."""
    fit = fit_of(tmp_path, b"heap_v2/1000\n  t*: 3: 300 [0: 0]\n@ 0x1\n  t*: 3: 300 [0: 0]\n")
    assert fit.phases[0].blocks[0].weight == pytest.approx(3 / (1 - 2.718281828459045 ** (-100 / 1000)))
    assert fit.phases[0].blocks[0].lifetime is None
    assert any("no totals" in line for line in fit.assumed)


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


@pytest.mark.parametrize("period", [b"", b"Z\x04\x08\x01\x10\x02`\x01", b"Z\x04\x08\x01\x10\x02`\x80\x80\x20"])
def test_pprof(tmp_path: Path, period: bytes) -> None:
    """By hand, from profile.proto: 400 blocks of 1,000 bytes, of which 100 are in use. Go's files begin with the
    period.
    """
    names = [b"", b"alloc_objects", b"count", b"alloc_space", b"bytes", b"inuse_objects", b"inuse_space"]
    kinds = [(1, 2), (3, 4), (5, 2), (6, 4)]
    message = b"".join(b"\x0a\x04\x08" + bytes([a]) + b"\x10" + bytes([b]) for a, b in kinds)
    values = b"".join(map(varint, (400, 400_000, 100, 100_000)))
    sample = b"\x12" + bytes([len(values)]) + values
    message += b"\x12" + bytes([len(sample)]) + sample
    message += b"".join(b"\x32" + bytes([len(name)]) + name for name in names)
    pytest.importorskip("google.protobuf")
    (blocks,) = fit_of(tmp_path, period + message).phases[0].blocks
    assert (blocks.size, blocks.weight, blocks.lifetime) == (1000, 400, 100)


def test_dhat_of_rust(tmp_path: Path) -> None:
    """The crate dhat writes the same fields under a mode of its own, and any order of fields is JSON."""
    rust = DHAT.replace(b'"heap"', b'"rust-heap"').replace(b'"dhatFileVersion":2,', b"")
    rust = rust.replace(b'"tuth"', b'"dhatFileVersion":2,"tuth"')
    assert fit_of(tmp_path, rust).phases == fit_of(tmp_path, DHAT).phases


HEADS = [b"heapprofile", b"heap_v2/1", b"heapz_v2/", b"heap/2"]


@pytest.mark.parametrize("head", [*(b"] @ " + head for head in HEADS), b"]"])
@pytest.mark.parametrize("end", [b"MAPPED_LIBRARIES:", b"--- Memory map: ---", b"Memory map:"])
@pytest.mark.parametrize("before", [b"", b"--- symbol\nbinary=/a\n0x1 f\n---\n--- heap\n"])
def test_older_heap_profiles_of_google(tmp_path: Path, head: bytes, end: bytes, before: bytes) -> None:
    """As google/pprof's legacy_profile.go reads them: kinds, comments, the begin of the map; what pprof --raw adds."""
    content = before + GPERFTOOLS.replace(b"] @ heapprofile", head).replace(b"MAPPED_LIBRARIES:", b"# x = 1\n" + end)
    assert fit_of(tmp_path, content).phases == fit_of(tmp_path, GPERFTOOLS).phases


def test_half_of_the_number_of_a_profile_of_kind_heap_is_the_interval(tmp_path: Path) -> None:
    new = fit_of(tmp_path, b"heap profile: 3: 300 [3: 300] @ heap_v2/1000\n3: 300 [3: 300] @ 0x1\n")
    old = fit_of(tmp_path, b"heap profile: 3: 300 [3: 300] @ heap/2000\n3: 300 [3: 300] @ 0x1\n#\t0x1\tmain.f+0x1\n")
    assert new.phases == old.phases
    assert new.phases[0].blocks[0].weight == pytest.approx(3 / (1 - 2.718281828459045 ** (-100 / 1000)))
    assert any("no totals" in line for line in new.assumed)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"heap_v2/1\n@ 0x1\n  t*: broken\n", "line 3: expected"),
        (b"heap profile: 1: 2 [ 3: 4] @ heapprofile\nbroken\n", "line 2: expected"),
        (b'{"dhatFileVersion":2,"mode":"copy","te":1,"pps":[]}', "mode 'copy'"),
        (b'{"dhatFileVersion":2,"mode":"heap","te":1,"pps":[]}', "has no blocks"),
        (
            b'{"dhatFileVersion":2,"mode":"rust-ad-hoc","te":1,"bklt":false,"pps":[]}',
            "mode 'rust-ad-hoc' of",
        ),
        (b'{"dhatFileVersion":2,"mode":"heap","te":1,"pps":[{"tb":-1,"tbk":1}]}', "Expected `float` >= 0"),
        (GPERFTOOLS.replace(b"heapprofile", b"growthz"), "line 1: a profile of kind 'growthz' has no sums of blocks"),
        (GPERFTOOLS.replace(b"heapprofile", b"fragmentationz"), "line 1: a profile of kind 'fragmentationz' has"),
        (GPERFTOOLS.replace(b"MAPPED_LIBRARIES:", b"OTHER:"), "line 6: expected"),
        (GPERFTOOLS.replace(b"500:    50000", b"500:    " + b"5" * 30), "line 3: expected"),
        (JEMALLOC + b"hello\n", "line 13: expected"),
        (JEMALLOC[: JEMALLOC.index(b"@ 0x7fb74faa2630 0x5652610e81fd")], "line 2: .* follow 1: the file is cut"),
        (b"desc: x\ncmd: y\n", "a massif profile"),
    ],
)
def test_a_wrong_profile_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        fit_of(tmp_path, content)


@pytest.mark.big
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_file_of_dhat(call: Callable[..., Answer], tmp_path: Path) -> None:
    out = tmp_path / "dhat.out"
    subprocess.run(["valgrind", "--tool=dhat", f"--dhat-out-file={out}", "ls", "/"], check=True, capture_output=True)
    answer = call("trace", "synth", "--like", out, "-o", tmp_path / "guess.hst", "--events", "5000")
    assert answer.status == 0, answer.err
    assert "lifetimes are exponential" in answer.out
    assert verify(tmp_path / "guess.hst").events == 5000
    refused = call("trace", "import", out, "-o", tmp_path / "no.hst")
    assert refused.status == 2
    assert "trace synth --like" in refused.err
