"""The one Kubernetes client: asyncio over the standard library, loaded only where it is used.

Knows HTTP, TLS, kubeconfigs, watches and exec; knows nothing of workflows. Objects are plain JSON,
as the API server gives them; errors leave as ``ClusterError``. docs/adr/0008 says why it is ours.
"""
