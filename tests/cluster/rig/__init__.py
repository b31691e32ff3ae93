"""A real Kubernetes on one machine, for tests and benchmarks: built from source, run on loopback.

Standard library only, because ``scripts/cluster`` runs it before anything is installed. It knows
nothing of Tiphys; the tests meet the cluster through its kubeconfig, as any user would.
"""
