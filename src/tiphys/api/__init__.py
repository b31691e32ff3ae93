"""The HTTP service: Tiphys' own API, the Argo Server's API, metrics and documentation.

Turns requests into calls of ``control`` and ``service``, and their answers into JSON; decides
nothing itself. Loaded by ``tiphys server`` only.
"""
