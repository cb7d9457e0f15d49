package main

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
)

// What protobuf needs to know beyond OpenAPI. Keys are names as OpenAPI has them.
type wireFacts struct {
	messages map[string][]wireField
	pointers map[string]bool // "io.k8s.api.apps.v1.DeploymentSpec.replicas"
}

type wireField struct {
	name, number, message string // message: its type, when it is one
}

var (
	packageLine = regexp.MustCompile(`^package ([\w.]+);`)
	messageLine = regexp.MustCompile(`^message (\w+) \{`)
	fieldLine   = regexp.MustCompile(`^  (?:optional|repeated) ([\w.]+) (\w+) = (\d+);`)
	mapLine     = regexp.MustCompile(`^  map<string, ([\w.]+)> (\w+) = (\d+);`)
)

func readWireFacts() *wireFacts {
	facts := &wireFacts{messages: map[string][]wireField{}, pointers: map[string]bool{}}
	for _, module := range typeModules {
		root := moduleFolder(module)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "generated.proto" {
				name := facts.readProto(path)
				facts.readPointers(filepath.Dir(path), name)
			}
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	return facts
}

// "k8s.io.apiextensions_apiserver.pkg…": io.k8s.apiextensions-apiserver.pkg…
func openAPIName(protoPackage string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(protoPackage, "."), "k8s.io.")
	return "io.k8s." + strings.Replace(rest, "apiextensions_apiserver", "apiextensions-apiserver", 1)
}

func (f *wireFacts) readProto(path string) string {
	file := must(os.Open(path))
	defer file.Close()
	var name, message string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := lines.Text()
		if match := packageLine.FindStringSubmatch(line); match != nil {
			name = openAPIName(match[1])
		} else if match := messageLine.FindStringSubmatch(line); match != nil {
			message = name + "." + match[1]
			f.messages[message] = nil
		} else if match := fieldLine.FindStringSubmatch(line); match != nil {
			field := wireField{name: match[2], number: match[3]}
			if strings.HasPrefix(match[1], ".") {
				field.message = openAPIName(match[1])
			} else if first := match[1][0]; first >= 'A' && first <= 'Z' {
				field.message = name + "." + match[1]
			}
			f.messages[message] = append(f.messages[message], field)
		} else if match := mapLine.FindStringSubmatch(line); match != nil {
			f.messages[message] = append(f.messages[message], wireField{name: match[2], number: match[3]})
		}
	}
	return name
}

func (f *wireFacts) readPointers(folder, name string) {
	for _, path := range must(filepath.Glob(filepath.Join(folder, "*.go"))) {
		file := must(parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution))
		ast.Inspect(file, func(node ast.Node) bool {
			spec, isType := node.(*ast.TypeSpec)
			if !isType {
				return true
			}
			fields, isStruct := spec.Type.(*ast.StructType)
			if !isStruct {
				return false
			}
			for _, field := range fields.Fields.List {
				if _, isPointer := field.Type.(*ast.StarExpr); !isPointer || field.Tag == nil {
					continue
				}
				tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
				if key, _, _ := strings.Cut(tag, ","); key != "" {
					f.pointers[name+"."+spec.Name.Name+"."+key] = true
				}
			}
			return false
		})
	}
}

// numbers tells the field number of every property: "3", or "2.6" for field 6 of a message in field 2 that
// JSON has inline. What has none (apiVersion and kind) travels in the envelope.
func (f *wireFacts) numbers(name string, properties map[string]schema) map[string]string {
	numbers := map[string]string{}
	for _, field := range f.messages[name] {
		if property := propertyOf(field, properties); property != "" {
			numbers[property] = field.number
			continue
		}
		for _, inner := range f.messages[field.message] {
			if property := propertyOf(inner, properties); property != "" {
				numbers[property] = field.number + "." + inner.number
				if f.pointers[field.message+"."+property] {
					f.pointers[name+"."+property] = true
				}
			}
		}
	}
	for property := range properties {
		if numbers[property] == "" && property != "apiVersion" && property != "kind" && len(f.messages[name]) > 0 {
			log.Printf("no protobuf number for %s.%s", name, property)
		}
	}
	return numbers
}

// A few old messages write their fields with a capital.
func propertyOf(field wireField, properties map[string]schema) string {
	for property := range properties {
		if strings.EqualFold(property, field.name) {
			return property
		}
	}
	return ""
}
