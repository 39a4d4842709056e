//! Nobody gives what they have not got, becomes somebody stronger, or locks everybody out.
use crate::harness::TestApp;
use domain::user;
use futures::future::join_all;
use model::{
    Actor, Error, Right, UserId,
    role::Predefined::{self, *},
    user::UserSpec,
};

/// In acme somebody who manages users and roles, and may do nothing else.
async fn with_manager(app: &TestApp) -> crate::harness::TestOrg {
    let acme = app.org("acme").user("alice", ConsoleAccessOnly).make().await;
    let rights = [Right::UserView, Right::UserManage, Right::RightView, Right::RoleManage];
    let role = app.role(acme.id, "Managers", &rights).await;
    app.user(acme.id, "manager", role).await;
    acme
}

#[tokio::test]
async fn nobody_gives_a_role_with_more_rights_than_their_own() {
    let app = TestApp::start().await;
    let acme = with_manager(&app).await;
    let manager = app.sign_in("acme", "manager").await;
    let edit = format!("/tenant/acme/users/{}/edit", acme.user("alice"));
    let offered = manager.get(&edit).await.must(200).choices("role");
    assert!(!offered.contains(&OrganizationAdministrator.id().to_string()), "{offered:?}");
    for role in [OrganizationAdministrator, VappUser, SystemAdministrator] {
        let back = manager.fill(&edit, &[("role", &role.id().to_string())]).await.must(422);
        assert!(back.error_of("role").is_some(), "{}", back.text());
        let new = [("name", "mole"), ("password", crate::harness::PASSWORD), ("role", &role.id().to_string())];
        let back = manager.fill("/tenant/acme/users/new", &new).await.must(422);
        assert!(back.error_of("role").is_some(), "{}", back.text());
    }
    assert_eq!(app.db.count("users where name = 'mole'").await, 0);
}

#[tokio::test]
async fn nobody_puts_a_right_into_a_role_that_they_have_not_got() {
    let app = TestApp::start().await;
    let acme = with_manager(&app).await;
    let manager = app.sign_in("acme", "manager").await;
    let form = [("name", "Own"), ("rights", Right::UserView.name()), ("rights", Right::AuditView.name())];
    manager.fill("/tenant/acme/roles/new", &form).await.must(422).says("you have not got it yourself");
    let own = app.db.text("select id::text from roles where name = 'Managers'").await;
    let edit = format!("/tenant/acme/roles/{own}/edit");
    let back = manager.fill(&edit, &[("rights", Right::AuditView.name())]).await.must(422);
    back.says("you have not got it yourself");
    // a role that somebody stronger made keeps what it has, and gets no more
    let strong = app.role(acme.id, "Strong", &[Right::VdcView, Right::UserView]).await;
    let edit = format!("/tenant/acme/roles/{strong}/edit");
    let opened = manager.get(&edit).await.must(200);
    manager.fill_page(&opened, &edit, &[("name", "Stronger")]).await.must(303);
}

#[tokio::test]
async fn a_tenant_never_gets_a_right_or_a_role_of_the_providers() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let globex = app.org("globex").make().await;
    let foreign = app.role(globex.id, "Theirs", &[Right::VdcView]).await;
    let (admin, provider) = (app.sign_in("acme", "acme-admin").await, app.provider().await);
    let edit = format!("/tenant/acme/users/{}/edit", acme.user("alice"));
    for client in [&admin, &provider] {
        for role in [SystemAdministrator.id(), foreign] {
            let back = client.fill(&edit, &[("role", &role.to_string())]).await.must(422);
            assert_eq!(back.error_of("role").as_deref(), Some("Choose a role of this organization."));
        }
        let form = [("name", "Grab"), ("rights", Right::OrgDelete.name())];
        client.fill("/tenant/acme/roles/new", &form).await.must(422).says("is the provider's");
    }
    // whatever the table came to hold
    app.db
        .execute(&format!(
            "insert into role_rights select '{}', name from rights on conflict do nothing",
            VappUser.id()
        ))
        .await;
    let alice = app.sign_in("acme", "alice").await;
    alice.get("/provider/organizations").await.must(404);
    alice.get("/profile").await.must(200).says_not(Right::OrgDelete.name());
}

