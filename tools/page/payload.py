"""The page's data: a JSON object and typed arrays, deflated, in base64."""

import base64
import zlib
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

WORD = 8
"""Arrays begin at multiples of this many bytes, as typed arrays of a browser must."""


class Payload:
    """Collects arrays; the JSON refers to each as {"array": [type, offset, length]}."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def array(self, values: npt.ArrayLike, kind: str) -> dict[str, list[Any]]:
        """Add numbers, flattened, as `kind`: u1, u2, u4 (clipped to their range) or f8."""
        numbers = np.asarray(values).ravel()
        if kind != "f8":
            numbers = np.clip(numbers, 0, np.iinfo(kind).max)
        raw = numbers.astype(f"<{kind}").tobytes()
        found = {"array": [kind, len(self._bytes), len(numbers)]}
        self._bytes += raw + bytes(-len(raw) % WORD)
        return found

    def shares(self, parts: npt.NDArray[np.int64], whole: int) -> dict[str, list[Any]]:
        """Add parts of a whole in 255ths; what is not 0 stays at least 1."""
        return self.array(-(-parts * 255 // max(1, whole)), "u1")

    def text(self, value: Any) -> str:
        """Return all as text: the length of the JSON in 8 bytes, the JSON, the arrays."""
        head = msgspec.json.encode(value)
        head += b" " * (-len(head) % WORD)
        packed = zlib.compress(len(head).to_bytes(WORD, "little") + head + bytes(self._bytes), 9)
        return base64.b64encode(packed).decode()
