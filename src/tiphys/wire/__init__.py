"""The JSON shapes in which things leave Tiphys: Argo's, and its own."""
