"""No shards: one store and one transfer cache serve all heaps, under the pool lock."""

NAME = "off"
DEFAULT = True
OFF = True
LOCKED: tuple[str, ...] = ()
CACHED: tuple[str, ...] = ()
