"""The types of a design's fields that name policies, made from the policy tables, and the row of a choice."""

from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

import msgspec

from heapsmith.model import policy
from heapsmith.model.design.spelled import forms
from heapsmith.model.policy.front.common import FrontPlan

SPELLER_OF = {row.Params: row for field in policy.TABLES for row in policy.choosable(field) if hasattr(row, "Params")}
"""The module of each struct of a policy's numbers: its row, or what spells such rows."""

_ROW_OF = {params: row for params, row in SPELLER_OF.items() if not hasattr(row, "SPELLS")}


def _choice_of(field: str) -> Any:
    """Return the type of a field that names a policy: the words of rows, and the Params of rows."""
    rows = policy.choosable(field)
    words = tuple(row.NAME for row in rows if row.NAME in forms(field)[0])
    params = tuple(row.Params for row in rows if hasattr(row, "Params"))
    return Union[(Literal[words], *params) if words else params]  # noqa: UP007 - from a table


if TYPE_CHECKING:
    Front: TypeAlias = msgspec.Struct
    Release: TypeAlias = msgspec.Struct
    Hardening: TypeAlias = msgspec.Struct
    Classifier: TypeAlias = str
    SlabChoice: TypeAlias = str
    Empties: TypeAlias = str | msgspec.Struct
    Remote: TypeAlias = str | msgspec.Struct
    Foreign: TypeAlias = str
    Prewarm: TypeAlias = msgspec.Struct
    SizeLookup: TypeAlias = msgspec.Struct
    Populate: TypeAlias = msgspec.Struct
    Growth: TypeAlias = msgspec.Struct
    Rounding: TypeAlias = msgspec.Struct
    BlockIndex: TypeAlias = str
    FreedBlocks: TypeAlias = str
    Counting: TypeAlias = str
    Crash: TypeAlias = str
    Learner: TypeAlias = msgspec.Struct
    Opening: TypeAlias = msgspec.Struct
    HugeCache: TypeAlias = msgspec.Struct
    SlabRecord: TypeAlias = msgspec.Struct
    Pool: TypeAlias = str
    Background: TypeAlias = msgspec.Struct
    Ownership: TypeAlias = str
    Unmapping: TypeAlias = msgspec.Struct
    Segregation: TypeAlias = msgspec.Struct
    Sampling: TypeAlias = msgspec.Struct
    Shards: TypeAlias = msgspec.Struct
    Heaps: TypeAlias = str
    Thp: TypeAlias = str
else:
    globals().update({field.title().replace("_", ""): _choice_of(field) for field in policy.NAMED})


def row_of(params: msgspec.Struct) -> ModuleType:
    """Return the row that serves where a design has these Params."""
    row = _ROW_OF.get(type(params))
    if row is None:
        row = SPELLER_OF[type(params)].row_of(params)
    return row


def derive_front(params: Front, stride: int) -> FrontPlan:
    """Return the plan of a front for a class of `stride` bytes."""
    plan: FrontPlan = SPELLER_OF[type(params)].derive(params, stride)
    return plan
