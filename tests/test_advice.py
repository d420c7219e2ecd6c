"""Libraries ask the system for the pages that the design wants: huge ones from its bytes on, none, or nothing."""

import msgspec
import pytest
from advice import wrong_advice
from loaded import checked_library

from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.hardening import full as hardening_full

HUGE_PAGE = 1 << 21
GROWN = {"thp": "grown", "thp_slabs_from_bytes": HUGE_PAGE, "thp_runs_from_bytes": HUGE_PAGE}
AT_ONCE = {"thp": "grown", "thp_slabs_from_bytes": 0, "thp_runs_from_bytes": 0}


@pytest.mark.parametrize(
    "fields",
    [
        {"thp": "always"},
        {"thp": "never"},
        {"thp": "system"},
        GROWN,
        AT_ONCE,
        AT_ONCE | {"thp_block_bytes": 4096},
        AT_ONCE | {"thp_block_bytes": 32_768},
        GROWN | {"hardening": hardening_full.Params()},
        GROWN | {"classifier": "class_region", "empties": "dedicated"},
    ],
    ids=lambda fields: "-".join(map(str, fields.values())),
)
def test_blocks_lie_on_the_pages_that_the_design_asks_for(fields: dict[str, object]) -> None:
    design: Design = msgspec.structs.replace(load("default"), name="advised", superslab_bytes=HUGE_PAGE, **fields)
    assert design.why_not_valid() is None
    assert wrong_advice(checked_library(design), make_plan(design)) is None
