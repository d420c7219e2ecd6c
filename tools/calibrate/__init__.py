"""Calibration: the cost of each kind of event on this machine."""
