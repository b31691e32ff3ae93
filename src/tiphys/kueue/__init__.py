"""Kueue admits whole workflows, layers or pods: gates, groups, Workloads. docs/kueue.md tells how.

``layer``, ``shape``, ``argo``, ``tiphys``, ``owner``, ``roster``, ``workload``, ``need``,
``plan``, ``inject`` and ``splice`` are pure: objects or text in, decisions or text out.
``webhook``, ``controller``, ``leader`` and ``herald`` talk to the cluster. Argo and Kueue stay as
they are.
"""
