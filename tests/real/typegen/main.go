// typegen writes the facts that the embedded API server has about Kubernetes' built-in types:
//
//	go run . -out ../../../src/apiserver
//
// It reads what a Kubernetes release says about itself (api/openapi-spec and api/discovery of the
// module k8s.io/kubernetes, which the go command downloads and checks against its checksum database)
// and keeps names, types, merge keys and the like; field numbers of protobuf come from generated.proto,
// pointers from types.go. Descriptions are left out: ours are in
// src/apiserver/schema/builtin_descriptions.txt.
//
// Run by hand when the version that the server claims moves on; never in CI.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

const kubernetes = "k8s.io/kubernetes@v1.34.1"

// Where the same release keeps its Go types and their protobuf messages.
var typeModules = []string{"k8s.io/api@v0.34.1", "k8s.io/apimachinery@v0.34.1", "k8s.io/apiextensions-apiserver@v0.34.1"}

// What is served, by group and version. Subresources that need a kubelet (log, exec, proxy, …) or
// signing keys (serviceaccounts/token) are left out.
var served = []struct{ group, version, plurals string }{
	{"", "v1", "bindings configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims" +
		" persistentvolumes pods podtemplates replicationcontrollers resourcequotas secrets serviceaccounts services"},
	{"apps", "v1", "controllerrevisions daemonsets deployments replicasets statefulsets"},
	{"events.k8s.io", "v1", "events"},
	{"authentication.k8s.io", "v1", "selfsubjectreviews tokenreviews"},
	{"authorization.k8s.io", "v1", "localsubjectaccessreviews selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews"},
	{"batch", "v1", "cronjobs jobs"},
	{"networking.k8s.io", "v1", "networkpolicies"},
	{"policy", "v1", "poddisruptionbudgets"},
	{"rbac.authorization.k8s.io", "v1", "clusterrolebindings clusterroles rolebindings roles"},
	{"storage.k8s.io", "v1", "csinodes storageclasses"},
	{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations validatingadmissionpolicies" +
		" validatingadmissionpolicybindings validatingwebhookconfigurations"},
	{"apiextensions.k8s.io", "v1", "customresourcedefinitions"},
	{"scheduling.k8s.io", "v1", "priorityclasses"},
	{"coordination.k8s.io", "v1", "leases"},
	{"node.k8s.io", "v1", "runtimeclasses"},
	{"discovery.k8s.io", "v1", "endpointslices"},
	{"resource.k8s.io", "v1", "deviceclasses resourceclaims resourceclaimtemplates resourceslices"},
}

var servedSubresources = []string{"binding", "eviction", "finalize", "scale", "status"}

// Types that no served resource's object reaches.
var extraTypes = []string{
	"io.k8s.api.autoscaling.v1.Scale",
	"io.k8s.api.policy.v1.Eviction",
	"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
	"io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
	"io.k8s.apimachinery.pkg.apis.meta.v1.Status",
}

