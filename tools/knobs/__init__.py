"""Settings of other mallocs for a workload: advice from traces, and its measurement (docs/compare.md)."""
