"""Scheduling on a virtual clock: what-if runs, comparisons, and the check of test vectors."""
