"""The table of live samples: filled, emptied, at its ends, over fork, by threads; and what each sample stands for."""

import ctypes
import math
import random

import numpy as np
import pytest
from samples_table import MOST_SAMPLES, MOST_SITES, PLACES, built, freed, home, live, seen, table, taken
from sanitized import THREAD, run_sanitized


@pytest.fixture(autouse=True)
def _empty() -> None:
    table().hs_samples_forget()


@pytest.mark.parametrize("seed", range(3))
def test_the_table_holds_what_a_dictionary_holds(seed: int) -> None:
    """Also blocks whose search begins at the table's last places and goes on at its first."""
    draw, held = random.Random(seed), dict[int, int]()
    at_end = [block for block in range(4096, 1 << 32, 4096) if home(block) >= PLACES - 2][:40]
    blocks = [*at_end, *(draw.randrange(1, 1 << 40) * 16 for _ in range(200))]
    assert len(at_end) == 40
    for _ in range(4000):
        block = draw.choice(blocks)
        if block in held:
            freed(block)
            del held[block]
        else:
            held[block] = draw.randrange(1, 10_000)
            taken(block, held[block])
    copy = seen()
    assert live(copy) == held
    assert copy["head"]["live"] == len(held)
    assert {home(block) for block in held} & {PLACES - 1, PLACES - 2}
    for block in list(held):
        freed(block)
    assert live(seen()) == {}
    assert np.abs(seen()["site"]["live_bytes"]).max() < 1e-3


def test_a_full_table_counts_what_it_drops() -> None:
    for block in range(1, MOST_SAMPLES + 101):
        taken(16 * block, 100)
    copy = seen()
    assert (copy["head"]["live"], copy["head"]["dropped"], copy["head"]["taken"]) == (
        MOST_SAMPLES,
        100,
        MOST_SAMPLES + 100,
    )
    assert copy["site"]["samples"].sum() == MOST_SAMPLES + 100  # what was allocated is known all the same
    freed(16 * (MOST_SAMPLES + 50))  # was dropped
    assert seen()["head"]["live"] == MOST_SAMPLES
    freed(16)
    taken(16 * (MOST_SAMPLES + 50), 7)
    assert live(seen())[16 * (MOST_SAMPLES + 50)] == 7
    assert seen()["head"]["dropped"] == 100


def test_stacks_without_room_are_of_site_0() -> None:
    for path in range(MOST_SITES + 50):
        taken(16, 100, path=path, bits=14)
    copy = seen()
    assert (copy["head"]["sites"], copy["head"]["unsited"]) == (MOST_SITES, 51)
    assert copy["site"]["samples"][0] == 51
    assert copy["site"]["depth"][0] == 0
    taken(16, 100, path=5, bits=14)  # is known
    assert seen()["head"]["unsited"] == 51


def test_stacks_are_known_while_their_table_grows() -> None:
    """Past 512, 1,024 and 2,048 of them; each is found again."""
    paths = 3000
    for _ in range(2):
        for path in range(paths):
            taken(16, 100, path=path, bits=12)
    copy = seen()
    assert copy["head"]["sites"] == 1 + paths
    assert copy["site"]["samples"][1 : 1 + paths].tolist() == [2] * paths


def test_a_stack_is_that_of_the_call() -> None:
    """The innermost frames are the calls of sample_below, each from one of two places."""
    for path in (0b000, 0b111, 0b101):
        taken(16 * (path + 1), 100, path=path, bits=3)
    sites = seen()["site"][1:4]
    assert len(set(sites["depth"].tolist())) == 1
    paths = [tuple(row[: int(sites["depth"][0])]) for row in sites["frame"].tolist()]
    differ = [at for at in range(len(paths[0])) if len({path[at] for path in paths}) > 1]
    assert len(differ) == 3
    other = paths[0][differ[0]]
    chosen = [["01"[path[at] == other] for at in differ] for path in paths]
    assert chosen[0] == [chosen[0][0]] * 3
    assert chosen[1] == [chosen[1][0]] * 3 != chosen[0]
    assert chosen[2] == [chosen[1][0], chosen[0][0], chosen[1][0]]  # the last bit is the outermost call


@pytest.mark.parametrize("size", [1, 7, 100, 4096, 524_288, 10_000_000, 40_000_000, 1 << 40])
def test_a_sample_stands_for_the_blocks_that_were_not_chosen(size: int) -> None:
    mean = 524_288
    taken(16, size, mean)
    (site,) = seen()["site"][seen()["site"]["samples"] > 0]
    share = -math.expm1(-size / mean)
    of = site["allocated"]
    assert of["blocks"] == pytest.approx(1 / share, rel=1e-9)
    assert of["bytes"] == site["live_bytes"] == pytest.approx(size / share, rel=1e-9)
    assert of["blocks_variance"] == pytest.approx((1 - share) / share**2, rel=1e-9, abs=1e-9)
    assert of["bytes_variance"] == pytest.approx(size**2 * (1 - share) / share**2, rel=1e-9, abs=1e-3)


def test_errno_and_unknown_blocks_are_left_alone() -> None:
    ctypes.set_errno(77)
    taken(16, 100)
    freed(32)
    freed(16)
    assert ctypes.get_errno() == 77
    taken(16, 100)
    taken(16, 200)  # its end was not told
    assert live(seen()) == {16: 200}


def test_a_block_that_moved_ends_its_own_sample_alone() -> None:
    """At its address may be another thread's block by then, which is a sample too."""
    taken(16, 100)
    first = table().hs_sample_number(16)
    taken(16, 200)
    second = table().hs_sample_number(16)
    table().hs_sample_moved(16, first)
    assert live(seen()) == {16: 200}
    table().hs_sample_moved(16, second)
    assert live(seen()) == {}
    assert table().hs_sample_number(16) > second > first > 0


@pytest.mark.thorough
def test_threads_and_children_of_fork() -> None:
    assert table().samples_of_threads() == 4 * 16
    assert table().samples_over_fork() == 20


@pytest.mark.thorough
def test_thread_sanitizer_sees_no_race() -> None:
    run_sanitized(built("samples-tsan", *THREAD.flags), THREAD, [])
