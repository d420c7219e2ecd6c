"""Whether a library serves a command that is measured under it: looks at its first runs, and refuses their figures."""

from heapsmith.model.errors import CheckFailed
from heapsmith.tools.common.served_share import Image, apart, did_the_work, sentences
from heapsmith.tools.peers.peers import Library

_MOST_RUNS = 10
_PART = 0.5
"""Once the looks have seen this part of the processor time that was used, they tell what the library served."""


class Served:
    """What the looks have seen so far of a command under a library."""

    def __init__(self, library: Library, command: str) -> None:
        self._library, self._command = library, command
        self._images: list[Image] = []
        self._used_s, self._runs = 0.0, 0

    def images(self) -> list[Image] | None:
        """Where the next run adds what it sees; None: it need not look."""
        is_wanted = self._library.path is not None and self._runs < _MOST_RUNS and not self._is_known()
        return self._images if is_wanted else None

    def ran(self, cpu_ns: int) -> None:
        """A run has ended; CheckFailed once it is known that the library did not serve what did the work."""
        self._used_s += cpu_ns / 1e9
        self._runs += 1
        if self._is_known():
            self.require()

    def require(self) -> None:
        """Raise CheckFailed if what was seen says that the library did not serve what did the work."""
        if did_the_work(found := apart(self._images)):
            raise CheckFailed(
                f"no verdict: {self._library.name} does not serve what {self._command} runs: {sentences(found)}"
            )

    def note(self) -> str:
        """The processes that it does not serve and that matter, or an empty text."""
        return sentences(apart(self._images))

    def seen(self) -> list[Image]:
        """What the looks have seen."""
        return self._images

    def _is_known(self) -> bool:
        seen_s = sum(one.cpu_s for one in self._images if one.has is not None)
        return self._runs > 0 and seen_s >= _PART * self._used_s
