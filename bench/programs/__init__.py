"""Programs for measurements: real programs, small C programs and their rows, and single runs."""
