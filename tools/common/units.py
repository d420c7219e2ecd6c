"""Formats quantities with units for people."""

BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


def amount(size: float) -> str:
    """Bytes in the largest unit that leaves at least 1: 512 B, 1.5 KiB, 38.0 MiB."""
    unit = 0
    while abs(size) >= 1024 and unit < len(BINARY) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} B" if unit == 0 else f"{size:.1f} {BINARY[unit]}"


def span(time_s: float) -> str:
    """Seconds as a user plans them: 0.5 s, 45 s, 12 min, 2.5 h."""
    if time_s >= 2 * 3600:
        return f"{time_s / 3600:.1f} h"
    return f"{time_s / 60:.0f} min" if time_s >= 120 else f"{time_s:.{0 if time_s >= 1 else 1}f} s"


def duration(time_ns: float) -> str:
    """Nanoseconds in the largest unit that leaves at least 1: 5.3 ns, 1.25 ms, 12.10 s."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if time_ns >= scale:
            return f"{time_ns / scale:.2f} {unit}"
    return f"{time_ns:.1f} ns"
