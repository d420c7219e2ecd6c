"""Programs to measure with: real ones, small C ones and their rows, and how a run of one is measured."""
