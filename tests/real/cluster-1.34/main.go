// kube-apiserver of Kubernetes 1.34: the oldest that serves resource.k8s.io/v1, with the taints of devices switched
// off, as they are before 1.36. Its etcd is the one of tests/real/cluster.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
}
