// Built inside a copy of the module, by its own go.mod. v1.9.1 needs a second module of the same
// repository (cliext) that the module proxy does not have.
module tiphys.dev/cluster/temporal

go 1.24.0

require github.com/temporalio/cli v1.5.1
