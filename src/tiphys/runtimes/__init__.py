"""How one node runs: ``LocalRuntime`` runs it on this machine through the executor.

Implements ``ports.Runtime``; joined to the loop by ``control``. What a container engine would do
differently (making the view of the files) lies behind ``isolation`` in the executor's attempts.
"""
