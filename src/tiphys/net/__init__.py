"""Reaching out: requests to addresses that workflows name, under the rules for such addresses.

Below artifacts (which fetch and store) and runtimes (which run ``http`` templates), and used by
both. Errors are ``tiphys.errors.ArtifactError`` and its kin.
"""
