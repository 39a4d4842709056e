//! Organizations: made, changed and removed by the provider; a few things by themselves.
use crate::harness::{PASSWORD, TestApp};
use domain::{catalog, org, vdc};
use futures::future::join_all;
use model::{
    Error, OrgId,
    catalog::CatalogSpec,
    org::{OrgSpec, PROVIDER},
    role::Predefined::*,
    vdc::VdcSpec,
};

const NEW: &str = "/provider/organizations/new";

fn page(id: OrgId, rest: &str) -> String {
    format!("/provider/organizations/{id}{rest}")
}

#[tokio::test]
async fn an_organization_is_made_with_the_user_who_runs_it() {
    let app = TestApp::start().await;
    let provider = app.provider().await;
    let typed = [
        ("name", "acme"),
        ("display_name", "Acme & Söhne"),
        ("description", "Makes\r\nanvils"),
        ("vdc_limit", "4"),
        ("cpu_limit", "1,024"),
        ("memory_limit", "64"),
        ("admin_name", "wile"),
        ("admin_password", "roadrunner beep"),
    ];
    let made = provider.fill(NEW, &typed).await.must(303);
    let id: OrgId = made.location().rsplit('/').next().unwrap().parse().unwrap();
    provider.follow(made).await.says("acme is made. wile can sign in.").says("Acme & Söhne").says("Enabled");
    let saved = org::get(&app.domain, &app.operator().await, id).await.unwrap();
    assert_eq!(
        (saved.description.as_str(), saved.vdc_limit, saved.limits.cpus),
        ("Makes\nanvils", Some(4), Some(1024))
    );
    assert_eq!((saved.limits.memory_mb, saved.limits.vms), (Some(64 * 1024), None));
    let form = [("org", "acme"), ("user", "wile"), ("password", "roadrunner beep")];
    let wile = app.browser();
    assert_eq!(wile.post("/sign-in", &form).await.must(303).location(), "/tenant/acme");
    wile.get("/tenant/acme/organization/edit").await.must(200);
}

#[tokio::test]
async fn a_taken_name_is_said_beside_its_field_and_nothing_typed_is_lost() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let provider = app.provider().await;
    let typed = [
        ("name", "ACME"),
        ("display_name", "Another \"one\" <b>"),
        ("description", "two\nlines"),
        ("vm_limit", "12"),
        ("runtime_lease", "30"),
        ("admin_name", "boss"),
        ("admin_email", "boss@example.org"),
        ("admin_password", "a canary sings"),
    ];
    let before = app.db.count("organizations").await;
    let back = provider.fill(NEW, &typed).await.must(409);
    assert_eq!(back.error_of("name").as_deref(), Some("Another organization has that name. Choose another one."));
    for (name, value) in typed.into_iter().filter(|(name, _)| *name != "admin_password") {
        assert_eq!(back.field(name).as_deref(), Some(value), "{name}");
    }
    assert!(!back.body.contains("canary"), "a password comes back");
    assert_eq!(app.db.count("organizations").await, before);
    assert_eq!(app.db.count("users where name = 'boss'").await, 0, "all or nothing");
    let again = provider.fill_page(&back, NEW, &[("name", "acme-2"), ("admin_password", "a canary sings")]).await;
    provider.follow(again).await.says("acme-2 is made");
}

#[tokio::test]
async fn everything_wrong_with_a_form_is_said_at_once() {
    let app = TestApp::start().await;
    let provider = app.provider().await;
    let typed = [
        ("name", "no spaces"),
        ("vdc_limit", "-1"),
        ("cpu_limit", "many"),
        ("memory_limit", "99999999999999999999"),
        ("runtime_lease", "100000"),
        ("admin_name", "-x"),
        ("admin_email", "nowhere"),
        ("admin_password", "short"),
    ];
    let back = provider.fill(NEW, &typed).await.must(422);
    for (name, value) in typed {
        assert!(back.error_of(name).is_some(), "{name} has no error:\n{}", back.text());
        let kept = if name == "admin_password" { "" } else { value };
        assert_eq!(back.field(name).as_deref(), Some(kept), "{name}");
    }
    assert_eq!(app.db.count("organizations").await, 1);
}

