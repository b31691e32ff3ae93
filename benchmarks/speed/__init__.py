"""Tiphys beside what a person would pick instead, in one run on one machine.

    python -m benchmarks.speed [--small] [--rounds 3] [--cases …] [--only …]

``case`` says what is run, ``peers`` who runs it and ``measure`` what it took; ``report`` turns the
measurements into benchmarks/RESULTS.md. Nothing here is imported by Tiphys, and nothing here
imports a peer: peers live in environments of their own, and what runs in those is in ``programs``.
"""
