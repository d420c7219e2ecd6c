"""The laboratory, run from a checkout by make: programs, suites, experiments, gates. It is in no wheel.

Each package imports only packages to its left: common, peers, programs, validate, suite, experiments, attacks, soak,
studies, gates, commands.
"""