#[tokio::test]
async fn of_two_who_edit_at_once_the_second_sees_both_values_and_decides() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let (first, second) = (app.provider().await, app.provider().await);
    let edit = page(acme.id, "/edit");
    let opened = second.get(&edit).await.must(200);
    first.fill(&edit, &[("display_name", "Acme One"), ("description", "by the first")]).await.must(303);
    let back = second.fill_page(&opened, &edit, &[("display_name", "Acme Two"), ("cpu_limit", "8")]).await.must(409);
    let back =
        back.says("acme was changed by administrator while you were editing").says("now “Acme One”, yours “Acme Two”");
    let back = back.says("now “no limit”, yours “8 vCPU”").says("administrator");
    assert_eq!(back.field("display_name").as_deref(), Some("Acme Two"), "what was typed stays");
    let saved = async || org::get(&app.domain, &app.operator().await, acme.id).await.unwrap();
    assert_eq!(saved().await.display_name, "Acme One", "nothing is saved yet");
    second.fill_page(&back, &edit, &[]).await.must(303);
    assert_eq!((saved().await.display_name.as_str(), saved().await.limits.cpus), ("Acme Two", Some(8)));
}

#[tokio::test]
async fn saves_of_the_same_version_at_the_same_moment_succeed_once() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let operator = app.operator().await;
    let saves = (0..6).map(|n| {
        let spec = OrgSpec { name: "acme".into(), display_name: format!("Acme {n}"), ..OrgSpec::default() };
        org::edit(&app.domain, &operator, acme.id, 1, spec)
    });
    let results = join_all(saves).await;
    let conflicts = results.iter().filter(|r| matches!(r, Err(Error::Conflict(_)))).count();
    assert_eq!((results.iter().filter(|r| r.is_ok()).count(), conflicts), (1, 5), "{results:?}");
}

#[tokio::test]
async fn an_organization_goes_when_it_is_disabled_and_empty_and_its_name_is_free_again() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let provider = app.provider().await;
    let member = app.sign_in("acme", "acme-admin").await;
    let delete = page(acme.id, "/delete");
    let typed = [("name", "acme")];
    provider.post(&delete, &typed).await.must(409).says("Disable it first.");
    provider.post(&page(acme.id, "/disable"), &[]).await.must(303);
    provider.post(&page(acme.id, "/disable"), &[]).await.must(409).says("It is disabled already.");
    provider.post(&delete, &typed).await.must(409).says("It has 1 VDC.");
    let (d, operator) = (&app.domain, app.operator().await);
    vdc::delete(d, &operator, acme.vdc("prod")).await.unwrap();
    let spec = CatalogSpec { name: "images".into(), ..CatalogSpec::default() };
    let images = catalog::create(d, &operator, acme.id, spec).await.unwrap();
    provider.post(&delete, &typed).await.must(409).says("It has 1 catalog. Delete them first.");
    catalog::delete(d, &operator, images.id).await.unwrap();
    let back = provider.post(&delete, &[("name", "acm")]).await.must(422);
    assert_eq!(back.error_of("name").as_deref(), Some("Type acme exactly. Nothing was deleted."));
    assert_eq!(back.field("name").as_deref(), Some("acm"));
    let gone = provider.post(&delete, &typed).await;
    provider.follow(gone).await.says("acme is deleted.");

    for path in [page(acme.id, ""), page(acme.id, "/edit"), "/tenant/acme".into()] {
        provider.get(&path).await.must(404);
    }
    provider.post(&page(acme.id, "/enable"), &[]).await.must(404);
    assert!(member.get("/tenant/acme").await.must(303).location().starts_with("/sign-in"));
    assert_eq!(app.db.count(&format!("audit where org_id = '{}'", acme.id)).await, 9, "its audit is kept");

    let new = [("name", "Acme"), ("admin_name", "acme-admin"), ("admin_password", PASSWORD)];
    let made = provider.fill(NEW, &new).await.must(303);
    assert_ne!(made.location(), page(acme.id, ""));
    app.sign_in("acme", "acme-admin").await;
}

