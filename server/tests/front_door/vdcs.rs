//! VDCs, by an organization's administrator and by the provider.
use crate::harness::TestApp;
use domain::{quota, vapp, vdc};
use model::{Action, VdcId, quota::Amount, role::Predefined::*, vapp::VappSpec};
use store::Record;

const NEW: &str = "/tenant/acme/vdcs/new";

fn page(id: VdcId, rest: &str) -> String {
    format!("/tenant/acme/vdcs/{id}{rest}")
}

#[tokio::test]
async fn an_administrator_makes_a_vdc_within_what_the_organization_may_have() {
    let app = TestApp::start().await;
    app.org("acme").with(|spec| spec.limits.cpus = Some(16)).make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let typed = [
        ("name", "prod"),
        ("description", "What earns money"),
        ("allocation_model", "AllocationPool"),
        ("cpu_limit", "17"),
        ("memory_limit", "64"),
    ];
    let back = admin.fill(NEW, &typed).await.must(422);
    assert_eq!(back.error_of("cpu_limit").as_deref(), Some("acme may have 16 vCPU in all."));
    for (name, value) in typed {
        assert_eq!(back.field(name).as_deref(), Some(value), "{name}");
    }
    let made = admin.fill_page(&back, NEW, &[("cpu_limit", "16")]).await;
    admin
        .follow(made)
        .await
        .says("VDC prod is made.")
        .says("Allocation pool")
        .says("What earns money")
        .says("of 16 vCPU");
    assert_eq!(app.db.text("select namespace_name from vdcs").await, "vdc-acme-prod");
}

#[tokio::test]
async fn the_provider_makes_vdcs_for_any_organization_and_namespaces_never_meet() {
    let app = TestApp::start().await;
    let provider = app.provider().await;
    // both would be vdc-a-b-c
    for (org, name) in [("a-b", "c"), ("a", "b-c")] {
        let org = app.org(org).make().await;
        let new = format!("/provider/vdcs/new?org={}", org.id);
        provider.fill(&new, &[("name", name)]).await.must(303);
    }
    assert_eq!(app.db.text("select count(distinct namespace_name)::text from vdcs").await, "2");
}

#[tokio::test]
async fn a_taken_name_a_full_organization_and_missing_limits_are_said() {
    let app = TestApp::start().await;
    app.org("acme").with(|spec| spec.vdc_limit = Some(2)).vdc("prod").make().await;
    app.org("globex").vdc("dev").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let back = admin.fill(NEW, &[("name", "PROD"), ("description", "kept")]).await.must(409);
    assert_eq!(
        back.error_of("name").as_deref(),
        Some("Another VDC of this organization has that name. Choose another one.")
    );
    assert_eq!(back.field("description").as_deref(), Some("kept"));
    let back = admin.fill(NEW, &[("name", "dev"), ("allocation_model", "ReservationPool")]).await.must(422);
    for field in ["vm_limit", "cpu_limit", "memory_limit", "storage_limit"] {
        assert!(back.error_of(field).is_some(), "{field}");
    }
    assert!(
        admin
            .fill(NEW, &[("name", "dev"), ("allocation_model", "Gold")])
            .await
            .must(422)
            .error_of("allocation_model")
            .is_some()
    );
    let opened = admin.get(NEW).await.must(200);
    admin.fill_page(&opened, NEW, &[("name", "dev")]).await.must(303);
    admin.fill_page(&opened, NEW, &[("name", "third")]).await.must(409).says("acme has 2 of 2 VDCs");
    admin.get(NEW).await.must(200).says("Not now: acme has 2 of 2 VDCs.");
}