type schema struct {
	Ref                  string            `json:"$ref"`
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Properties           map[string]schema `json:"properties"`
	Required             []string          `json:"required"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	ListType             string            `json:"x-kubernetes-list-type"`
	ListMapKeys          []string          `json:"x-kubernetes-list-map-keys"`
	MapType              string            `json:"x-kubernetes-map-type"`
	PatchStrategy        string            `json:"x-kubernetes-patch-strategy"`
	PatchMergeKey        string            `json:"x-kubernetes-patch-merge-key"`
	Default              json.RawMessage   `json:"default"`
	Kinds                []struct {
		Group, Version, Kind string
	} `json:"x-kubernetes-group-version-kind"`
}

type resource struct {
	Name         string   `json:"name"`
	SingularName string   `json:"singularName"`
	Namespaced   bool     `json:"namespaced"`
	Kind         string   `json:"kind"`
	Verbs        []string `json:"verbs"`
	ShortNames   []string `json:"shortNames"`
	Categories   []string `json:"categories"`
}

func main() {
	out := flag.String("out", ".", "folder for builtin_types.txt and builtin_resources.txt")
	flag.Parse()
	module := moduleFolder(kubernetes)
	kinds := writeResources(module, filepath.Join(*out, "builtin_resources.txt"))
	writeTypes(module, kinds, filepath.Join(*out, "builtin_types.txt"))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func moduleFolder(name string) string {
	output := must(exec.Command("go", "mod", "download", "-json", name).Output())
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		log.Fatal(err)
	}
	return module.Dir
}

func readJSON(path string, into any) {
	if err := json.Unmarshal(must(os.ReadFile(path)), into); err != nil {
		log.Fatalf("%s: %v", path, err)
	}
}

func header(text *bytes.Buffer, what string) {
	fmt.Fprintf(text, "# %s of %s.\n# Generated by tests/real/typegen; do not edit.\n", what, kubernetes)
}

// writeResources returns the served kinds as "group/version/Kind".
func writeResources(module, path string) map[string]bool {
	var text bytes.Buffer
	header(&text, "Served resources")
	text.WriteString("# group version plural Kind singular scope verbs [short=] [categories=] [sub=]\n")
	kinds := map[string]bool{}
	for _, gv := range served {
		file := "apis__" + gv.group + "__" + gv.version + ".json"
		if gv.group == "" {
			file = "api__v1.json"
		}
		var list struct{ Resources []resource }
		readJSON(filepath.Join(module, "api/discovery", file), &list)
		for _, plural := range strings.Fields(gv.plurals) {
			text.WriteString(resourceLine(gv.group, gv.version, plural, list.Resources, kinds))
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
	return kinds
}

func resourceLine(group, version, plural string, all []resource, kinds map[string]bool) string {
	var subresources []string
	var line string
	for _, r := range all {
		if name, found := strings.CutPrefix(r.Name, plural+"/"); found && slices.Contains(servedSubresources, name) {
			subresources = append(subresources, name)
		}
		if r.Name != plural {
			continue
		}
		kinds[group+"/"+version+"/"+r.Kind] = true
		scope := "Cluster"
		if r.Namespaced {
			scope = "Namespaced"
		}
		sort.Strings(r.Verbs)
		line = fmt.Sprintf("%s %s %s %s %s %s %s", orDash(group), version, plural, r.Kind, r.SingularName, scope,
			verbs(r.Verbs))
		line += list(" short=", r.ShortNames) + list(" categories=", r.Categories)
	}
	if line == "" {
		log.Fatalf("no resource %s in %s/%s", plural, group, version)
	}
	sort.Strings(subresources)
	return line + list(" sub=", subresources) + "\n"
}

func verbs(v []string) string {
	switch text := strings.Join(v, ","); text {
	case "create,delete,deletecollection,get,list,patch,update,watch":
		return "all"
	default:
		return text
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func list(label string, values []string) string {
	if len(values) == 0 {
		return ""
	}
	return label + strings.Join(values, ",")
}

type generator struct {
	definitions map[string]schema
	wire        *wireFacts
	kinds       map[string]bool
	reached     map[string]bool
	text        bytes.Buffer
}

func writeTypes(module string, kinds map[string]bool, path string) {
	var document struct{ Definitions map[string]schema }
	readJSON(filepath.Join(module, "api/openapi-spec/swagger.json"), &document)
	g := &generator{definitions: document.Definitions, wire: readWireFacts(), kinds: kinds, reached: map[string]bool{}}
	g.takeDefaults(module)
	for name, definition := range document.Definitions {
		for _, kind := range definition.Kinds {
			if kinds[kind.Group+"/"+kind.Version+"/"+kind.Kind] {
				g.reach(name)
			}
		}
	}
	for _, name := range extraTypes {
		g.reach(name)
	}
	header(&g.text, "Types")
	g.text.WriteString("# type <name> [kind=group/version/Kind] [atomic] or: scalar <name> <type>\n" +
		"#  <field>[!: required][?: pointer][@protobuf number] <type> [list=map:keys|set|atomic] [patch=strategy[:key]] [atomic] [default=json]\n")
	for _, name := range sortedKeys(g.reached) {
		g.writeType(name)
	}
	if err := os.WriteFile(path, g.text.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// Only OpenAPI v3 tells defaults. Zero values say nothing and are left out.
func (g *generator) takeDefaults(module string) {
	for _, file := range must(filepath.Glob(filepath.Join(module, "api/openapi-spec/v3/*.json"))) {
		var document struct {
			Components struct{ Schemas map[string]schema }
		}
		readJSON(file, &document)
		for name, definition := range document.Components.Schemas {
			for field, property := range definition.Properties {
				text := string(property.Default)
				if text == "" || slices.Contains([]string{`{}`, `""`, `0`, `false`, `[]`}, text) {
					continue
				}
				if known, ok := g.definitions[name].Properties[field]; ok {
					known.Default = property.Default
					g.definitions[name].Properties[field] = known
				}
			}
		}
	}
}

func (g *generator) reach(name string) {
	if g.reached[name] {
		return
	}
	definition, known := g.definitions[name]
	if !known {
		log.Fatalf("no type %s", name)
	}
	g.reached[name] = true
	for _, property := range definition.Properties {
		g.reachFrom(&property)
	}
}

func (g *generator) reachFrom(s *schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		g.reach(strings.TrimPrefix(s.Ref, "#/definitions/"))
	}
	g.reachFrom(s.Items)
	g.reachFrom(s.AdditionalProperties)
}

// Types that are no plain struct: their JSON is what UnmarshalJSON makes of it.
var scalars = map[string]string{
	"io.k8s.apimachinery.pkg.api.resource.Quantity":                                         "quantity",
	"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":                                         "anyobject",
	"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime":                                        "date-time",
	"io.k8s.apimachinery.pkg.apis.meta.v1.Time":                                             "date-time",
	"io.k8s.apimachinery.pkg.runtime.RawExtension":                                          "anyobject",
	"io.k8s.apimachinery.pkg.util.intstr.IntOrString":                                       "int-or-string",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON":                         "any",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray":       "any",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool":        "any",
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "any",
}

func (g *generator) writeType(name string) {
	definition := g.definitions[name]
	if scalar, found := scalars[name]; found {
		fmt.Fprintf(&g.text, "scalar %s %s\n", short(name), scalar)
		return
	}
	fmt.Fprintf(&g.text, "type %s", short(name))
	// DeleteOptions is of every group: one entry is enough to know it by.
	for _, kind := range definition.Kinds[:min(1, len(definition.Kinds))] {
		fmt.Fprintf(&g.text, " kind=%s/%s/%s", kind.Group, kind.Version, kind.Kind)
	}
	if definition.MapType == "atomic" {
		g.text.WriteString(" atomic")
	}
	g.text.WriteString("\n")
	numbers := g.wire.numbers(name, definition.Properties)
	for _, field := range sortedKeys(definition.Properties) {
		property := definition.Properties[field]
		mark := ""
		if slices.Contains(definition.Required, field) {
			mark = "!"
		}
		if g.wire.pointers[name+"."+field] {
			mark += "?"
		}
		if number := numbers[field]; number != "" {
			mark += "@" + number
		}
		fmt.Fprintf(&g.text, " %s%s %s%s\n", field, mark, typeText(&property), facts(&property))
	}
}

func facts(s *schema) string {
	text := ""
	switch {
	case s.ListType == "map":
		text += " list=map:" + strings.Join(s.ListMapKeys, ",")
	case s.ListType != "":
		text += " list=" + s.ListType
	}
	if s.PatchStrategy != "" {
		text += " patch=" + s.PatchStrategy
		if s.PatchMergeKey != "" {
			text += ":" + s.PatchMergeKey
		}
	}
	if s.MapType == "atomic" {
		text += " atomic"
	}
	if s.Default != nil {
		text += " default=" + string(s.Default)
	}
	return text
}

func typeText(s *schema) string {
	switch {
	case s.Ref != "":
		return short(strings.TrimPrefix(s.Ref, "#/definitions/"))
	case s.Type == "array":
		return "[]" + typeText(s.Items)
	case s.Type == "object" && s.AdditionalProperties != nil:
		return "map[]" + typeText(s.AdditionalProperties)
	case s.Type == "object":
		return "anyobject"
	case s.Format != "":
		return s.Format // int32, int64, double, byte
	case s.Type == "":
		return "any"
	default:
		return s.Type // string, boolean, integer, number
	}
}

func short(name string) string {
	for _, prefix := range []string{"io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg.",
		"io.k8s.apiextensions-apiserver.pkg.apis."} {
		if rest, found := strings.CutPrefix(name, prefix); found {
			return rest
		}
	}
	return name
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