#[tokio::test]
async fn a_disabled_organization_opens_again() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let provider = app.provider().await;
    provider.post(&page(acme.id, "/enable"), &[]).await.must(409).says("It is enabled already.");
    let off = provider.post(&page(acme.id, "/disable"), &[]).await;
    provider.follow(off).await.says("acme is disabled.").says("nobody can sign in");
    let form = [("org", "acme"), ("user", "acme-admin"), ("password", PASSWORD)];
    app.browser().post("/sign-in", &form).await.must(401);
    provider.post(&page(acme.id, "/enable"), &[]).await.must(303);
    app.browser().post("/sign-in", &form).await.must(303);
}

#[tokio::test]
async fn the_providers_own_organization_stays_as_it_is() {
    let app = TestApp::start().await;
    let provider = app.provider().await;
    let system = app.domain.store.provider_org().await.unwrap().unwrap().0;
    provider
        .post(&page(system, "/disable"), &[])
        .await
        .must(409)
        .says("The provider's own organization can't be disabled.");
    provider.post(&page(system, "/delete"), &[("name", PROVIDER)]).await.must(409);
    let rename = provider.fill(&page(system, "/edit"), &[("name", "Elsewhere")]).await.must(422);
    rename.says("The provider's own organization keeps its name.");
    provider.fill(&page(system, "/edit"), &[("display_name", "Our cloud")]).await.must(303);
    provider.get("/provider").await.must(200);
}

#[tokio::test]
async fn an_administrator_changes_the_words_about_the_organization_and_not_its_limits() {
    let app = TestApp::start().await;
    let acme = app.org("acme").with(|spec| spec.limits.cpus = Some(4)).make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let typed = [
        ("display_name", "Acme at large"),
        ("runtime_lease", "7"),
        ("name", "emca"),
        ("cpu_limit", "99"),
        ("vdc_limit", "99"),
    ];
    let saved = admin.fill("/tenant/acme/organization/edit", &typed).await;
    admin.follow(saved).await.says("The organization is saved.").says("Acme at large");
    let saved = org::get(&app.domain, &app.operator().await, acme.id).await.unwrap();
    assert_eq!((saved.name.as_str(), saved.limits.cpus, saved.vdc_limit), ("acme", Some(4), None));
    assert_eq!(saved.leases.runtime_s, Some(7 * 86_400));
}

#[tokio::test]
async fn the_last_vdc_an_organization_may_have_is_made_once_however_many_try() {
    let app = TestApp::start().await;
    let acme = app.org("acme").with(|spec| spec.vdc_limit = Some(3)).make().await;
    let operator = app.operator().await;
    let tries = (0..8).map(|n| {
        let spec = VdcSpec { name: format!("vdc-{n}"), ..VdcSpec::default() };
        vdc::create(&app.domain, &operator, acme.id, spec)
    });
    let results = join_all(tries).await;
    let refused = results.iter().filter(|r| matches!(r, Err(Error::OverQuota(_)))).count();
    assert_eq!((results.iter().filter(|r| r.is_ok()).count(), refused), (3, 5), "{results:?}");
}

#[tokio::test]
async fn an_organization_is_not_deleted_while_somebody_makes_a_vdc_in_it() {
    let app = TestApp::start().await;
    let operator = app.operator().await;
    for n in 0..8 {
        let acme = app.org(&format!("acme-{n}")).make().await;
        org::set_enabled(&app.domain, &operator, acme.id, false).await.unwrap();
        let spec = VdcSpec { name: "prod".into(), ..VdcSpec::default() };
        let (made, gone) = tokio::join!(
            vdc::create(&app.domain, &operator, acme.id, spec),
            org::delete(&app.domain, &operator, acme.id)
        );
        assert!(made.is_ok() != gone.is_ok(), "both or none: {made:?} {gone:?}");
    }
}

#[tokio::test]
async fn users_of_other_roles_see_the_organization_and_no_way_to_change_it() {
    let app = TestApp::start().await;
    app.org("acme").user("alice", VappUser).make().await;
    let alice = app.sign_in("acme", "alice").await;
    let seen = alice.get("/tenant/acme/organization").await.must(200);
    assert_eq!(seen.link("Edit"), None);
    alice.get("/tenant/acme/organization/edit").await.must(403).says("Organization: Edit Properties").says("vApp User");
}
