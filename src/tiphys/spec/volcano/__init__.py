"""Volcano's Jobs and JobFlows: checked, and turned into workflows that the one engine runs.

Loaded only when a file holds such a document; nothing else imports it at the start.
"""
