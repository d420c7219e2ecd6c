"""Calibration: what each kind of event costs on this machine."""
