"""Shards over every interleaving: a slab changes its shard, gives to two shards, and fork."""

import pytest
from interleave_mutants import RACE, Mutant
from test_interleave import Workshop, explore, fails

HANGS = "deadlock"
CASES = [
    ("change", [0, 1, 16], 17_000),
    ("across", [0x22], 2_500),
    ("fork_one", [1], 68_000),
    pytest.param("fork_both", [1], 559_000, marks=pytest.mark.big),
    ("fork_to_child", [1, 2], 67_000),
    ("handler", [0], 196_000),
    ("child_of_handler", [0], 63_000),
]
"""Case, every outcome, and transitions, as in test_interleave.py; alike for shards by thread and by class."""

MUTANTS = [
    Mutant(
        *("shards", "across", "5_slab_policies/shards/by_thread.h"),
        *("        shard_unlock(*held);\n    shard", "        ;\n    shard", HANGS),
    ),
    Mutant(
        "shards",
        "across",
        "5_slab_policies/remote/local_cache.c",
        "    shard_give_to(shard, held);",
        "    *held = shard;",
        RACE,
    ),
    Mutant("shards", "handler", "2_system/locks.c", "take_numbered(holds_none);", "take_numbered(true);", HANGS),
    Mutant("shards", "fork_one", "2_system/locks.c", "    release_numbered();\n", "", HANGS),
    Mutant("shards", "child_of_handler", "2_system/locks.c", "    forget_numbered();\n", "", HANGS),
    Mutant("class_shards", "across", "5_slab_policies/shards/by_class.h", "    shard_lock(shard);\n", "", RACE),
    Mutant("class_shards", "across", "5_slab_policies/shards/by_class.h", "    shard_unlock(held);\n", "", HANGS),
]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("interleave"))


@pytest.mark.parametrize("shards", ["shards", "class_shards"])
@pytest.mark.parametrize(("case", "outcomes", "transitions"), CASES)
def test_every_interleaving_of_shards(
    workshop: Workshop, shards: str, case: str, outcomes: list[int], transitions: int
) -> None:
    found = explore(workshop.program(shards), case)
    assert found.outcomes == outcomes, found
    assert found.transitions >= transitions, found


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{row.case}-{index}" for index, row in enumerate(MUTANTS)])
def test_a_mistake_with_shards_is_found(workshop: Workshop, mutant: Mutant) -> None:
    fails(workshop.mutant(mutant), mutant.case, mutant.words)
