"""What several rooms of the benchmark's need: libraries of designs, bounded commands, rounds, units, whole files."""
