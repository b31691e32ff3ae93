"""The small words of Kubernetes and Argo: quantities, durations, names and ids. Pure."""