#[tokio::test]
async fn nobody_sets_the_password_of_somebody_stronger() {
    let app = TestApp::start().await;
    let acme = with_manager(&app).await;
    let manager = app.sign_in("acme", "manager").await;
    let set = async |user: UserId| {
        let form = [("password", "staple battery horse")];
        manager.post(&format!("/tenant/acme/users/{user}/password"), &form).await
    };
    set(acme.admin()).await.must(409).says("acme-admin has rights that you have not got.");
    set(acme.user("alice")).await.must(409);
    app.sign_in("acme", "acme-admin").await;
    let equal = app.db.text("select id::text from roles where name = 'Managers'").await.parse().unwrap();
    let peer = app.user(acme.id, "peer", equal).await;
    set(peer).await.must(303);
}

#[tokio::test]
async fn the_last_administrator_stays() {
    let app = TestApp::start().await;
    let acme = with_manager(&app).await;
    let (manager, provider) = (app.sign_in("acme", "manager").await, app.provider().await);
    let last = acme.admin();
    let page = |rest: &str| format!("/tenant/acme/users/{last}{rest}");
    let said = "acme-admin is the last enabled administrator of acme. Make somebody else an administrator first.";
    for client in [&manager, &provider] {
        client.post(&page("/disable"), &[]).await.must(409).says(said);
        client.post(&page("/delete"), &[]).await.must(409).says(said);
    }
    provider.fill(&page("/edit"), &[("role", &VappUser.id().to_string())]).await.must(409).says(said);
    // one who can't sign in does not count
    let second = app.user(acme.id, "second", OrganizationAdministrator.id()).await;
    let operator = app.operator().await;
    user::set_enabled(&app.domain, &operator, second, false).await.unwrap();
    provider.post(&page("/disable"), &[]).await.must(409).says(said);
    user::set_enabled(&app.domain, &operator, second, true).await.unwrap();
    provider.post(&page("/disable"), &[]).await.must(303);
}

#[tokio::test]
async fn the_last_system_administrator_stays_even_where_somebody_administers_the_providers_organization() {
    let app = TestApp::start().await;
    let system = app.domain.store.provider_org().await.unwrap().unwrap().0;
    app.user(system, "clerk", OrganizationAdministrator.id()).await;
    let clerk = app.sign_in(model::org::PROVIDER, "clerk").await;
    let last = app.db.text("select id::text from users where name = 'administrator'").await;
    let page = |rest: &str| format!("/provider/users/{last}{rest}");
    for rest in ["/disable", "/delete"] {
        clerk.post(&page(rest), &[]).await.must(409).says("is the last enabled administrator of System");
    }
    clerk.fill(&page("/edit"), &[("role", &VappUser.id().to_string())]).await.must(409);
    app.provider().await;
}

#[tokio::test]
async fn administrators_who_remove_each_other_at_the_same_moment_leave_one() {
    let app = TestApp::start().await;
    for round in 0..4 {
        let acme = app.org(&format!("acme-{round}")).user("second", OrganizationAdministrator).make().await;
        let (one, two) = (acme.admin(), acme.user("second"));
        let (first, second) = (app.actor(one).await, app.actor(two).await);
        let remove = async |actor: &Actor, whom: UserId| -> Result<(), Error> {
            match round {
                0 => user::set_enabled(&app.domain, actor, whom, false).await.map(|_| ()),
                1 => user::delete(&app.domain, actor, whom, None).await.map(|_| ()),
                _ => {
                    let now = user::get(&app.domain, actor, whom).await?;
                    let spec = UserSpec { role: Predefined::VappUser.id(), ..UserSpec::from(&now) };
                    user::edit(&app.domain, actor, whom, now.version, spec).await.map(|_| ())
                }
            }
        };
        let results = join_all([remove(&first, two), remove(&second, one)]).await;
        assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 1, "{results:?}");
        let left = app
            .db
            .count(&format!(
                "users where org_id = '{}' and enabled and deleted_at is null and role_id = '{}'",
                acme.id,
                OrganizationAdministrator.id()
            ))
            .await;
        assert_eq!(left, 1);
    }
}
