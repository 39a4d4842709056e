// Command crds writes the CustomResourceDefinitions of a hub into a folder, one file each. They are taken from the Go modules
// of the projects that define them, which it downloads by name, version and sum.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// module is where definitions come from. read gets the folder it was unpacked to.
type module struct {
	name, version, sum string
	read               func(dir string) ([]object, error)
}

type object = map[string]any

var modules = []module{
	{"kubevirt.io/kubevirt", "v1.9.0", "h1:eauQfI39dRALNciMIQtR7UsbTUjUft5V6IBO57Icl/k=", kubevirt},
	{"kubevirt.io/containerized-data-importer", "v1.65.0", "h1:V2Yc+D+WeZ3uUubzxuOvMiXe5puIyekY5498xBmG3hA=", importer},
	{"github.com/openshift/api", "v0.0.0-20250710004639-926605d3338b", "h1:A8OY6adT2aZNp7tsGsilHuQ3RqhzrFx5dzGr/UwXfJg=", files(
		"config/v1/zz_generated.crd-manifests/0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml",
		"config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_infrastructures-Default.crd.yaml",
		"config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_ingresses.crd.yaml",
		"route/v1/zz_generated.crd-manifests/routes.crd.yaml",
		"quota/v1/zz_generated.crd-manifests/0000_03_config-operator_01_clusterresourcequotas.crd.yaml",
	)},
	{"github.com/kubernetes-csi/external-snapshotter/client/v8", "v8.2.0", "h1:Q3jQ1NkFqv5o+F8dMmHd8SfEmlcwNeo1immFApntEwE=", files(
		"config/crd/snapshot.storage.k8s.io_volumesnapshotclasses.yaml",
		"config/crd/snapshot.storage.k8s.io_volumesnapshotcontents.yaml",
		"config/crd/snapshot.storage.k8s.io_volumesnapshots.yaml",
	)},
	{"github.com/k8snetworkplumbingwg/network-attachment-definition-client", "v1.7.7", "h1:z4P744DR+PIpkjwXSEc6TvN3L6LVzmUquFgmNm8wSUc=", files(
		"artifacts/networks-crd.yaml",
	)},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: crds FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, m := range modules {
		dir, err := download(m)
		if err != nil {
			return err
		}
		all, err := m.read(dir)
		if err != nil {
			return fmt.Errorf("%s %s: %w", m.name, m.version, err)
		}
		for _, crd := range all {
			name, _ := crd["metadata"].(object)["name"].(string)
			// bookkeeping of the generators; kept, it is refused or sent back as a warning
			delete(crd["metadata"].(object), "creationTimestamp")
			delete(crd, "status")
			text, err := json.Marshal(crd)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, name+".json"), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// download gets a module by the go command, which checks it against the public record of sums; ours is checked beside it.
func download(m module) (string, error) {
	command := exec.Command("go", "mod", "download", "-json", m.name+"@"+m.version)
	command.Dir = os.TempDir() // no go.mod of ours has a say in it
	said, err := command.Output()
	var got struct{ Dir, Sum, Error string }
	if e := json.Unmarshal(said, &got); e != nil || err != nil || got.Error != "" {
		return "", fmt.Errorf("%s %s cannot be downloaded: %s (%v)", m.name, m.version, got.Error, err)
	}
	if got.Sum != m.sum {
		return "", fmt.Errorf("%s %s has the sum %s and should have %s", m.name, m.version, got.Sum, m.sum)
	}
	return got.Dir, nil
}

func files(names ...string) func(string) ([]object, error) {
	return func(dir string) ([]object, error) {
		var all []object
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			crd, err := read(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, crd)
		}
		return all, nil
	}
}

// read gives the first definition in a text of YAML documents.
func read(text []byte) (object, error) {
	for _, part := range strings.Split("\n"+string(text), "\n---") {
		var crd object
		if err := yaml.Unmarshal([]byte(part), &crd); err != nil {
			return nil, err
		}
		if crd["kind"] == "CustomResourceDefinition" {
			return crd, nil
		}
	}
	return nil, fmt.Errorf("no CustomResourceDefinition in it")
}

// CDI has whole definitions in a map of its source.
func importer(dir string) ([]object, error) {
	texts, err := stringMap(filepath.Join(dir, "pkg/operator/resources/crds_generated.go"), "CDICRDs")
	if err != nil {
		return nil, err
	}
	var all []object
	for key, text := range texts {
		crd, err := read([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		all = append(all, crd)
	}
	return all, nil
}

// stringMap reads a variable of the type map[string]string from a Go file, without compiling it.
func stringMap(path, variable string) (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		value, ok := node.(*ast.ValueSpec)
		if !ok || value.Names[0].Name != variable || len(value.Values) != 1 {
			return true
		}
		literal, ok := value.Values[0].(*ast.CompositeLit)
		if !ok {
			return true
		}
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				found[text(pair.Key)] = text(pair.Value)
			}
		}
		return false
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no map %s", path, variable)
	}
	return found, nil
}

// text is a string literal, or several with a plus between them.
func text(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	}
	return ""
}
