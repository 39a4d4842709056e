//! Roles: the predefined ones to look at, and an organization's own.
use crate::harness::{Client, TestApp};
use domain::{role, user};
use model::{
    Right, RoleId,
    role::{Predefined, Predefined::*},
    user::UserSpec,
};

const NEW: &str = "/tenant/acme/roles/new";

fn page(id: RoleId, rest: &str) -> String {
    format!("/tenant/acme/roles/{id}{rest}")
}

#[tokio::test]
async fn a_role_is_made_given_and_counts() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let rights = [("rights", Right::UserView.name()), ("rights", Right::AuditView.name())];
    let made = admin.fill(NEW, &[&[("name", "Auditors"), ("description", "look only")][..], &rights].concat()).await;
    let made = made.must(303);
    let id: RoleId = made.location().rsplit('/').next().unwrap().parse().unwrap();
    admin.follow(made).await.says("Auditors is made").says("2 of").says("Made in acme.");
    app.user(acme.id, "anna", id).await;
    let anna = app.sign_in("acme", "anna").await;
    anna.get("/tenant/acme/users").await.must(200);
    anna.get("/tenant/acme/users/new").await.must(403).says(Right::UserManage.name());
    anna.get("/tenant/acme/vdcs").await.must(403);
}

#[tokio::test]
async fn a_taken_or_predefined_name_and_missing_or_forbidden_rights_are_said_beside_their_fields() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    app.role(acme.id, "Auditors", &[Right::AuditView]).await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let typed = [("name", "AUDITORS"), ("description", "kept"), ("rights", Right::UserView.name())];
    let back = admin.fill(NEW, &typed).await.must(409);
    assert_eq!(back.error_of("name").as_deref(), Some("Another role has that name. Choose another one."));
    assert_eq!(back.field("description").as_deref(), Some("kept"));
    assert_eq!(back.field("rights").as_deref(), Some(Right::UserView.name()), "ticked boxes stay ticked");

    let back = admin.fill(NEW, &[("name", "vapp user"), ("rights", Right::UserView.name())]).await.must(422);
    assert!(back.error_of("name").unwrap().contains("predefined role"));
    admin.fill(NEW, &[("name", "Nothing")]).await.must(422).says("Choose at least one right.");
    admin.fill(NEW, &[("name", "Grab"), ("rights", Right::OrgCreate.name())]).await.must(422).says("is the provider's");
    admin.fill(NEW, &[("name", "Odd"), ("rights", "No such right")]).await.must(422);
    assert_eq!(app.db.count("roles where org_id is not null").await, 1);
}

#[tokio::test]
async fn of_two_who_edit_a_role_the_second_sees_both_values() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let id = app.role(acme.id, "Auditors", &[Right::AuditView]).await;
    let (first, second) = (app.sign_in("acme", "acme-admin").await, app.sign_in("acme", "acme-admin").await);
    let opened = second.get(&page(id, "/edit")).await.must(200);
    first.fill(&page(id, "/edit"), &[("name", "Inspectors")]).await.must(303);
    let back = second.fill_page(&opened, &page(id, "/edit"), &[("name", "Revisors")]).await.must(409);
    let back = back
        .says("Inspectors was changed by acme-admin while you were editing")
        .says("now “Inspectors”, yours “Revisors”");
    second.fill_page(&back, &page(id, "/edit"), &[]).await.must(303);
    second.get(&page(id, "")).await.must(200).says("Revisors");
}

#[tokio::test]
async fn a_role_goes_when_nobody_has_it_and_its_name_is_free_again() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let id = app.role(acme.id, "Auditors", &[Right::AuditView]).await;
    let anna = app.user(acme.id, "anna", id).await;
    let admin = app.sign_in("acme", "acme-admin").await;
    admin.post(&page(id, "/delete"), &[]).await.must(409).says("1 user has it. Give them another role first.");
    user::delete(&app.domain, &app.operator().await, anna, None).await.unwrap();
    let gone = admin.fill(&page(id, "/delete"), &[]).await;
    admin.follow(gone).await.says("Auditors is deleted.");
    for rest in ["", "/edit", "/delete"] {
        admin.get(&page(id, rest)).await.must(404);
    }
    admin.fill(NEW, &[("name", "auditors"), ("rights", Right::AuditView.name())]).await.must(303);
}

