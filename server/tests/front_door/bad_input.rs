//! What people get wrong in forms about machines: it is said beside the field, and nothing they typed is lost.
use crate::{
    harness::{Answer, Client, Form},
    machines_pages::{Stage, WEB},
};

const PAIR: &str = r#"[{"name": "web", "cpus": 2, "memory_mb": 2048}, {"name": "db", "cpus": 4, "memory_mb": 4096}]"#;

/// Sends a form with something wrong in it. It comes back with all that was typed, and with words beside `field`.
async fn refused(who: &Client, form: &str, typed: Form<'_>, status: u16, field: &str) -> (Answer, String) {
    let back = who.fill(form, typed).await.must(status);
    for (name, value) in typed {
        assert_eq!(back.field(name).as_deref(), Some(*value), "{form}: {name}");
    }
    let said = back.error_of(field);
    let said = said.unwrap_or_else(|| panic!("{form}: nothing beside {field}\n{}", back.text()));
    (back, said)
}

#[tokio::test]
async fn names_that_can_not_be_are_refused_beside_the_name() {
    let stage = Stage::set().await;
    let catalog = stage.catalog(stage.acme.id, "linux", false).await;
    let template = stage.template(catalog, "fedora", WEB, ("", "")).await;
    let (vapp, vm) = stage.vapp("shop", "builder").await;
    let (admin, provider) = (stage.app.sign_in("acme", "acme-admin").await, stage.app.provider().await);
    let (long, line) = ("x".repeat(129), "a\u{7}b");
    let deploy = format!("/tenant/acme/templates/{template}/deploy");
    let vapp = format!("/tenant/acme/vapps/{vapp}");
    let machines = [&deploy, "/tenant/acme/vapps/new", &format!("{vapp}/edit"), &format!("{vapp}/add")];
    for form in machines.into_iter().chain([format!("/tenant/acme/vms/{vm}/edit").as_str()]) {
        for name in ["", "  ", &long, line] {
            let (_, said) = refused(&admin, form, &[("name", name), ("description", "Kept")], 422, "name").await;
            assert!(
                said.contains("name is needed") || said.contains("128") || said.contains("line"),
                "{name:?}: {said}"
            );
        }
    }
    // these become namespaces and parts of addresses
    for form in ["/tenant/acme/vdcs/new", "/tenant/acme/catalogs/new"] {
        for name in ["", "my vdc", "-x", "ß", &long] {
            refused(&admin, form, &[("name", name), ("description", "Kept")], 422, "name").await;
        }
    }
    for id in ["", "Hub One", "hub_1", &"x".repeat(64)] {
        refused(&provider, "/provider/hubs/new", &[("id", id), ("description", "Kept")], 422, "id").await;
    }
    assert_eq!(stage.app.db.count("vapps").await, 1);
}

#[tokio::test]
async fn sizes_beyond_the_quota_are_said_beside_the_size_with_what_is_left() {
    let stage = Stage::set().await;
    let catalog = stage.catalog(stage.acme.id, "linux", false).await;
    let (one, two) =
        (stage.template(catalog, "one", WEB, ("", "")).await, stage.template(catalog, "two", PAIR, ("", "")).await);
    let limits = "vm_limit = 3, cpu_limit = 5, memory_limit_mb = 10240, storage_limit_mb = 51200";
    stage.app.db.execute(&format!("update vdcs set {limits}")).await;
    let builder = stage.app.sign_in("acme", "builder").await;
    let vdc = stage.acme.vdc("prod").to_string();
    let deploy = format!("/tenant/acme/templates/{one}/deploy");
    for (field, value, left) in
        [("cpus", "6", "5 of 5 vCPU left"), ("memory", "12", "10 of 10 GB left"), ("disk", "60", "50 of 50 GB left")]
    {
        let typed = [("name", "shop"), ("vdc", vdc.as_str()), (field, value)];
        let (_, said) = refused(&builder, &deploy, &typed, 409, field).await;
        assert!(said.contains(left), "{field}: {said}");
    }
    // several machines are counted together, and there it is the VDC that has no room
    let typed = [("name", "shop"), ("vdc", vdc.as_str())];
    let (_, said) = refused(&builder, &format!("/tenant/acme/templates/{two}/deploy"), &typed, 409, "vdc").await;
    assert!(said.contains("6 vCPU asked for") && said.contains("5 of 5 vCPU left"), "{said}");
    assert_eq!(stage.app.db.count("vapps").await, 0);

    let (vapp, vm) = stage.vapp("shop", "builder").await;
    let (_, said) =
        refused(&builder, &format!("/tenant/acme/vms/{vm}/resize"), &[("cpus", "8"), ("memory", "4")], 409, "cpus")
            .await;
    assert!(said.contains("6 vCPU asked for") && said.contains("3 of 5 vCPU left"), "{said}");
    let typed = [("name", "more"), ("cpus", "1"), ("memory", "8"), ("disk", "1")];
    let (_, said) = refused(&builder, &format!("/tenant/acme/vapps/{vapp}/add"), &typed, 409, "memory").await;
    assert!(said.contains("6 of 10 GB left"), "{said}");
    stage.app.db.execute("update vdcs set vm_limit = 1").await;
    let typed = [("name", "more"), ("cpus", "1"), ("memory", "1"), ("disk", "1")];
    refused(&builder, &format!("/tenant/acme/vapps/{vapp}/add"), &typed, 409, "name").await;
    assert_eq!(stage.app.db.text("select cpus_used || ' ' || vms_used from vdcs").await, "2 1");
}

#[tokio::test]
async fn what_a_guest_can_not_be_told_is_refused_beside_its_field() {
    let stage = Stage::set().await;
    let catalog = stage.catalog(stage.acme.id, "linux", false).await;
    let template = stage.template(catalog, "fedora", WEB, ("", "")).await;
    let builder = stage.app.sign_in("acme", "builder").await;
    let deploy = format!("/tenant/acme/templates/{template}/deploy");
    let vdc = stage.acme.vdc("prod").to_string();
    for data in ["#cloud-config\nusers: [", "#cloud-config\n- just\n- a list", "#cloud-config\na: b\n\tc: d"] {
        let typed = [("name", "shop"), ("vdc", vdc.as_str()), ("user_data", data)];
        refused(&builder, &deploy, &typed, 422, "user_data").await;
    }
    for keys in ["hello", "ssh-rsa not-base64", "ssh-ed25519"] {
        let typed = [("name", "shop"), ("vdc", vdc.as_str()), ("ssh_keys", keys)];
        refused(&builder, &deploy, &typed, 422, "ssh_keys").await;
    }
    for (field, value) in [
        ("cpus", "two"),
        ("cpus", "0"),
        ("cpus", "9999"),
        ("memory", "-1"),
        ("memory", "0"),
        ("disk", "1e12"),
        ("disk", "1"),
    ] {
        refused(&builder, &deploy, &[("name", "shop"), ("vdc", vdc.as_str()), (field, value)], 422, field).await;
    }
    // all of it at once
    let typed = [("name", ""), ("cpus", "x"), ("memory", "y"), ("vdc", "")];
    let (back, _) = refused(&builder, &deploy, &typed, 422, "name").await;
    assert!(["cpus", "memory", "vdc"].iter().all(|field| back.error_of(field).is_some()));
    assert_eq!(stage.app.db.count("vapps").await, 0);
}
