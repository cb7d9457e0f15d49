// What scripts/real-tools builds, and whose resource definitions it takes: the versions, and in
// go.sum their checksums. There is no code here: each is used as its own module, with its own locks.
module lockstep/tests/real/tools

go 1.24

require (
	github.com/argoproj/argo-cd/v3 v3.5.6
	github.com/fluxcd/helm-controller v1.6.4
	github.com/fluxcd/kustomize-controller v1.9.5
	github.com/fluxcd/source-controller v1.9.5
	github.com/helmfile/helmfile v1.8.0
)
