"""Compile: one Python source of the model, run as it stands or compiled by numba."""
