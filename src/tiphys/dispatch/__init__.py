"""Whole workflows for other people's engines, and what those say of them."""
