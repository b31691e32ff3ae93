"""Questions about expressions, and the Go program that answers them with Argo's own libraries."""
