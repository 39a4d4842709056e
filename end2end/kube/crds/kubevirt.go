package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// kind is what KubeVirt's operator puts around a schema: its source has the schemas as text and the rest as code.
type kind struct {
	group, kind string
	// Stored first.
	versions string
	plural   string
	short    string
	cluster  bool
	status   bool
	// Columns that kubectl prints, as name:type:path.
	columns []string
}

const age = "Age:date:.metadata.creationTimestamp"

var kinds = []kind{
	{"kubevirt.io", "KubeVirt", "v1,v1alpha3", "kubevirts", "kv,kvs", false, true, []string{age, "Phase:string:.status.phase"}},
	{"kubevirt.io", "VirtualMachine", "v1,v1alpha3", "virtualmachines", "vm,vms", false, true, []string{
		age, "Status:string:.status.printableStatus", "Ready:string:.status.conditions[?(@.type=='Ready')].status"}},
	{"kubevirt.io", "VirtualMachineInstance", "v1,v1alpha3", "virtualmachineinstances", "vmi,vmis", false, false, []string{
		age, "Phase:string:.status.phase", "IP:string:.status.interfaces[0].ipAddress", "NodeName:string:.status.nodeName",
		"Ready:string:.status.conditions[?(@.type=='Ready')].status"}},
	{"kubevirt.io", "VirtualMachineInstanceMigration", "v1,v1alpha3", "virtualmachineinstancemigrations", "vmim,vmims", false, true, nil},
	{"snapshot.kubevirt.io", "VirtualMachineSnapshot", "v1beta1,v1alpha1", "virtualmachinesnapshots", "vmsnapshot,vmsnapshots", false, true, nil},
	{"snapshot.kubevirt.io", "VirtualMachineSnapshotContent", "v1beta1,v1alpha1", "virtualmachinesnapshotcontents", "vmsnapshotcontent,vmsnapshotcontents", false, true, nil},
	{"snapshot.kubevirt.io", "VirtualMachineRestore", "v1beta1,v1alpha1", "virtualmachinerestores", "vmrestore,vmrestores", false, true, nil},
	{"export.kubevirt.io", "VirtualMachineExport", "v1,v1beta1", "virtualmachineexports", "vmexport,vmexports", false, true, nil},
	{"clone.kubevirt.io", "VirtualMachineClone", "v1beta1,v1alpha1", "virtualmachineclones", "vmclone,vmclones", false, true, nil},
	{"instancetype.kubevirt.io", "VirtualMachineInstancetype", "v1beta1", "virtualmachineinstancetypes", "vminstancetype,vminstancetypes,vmf,vmfs", false, false, nil},
	{"instancetype.kubevirt.io", "VirtualMachineClusterInstancetype", "v1beta1", "virtualmachineclusterinstancetypes", "vmclusterinstancetype,vmclusterinstancetypes,vmcf,vmcfs", true, false, nil},
	{"instancetype.kubevirt.io", "VirtualMachinePreference", "v1beta1", "virtualmachinepreferences", "vmpref,vmprefs,vmp,vmps", false, false, nil},
	{"instancetype.kubevirt.io", "VirtualMachineClusterPreference", "v1beta1", "virtualmachineclusterpreferences", "vmcp,vmcps", true, false, nil},
	{"migrations.kubevirt.io", "MigrationPolicy", "v1alpha1", "migrationpolicies", "", true, true, nil},
}

func kubevirt(dir string) ([]object, error) {
	path := filepath.Join(dir, "pkg/virt-operator/resource/generate/components/validations_generated.go")
	schemas, err := stringMap(path, "CRDsValidation")
	if err != nil {
		return nil, err
	}
	var all []object
	for _, k := range kinds {
		var schema object
		singular := strings.ToLower(k.kind)
		if err := yaml.Unmarshal([]byte(schemas[singular]), &schema); err != nil {
			return nil, fmt.Errorf("%s: %w", singular, err)
		}
		if schema["openAPIV3Schema"] == nil {
			return nil, fmt.Errorf("there is no schema of %s", singular)
		}
		all = append(all, k.definition(schema))
	}
	return all, nil
}

func (k kind) definition(schema object) object {
	names := object{"plural": k.plural, "singular": strings.ToLower(k.kind), "kind": k.kind, "listKind": k.kind + "List"}
	if k.short != "" {
		names["shortNames"] = strings.Split(k.short, ",")
	}
	var columns []object
	for _, column := range k.columns {
		part := strings.SplitN(column, ":", 3)
		columns = append(columns, object{"name": part[0], "type": part[1], "jsonPath": part[2]})
	}
	var versions []object
	for i, name := range strings.Split(k.versions, ",") {
		version := object{"name": name, "served": true, "storage": i == 0, "schema": schema}
		if k.status {
			version["subresources"] = object{"status": object{}}
		}
		if columns != nil {
			version["additionalPrinterColumns"] = columns
		}
		versions = append(versions, version)
	}
	scope := "Namespaced"
	if k.cluster {
		scope = "Cluster"
	}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": k.plural + "." + k.group},
		"spec":     object{"group": k.group, "scope": scope, "names": names, "versions": versions},
	}
}
