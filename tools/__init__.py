"""What a user runs: recordings, replays and runs of programs under any malloc, the forge and its report.

Each package imports only packages to its left: common, peers, record, sites, compare, knobs, top, replay, calibrate,
sweep, report, page, forge.
"""
