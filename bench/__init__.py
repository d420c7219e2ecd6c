"""Measuring: recording programs, replaying traces against any malloc, the forge and its report."""
