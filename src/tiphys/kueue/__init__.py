"""Kueue admits whole workflows, layers or pods: gates, groups, Workloads. docs/kueue.md tells how.

``layer``, ``shape``, ``argo``, ``workload``, ``plan`` and ``inject`` are pure: objects in,
decisions out. ``webhook`` and ``controller`` talk to the cluster. Argo and Kueue stay as they are.
"""
