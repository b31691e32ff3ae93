"""Fakes that pass the contract suites of the real things, for tests of ours and of our users."""
