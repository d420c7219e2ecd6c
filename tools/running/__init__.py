"""A process that already runs is held and recorded (docs/recorder.md)."""
