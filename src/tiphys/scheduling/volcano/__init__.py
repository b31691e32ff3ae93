"""Volcano's scheduling rules as pure functions: a cluster in, moves out."""
