"""Sweeps: designs x traces, on local processes or a cluster, into one Parquet file."""
