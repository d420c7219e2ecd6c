"""The command line of the laboratory: the benchmark, the model's validation and the experiments."""
