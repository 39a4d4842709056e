use super::*;
use serde_json::{Value, json};

fn read(objects: Value, parameters: Value) -> TemplateSpec {
    let object = json!({
        "metadata": {"name": "t", "namespace": "golden", "uid": "u", "annotations": {
            "openshift.io/display-name": "A template", "iconClass": "icon-fedora", "template.kubevirt.io/deprecated": "true"}},
        "objects": objects, "parameters": parameters,
    });
    of_template(&crate::templates::found(&object).expect("a template of VMs"), &Known::default())
}

fn vm(name: &str, domain: Value, volumes: Value, templates: Value) -> Value {
    json!({"kind": "VirtualMachine", "metadata": {"name": name}, "spec": {
        "dataVolumeTemplates": templates, "template": {"spec": {"domain": domain, "volumes": volumes}}}})
}

fn filled_from(spec: Value) -> TemplateSpec {
    let mut spec = spec;
    spec["storage"] = json!({"resources": {"requests": {"storage": "${SIZE}"}}});
    let templates = json!([{"metadata": {"name": "${NAME}"}, "spec": spec}]);
    let parameters = json!([
        {"name": "NAME", "generate": "expression", "from": "x"},
        {"name": "SIZE", "value": "10Gi"},
        {"name": "IMAGE", "required": true},
        {"name": "SPACE", "value": "images"},
        {"name": "PASSWORD", "generate": "expression", "from": "x"},
    ]);
    read(
        json!([vm("${NAME}", json!({}), json!([{"name": "root", "dataVolume": {"name": "${NAME}"}}]), templates)]),
        parameters,
    )
}

#[test]
fn a_machines_name_is_what_is_left_without_parameters() {
    assert_eq!(plain("${NAME}-web", "x"), "web");
    assert_eq!(plain("${NAME}", "fedora"), "fedora");
    assert_eq!(plain("db", "x"), "db");
}

#[test]
fn only_parameters_that_make_a_difference_are_asked_for_and_each_knows_what_fits() {
    let t = filled_from(json!({"sourceRef": {"namespace": "${SPACE}", "name": "${IMAGE}"}}));
    assert_eq!((t.obstacle.as_str(), t.title.as_str(), t.icon.as_str()), ("", "A template", "icon-fedora"));
    assert!(t.deprecated);
    let [size, image] = &t.parameters[..] else { panic!("{:?}", t.parameters) };
    assert_eq!((size.name.as_str(), size.takes, size.size), ("SIZE", Takes::Amount, true));
    assert_eq!((image.name.as_str(), image.takes, image.needed()), ("IMAGE", Takes::Name, true));
    // where images are is not for everybody to say
    assert_eq!(t.vms[0].asks.disks[0].image, "datasource/images/${IMAGE}");
    assert_eq!(t.vms[0].disks[0].size_mb, 10240);
}

#[test]
fn what_is_not_known_stands_in_the_way() {
    for (spec, why) in [
        (
            json!({"source": {"http": {"url": "ftp://example.org/x"}}}),
            "is filled from ftp://example.org/x, which is not known here",
        ),
        (json!({"source": {"vddk": {"url": "https://vcenter"}}}), "is filled from vddk, which is not known here"),
        (
            json!({"source": {"http": {"url": "https://${HOST}/x"}}}),
            "is filled from what HOST says, and nobody is asked for that",
        ),
        (
            json!({"source": {"pvc": {"namespace": "images", "name": "${NAME}"}}}),
            "is filled from what NAME says, and nobody is asked for that",
        ),
        (
            json!({"source": {"pvc": {"namespace": "${IMAGE}", "name": "x"}}}),
            "is filled from a namespace that the template leaves open",
        ),
    ] {
        assert_eq!(filled_from(spec).obstacle, format!("its disk root {why}"));
    }
    for spec in [json!({"source": {"blank": {}}}), json!({"source": {"http": {"url": "${IMAGE}"}}})] {
        assert_eq!(filled_from(spec).obstacle, "");
    }
}

#[test]
fn a_machine_that_starts_from_a_cd_can_t_be_made_and_one_with_a_cd_beside_its_system_can() {
    let cd = json!({"devices": {"disks": [{"name": "cd", "cdrom": {"bus": "sata"}}, {"name": "root", "disk": {}}]}});
    let volumes = json!([{"name": "cd", "containerDisk": {"image": "quay.io/drivers"}}, {"name": "root", "dataVolume": {"name": "r"}}]);
    let root = |source: Value| json!([{"metadata": {"name": "r"}, "spec": {"source": source, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}}]);
    let made = |source| read(json!([vm("w", cd.clone(), volumes.clone(), root(source))]), json!([]));
    assert_eq!(made(json!({"blank": {}})).obstacle, "it starts from a CD, and CDs of templates stay behind");
    let fine = made(json!({"pvc": {"namespace": "images", "name": "windows"}}));
    assert_eq!((fine.obstacle.as_str(), fine.vms[0].disks[0].image.as_str()), ("", "claim/images/windows"));
}

#[test]
fn machines_of_several_keep_the_parameters_of_their_names() {
    let two = json!([
        vm("${NAME}-${ENV}-web", json!({"cpu": {"sockets": "${{CPUS}}"}}), json!([]), json!([])),
        vm("${NAME}-${ENV}-db", json!({}), json!([]), json!([])),
    ]);
    let t = read(two, json!([{"name": "ENV", "value": "dev"}, {"name": "CPUS", "value": "2"}, {"name": "MOTD"}]));
    let names: Vec<&str> = t.vms.iter().map(|vm| vm.name.as_str()).collect();
    assert_eq!(names, ["dev-web", "dev-db"]);
    assert_eq!(
        t.parameters.iter().map(|p| (p.name.as_str(), p.size)).collect::<Vec<_>>(),
        [("ENV", false), ("CPUS", true)]
    );
    let given = Given::from([("ENV".to_owned(), "prod".to_owned()), ("CPUS".to_owned(), "8".to_owned())]);
    let filled: Vec<TemplateVm> = t.vms.iter().map(|vm| vm.filled(&t.parameters, &given)).collect();
    assert_eq!((filled[0].name.as_str(), filled[1].name.as_str(), filled[0].cpus), ("prod-web", "prod-db", 8));
}