#[tokio::test]
async fn a_role_is_not_deleted_while_somebody_gives_it() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let operator = app.operator().await;
    for n in 0..8 {
        let id = app.role(acme.id, &format!("role-{n}"), &[Right::AuditView]).await;
        let now = user::get(&app.domain, &operator, acme.user("alice")).await.unwrap();
        let spec = UserSpec { role: id, ..UserSpec::from(&now) };
        let (given, gone) = tokio::join!(
            user::edit(&app.domain, &operator, now.id, now.version, spec),
            role::delete(&app.domain, &operator, id)
        );
        assert!(given.is_ok() != gone.is_ok(), "both or none: {given:?} {gone:?}");
    }
}

#[tokio::test]
async fn predefined_roles_are_the_same_for_everybody_and_stay() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let provider = app.provider().await;
    admin.get(&page(SystemAdministrator.id(), "")).await.must(404);
    assert!(!admin.get("/tenant/acme/roles").await.must(200).body.contains(SystemAdministrator.name()));
    provider.get("/provider/roles").await.must(200).says(SystemAdministrator.name());
    for predefined in Predefined::ALL {
        if predefined.provider_only() {
            continue; // tenants have nothing to do with it
        }
        admin.get(&page(predefined.id(), "")).await.must(200).says(predefined.name());
        for client in [&admin, &provider] {
            client
                .post(&page(predefined.id(), "/delete"), &[])
                .await
                .must(409)
                .says("Predefined roles are the same everywhere.");
            let edit = [("version", "1"), ("name", "Mine"), ("rights", Right::AuditView.name())];
            client.post(&page(predefined.id(), "/edit"), &edit).await.must(409);
        }
    }
    assert_eq!(app.db.count("roles where deleted_at is null").await, 7);
}

#[tokio::test]
async fn a_role_is_copied_as_far_as_it_can_be_given() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let own = app.role(acme.id, "Users", &[Right::RightView, Right::RoleManage, Right::VdcView]).await;
    app.user(acme.id, "maker", own).await;
    let maker = app.sign_in("acme", "maker").await;
    let form = maker.get(&format!("{NEW}?copy={}", OrganizationAdministrator.id())).await.must(200);
    let ticked: Vec<_> = form.form().into_iter().filter(|(name, _)| name == "rights").map(|(_, value)| value).collect();
    assert_eq!(ticked.len(), 3, "{ticked:?}");
    assert_eq!(form.field("name").as_deref(), Some("Copy of Organization Administrator"));
}

#[tokio::test]
async fn how_many_have_a_predefined_role_is_told_for_ones_own_organization() {
    let app = TestApp::start().await;
    app.org("acme").user("alice", VappUser).make().await;
    app.org("globex").user("bob", VappUser).user("carol", VappUser).make().await;
    let users = async |client: &Client, place: &str| {
        let csv = client.get(&format!("{place}/roles.csv?q=vApp+User")).await.must(200);
        csv.body.lines().nth(1).unwrap().split(',').nth(4).unwrap().to_owned()
    };
    let (admin, provider) = (app.sign_in("acme", "acme-admin").await, app.provider().await);
    assert_eq!(users(&admin, "/tenant/acme").await, "1");
    admin.get(&page(VappUser.id(), "")).await.must(200).says("1 user");
    assert_eq!(users(&provider, "/tenant/globex").await, "2");
    assert_eq!(users(&provider, "/provider").await, "3");
    let shown = provider.get(&format!("/provider/roles/{}", VappUser.id())).await.must(200);
    shown.says("3 users in all organizations");
}
