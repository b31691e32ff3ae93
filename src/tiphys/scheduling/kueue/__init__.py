"""Kueue's admission rules as pure functions: quotas in, admissions and preemptions out."""
