"""Compile: the Python source of the model runs as it stands, or compiled by numba."""
