// NVIDIA's upgrade library in a controller of its own, put together as the GPU Operator does it: the same watches, the
// same predicates, one reconcile at a time, and another one after two minutes in any case. It is what Lockstep is
// measured beside (make bench-upstream); the GPU Operator's other controllers are not part of it.
//
//	upstream-controller --kubeconfig FILE
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"
	"github.com/NVIDIA/k8s-operator-libs/pkg/upgrade"
	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	operatorNamespace = "gpu-operator"
	driverLabel       = "nvidia-driver-daemonset"
	validatorSelector = "app=nvidia-operator-validator"
	skipDrainSelector = "nvidia.com/gpu-driver-upgrade-drain.skip!=true"
	nextLook          = 2 * time.Minute
	shortestBackOff   = 100 * time.Millisecond
	longestBackOff    = 3 * time.Second
)

var policyKind = schema.GroupVersionKind{Group: "nvidia.com", Version: "v1", Kind: "ClusterPolicy"}

type reconciler struct {
	client  client.Client
	log     logr.Logger
	manager upgrade.ClusterUpgradeStateManager
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := newPolicy()
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	policy, err := readPolicy(object)
	if err != nil {
		return ctrl.Result{}, err
	}
	if policy == nil || !policy.AutoUpgrade {
		return ctrl.Result{}, nil
	}
	state, err := r.manager.BuildState(ctx, operatorNamespace, map[string]string{"app": driverLabel})
	if err != nil {
		r.log.Error(err, "cannot see the cluster's state")
		return ctrl.Result{}, err
	}
	// The GPU Operator asks for these for its metrics.
	_ = r.manager.GetUpgradesInProgress(ctx, state)
	if err := r.manager.ApplyState(ctx, state, policy); err != nil {
		r.log.Error(err, "cannot apply the cluster's state")
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: nextLook}, nil
}

func newPolicy() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(policyKind)
	return object
}

// readPolicy takes what the library wants to know, with the defaults that NVIDIA's resource definition sets.
func readPolicy(object *unstructured.Unstructured) (*v1alpha1.DriverUpgradePolicySpec, error) {
	field, found, err := unstructured.NestedMap(object.Object, "spec", "driver", "upgradePolicy")
	if err != nil || !found {
		return nil, err
	}
	text, err := json.Marshal(field)
	if err != nil {
		return nil, err
	}
	policy := &v1alpha1.DriverUpgradePolicySpec{}
	if err := json.Unmarshal(text, policy); err != nil {
		return nil, fmt.Errorf("upgradePolicy: %w", err)
	}
	if policy.DrainSpec == nil {
		policy.DrainSpec = &v1alpha1.DrainSpec{}
	}
	selectors := []string{skipDrainSelector}
	if policy.DrainSpec.PodSelector != "" {
		selectors = append([]string{policy.DrainSpec.PodSelector}, selectors...)
	}
	policy.DrainSpec.PodSelector = strings.Join(selectors, ",")
	return policy, nil
}

// usesGpu: the pods that the GPU Operator has the library delete.
func usesGpu(pod corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending {
		return false
	}
	for _, container := range pod.Spec.Containers {
		for _, list := range []corev1.ResourceList{container.Resources.Limits, container.Resources.Requests} {
			for name := range list {
				if strings.HasPrefix(string(name), "nvidia.com/gpu") || strings.HasPrefix(string(name), "nvidia.com/mig-") {
					return true
				}
			}
		}
	}
	return false
}

func (r *reconciler) watch(manager ctrl.Manager) error {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortestBackOff, longestBackOff)
	loop, err := controller.New("upgrade-controller", manager,
		controller.Options{Reconciler: r, MaxConcurrentReconciles: 1, RateLimiter: limiter})
	if err != nil {
		return err
	}
	err = loop.Watch(source.Kind(manager.GetCache(), newPolicy(),
		&handler.TypedEnqueueRequestForObject[*unstructured.Unstructured]{},
		predicate.TypedGenerationChangedPredicate[*unstructured.Unstructured]{}))
	if err != nil {
		return err
	}
	stateChanged := predicate.TypedFuncs[*corev1.Node]{
		UpdateFunc: func(change event.TypedUpdateEvent[*corev1.Node]) bool {
			key := upgrade.GetUpgradeStateLabelKey()
			return change.ObjectOld.Labels[key] != change.ObjectNew.Labels[key]
		},
	}
	err = loop.Watch(source.Kind(manager.GetCache(), &corev1.Node{},
		handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, _ *corev1.Node) []reconcile.Request {
			return r.allPolicies(ctx)
		}), stateChanged))
	if err != nil {
		return err
	}
	isDriver := predicate.NewTypedPredicateFuncs(func(set *appsv1.DaemonSet) bool {
		return set.GetLabels()["app"] == driverLabel
	})
	return loop.Watch(source.Kind(manager.GetCache(), &appsv1.DaemonSet{},
		handler.TypedEnqueueRequestsFromMapFunc(r.policiesOf),
		predicate.And[*appsv1.DaemonSet](predicate.TypedGenerationChangedPredicate[*appsv1.DaemonSet]{}, isDriver)))
}

func (r *reconciler) policiesOf(ctx context.Context, set *appsv1.DaemonSet) []reconcile.Request {
	for _, owner := range set.GetOwnerReferences() {
		if strings.HasPrefix(owner.APIVersion, policyKind.Group+"/") {
			return r.allPolicies(ctx)
		}
	}
	return nil
}

func (r *reconciler) allPolicies(ctx context.Context) []reconcile.Request {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(policyKind)
	if err := r.client.List(ctx, list); err != nil {
		r.log.Error(err, "cannot list the policies")
		return nil
	}
	requests := []reconcile.Request{}
	for _, policy := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: policy.GetName()}})
	}
	return requests
}

func run() error {
	// On a busy machine a lease that is renewed late is no reason to end: a cluster would start it again.
	lease, renewal := 60*time.Second, 55*time.Second
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics:                 metrics.Options{BindAddress: "0"},
		LeaderElection:          true,
		LeaderElectionID:        "53822513.nvidia.com",
		LeaderElectionNamespace: operatorNamespace,
		LeaseDuration:           &lease,
		RenewDeadline:           &renewal,
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{operatorNamespace: {}}},
		// The GPU Operator's client knows the policy's type and reads it from its cache; so does this one.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	upgrade.SetDriverName("gpu")
	log := ctrl.Log.WithName("controllers").WithName("Upgrade")
	states, err := upgrade.NewClusterUpgradeStateManager(log, manager.GetConfig(),
		manager.GetEventRecorderFor("nvidia-gpu-operator"))
	if err != nil {
		return err
	}
	states = states.WithPodDeletionEnabled(usesGpu).WithValidationEnabled(validatorSelector)
	if err := (&reconciler{manager.GetClient(), log, states}).watch(manager); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
