module tiphys.dev/cluster/kueue

go 1.24.0

require sigs.k8s.io/kueue v0.16.2
