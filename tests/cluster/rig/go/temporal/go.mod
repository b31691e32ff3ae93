// Built inside a copy of the module, by its own go.mod. Releases from 1.6 on need a second module of
// the same repository that is published nowhere.
module tiphys.dev/cluster/temporal

go 1.24.0

require github.com/temporalio/cli v1.5.1