#[tokio::test]
async fn of_two_who_edit_a_vdc_the_second_sees_both_values() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let (first, second) = (app.sign_in("acme", "acme-admin").await, app.provider().await);
    let opened = second.get(&page(acme.vdc("prod"), "/edit")).await.must(200);
    // the provider may come by its own portal too
    let edit = format!("/provider/vdcs/{}/edit", acme.vdc("prod"));
    first.fill(&page(acme.vdc("prod"), "/edit"), &[("storage_limit", "100"), ("name", "production")]).await.must(303);
    let back = second.fill_page(&opened, &edit, &[("storage_limit", "200")]).await.must(409);
    let back = back.says("now “100 GB”, yours “200 GB”").says("now “production”, yours “prod”");
    second.fill_page(&back, &edit, &[]).await.must(303);
    let saved = vdc::get(&app.domain, &app.operator().await, acme.vdc("prod")).await.unwrap();
    assert_eq!((saved.name.as_str(), saved.limits.storage_mb), ("prod", Some(200 * 1024)));
    assert_eq!(saved.namespace_name, "vdc-acme-prod", "machines stay where they are");
}

#[tokio::test]
async fn a_vdc_is_disabled_enabled_and_deleted_when_it_is_empty() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let id = acme.vdc("prod");
    let off = admin.post(&page(id, "/disable"), &[]).await;
    admin.follow(off).await.says("VDC prod is disabled").says("nothing new can be made in it");
    admin.post(&page(id, "/disable"), &[]).await.must(409).says("It is disabled already.");
    admin.post(&page(id, "/enable"), &[]).await.must(303);
    admin.post(&page(id, "/enable"), &[]).await.must(409).says("It is enabled already.");

    let operator = app.operator().await;
    let one = Amount { vms: 1, cpus: 2, ..Amount::default() };
    let book = async |taking: bool| {
        let mut tx = app.domain.store.write(&operator).await.unwrap();
        let done = if taking {
            quota::reserve(&mut tx, id, None, &one).await
        } else {
            quota::release(&mut tx, id, None, &one).await
        };
        done.unwrap();
        tx.commit(Record::new(Action::VdcEdit, acme.id, id, "prod")).await.unwrap();
    };
    book(true).await;
    admin.post(&page(id, "/delete"), &[("name", "prod")]).await.must(409).says("It has 1 VM. Delete them first.");
    book(false).await;
    let spec = VappSpec { name: "empty".into(), ..VappSpec::default() };
    let administrator = app.db.text("select id::text from users where name = 'administrator'").await.parse().unwrap();
    let administrator = app.actor(administrator).await;
    let empty = vapp::compose(&app.domain, &administrator, id, spec, vapp::Guest::default()).await.unwrap().vapp;
    assert_eq!(app.db.count("vapps where owner_id is not null").await, 0, "the provider owns nothing of a tenant's");
    admin.post(&page(id, "/delete"), &[("name", "prod")]).await.must(409).says("It has 1 vApp. Delete them first.");
    vapp::delete(&app.domain, &operator, empty).await.unwrap();
    admin.post(&page(id, "/delete"), &[("name", "Prod")]).await.must(422).says("Type prod exactly.");
    let gone = admin.fill(&page(id, "/delete"), &[("name", "prod")]).await;
    admin.follow(gone).await.says("VDC prod is deleted.");
    for rest in ["", "/edit", "/delete"] {
        admin.get(&page(id, rest)).await.must(404);
    }
    let made = admin.fill(NEW, &[("name", "prod")]).await.must(303);
    assert_ne!(made.location(), page(id, ""));
}

#[tokio::test]
async fn who_may_only_look_finds_no_buttons() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").user("alice", VappUser).make().await;
    let alice = app.sign_in("acme", "alice").await;
    let list = alice.get("/tenant/acme/vdcs").await.must(200).says("prod").says_not("New VDC").says_not("Delete");
    assert!(!list.body.contains("/disable"), "no form for what can't be done");
    let seen = alice.get(&page(acme.vdc("prod"), "")).await.must(200).says("prod");
    assert_eq!(seen.link("Edit"), None);
    assert!(!seen.body.contains("/disable"));
}
