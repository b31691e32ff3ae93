"""Tiphys: one helm for batch workflows."""

__version__ = "0.1.0.dev0"
