// The module as published lacks two files; the build completes a copy of it in ./source.
module tiphys.dev/cluster/argo

go 1.24.0

require github.com/argoproj/argo-workflows/v4 v4.0.2

replace github.com/argoproj/argo-workflows/v4 => ./source
