"""Measurements: recordings, replays of traces under any malloc, the forge and its report.

Each package imports only packages to its left: common, peers, record, programs, replay, calibrate,
validate, suite, experiments, report, forge, gates.
"""
