"""A process that already runs is held and recorded (docs/live.md)."""
