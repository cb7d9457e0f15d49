// What a genuine kubelet runs its pods with: scripts/real-cluster builds each as its own module, with its own locks.
// There is no code here: the versions, and in go.sum their checksums.
module lockstep/tests/real/node

go 1.24

require (
	github.com/containerd/containerd/v2 v2.3.7
	github.com/opencontainers/runc v1.5.2
)
