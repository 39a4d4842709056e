//! Users of an organization, by its administrator and by the provider; and what users do about themselves.
use crate::harness::{Client, PASSWORD, TestApp};
use domain::user;
use model::{UserId, role::Predefined::*};

const NEW: &str = "/tenant/acme/users/new";
const OTHER_PASSWORD: &str = "staple battery horse";

fn page(id: UserId, rest: &str) -> String {
    format!("/tenant/acme/users/{id}{rest}")
}

fn new_user<'a>(name: &'a str, role: &'a str) -> [(&'a str, &'a str); 3] {
    [("name", name), ("password", PASSWORD), ("role", role)]
}

async fn opens(app: &TestApp, user: &str, password: &str) -> bool {
    let form = [("org", "acme"), ("user", user), ("password", password)];
    app.browser().post("/sign-in", &form).await.status.as_u16() == 303
}

async fn is_in(client: &Client) -> bool {
    client.get("/tenant/acme").await.status.as_u16() == 200
}

#[tokio::test]
async fn an_administrator_makes_users_who_can_sign_in() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let role = VappAuthor.id().to_string();
    let typed = [
        ("name", "alice"),
        ("full_name", "Alice Ångström"),
        ("email", "alice@example.org"),
        ("password", OTHER_PASSWORD),
        ("role", role.as_str()),
        ("vm_limit", "3"),
    ];
    let made = admin.fill(NEW, &typed).await;
    let shown = admin.follow(made).await.says("alice is made and can sign in to acme.");
    shown.says("Alice Ångström").says("vApp Author").says("alice@example.org").says("of 3");
    assert!(opens(&app, "alice", OTHER_PASSWORD).await);
}

#[tokio::test]
async fn the_provider_makes_users_of_any_organization() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let provider = app.provider().await;
    let new = format!("/provider/users/new?org={}", acme.id);
    let made = provider.fill(&new, &new_user("alice", &VappUser.id().to_string())).await;
    provider.follow(made).await.says("alice is made and can sign in to acme.");
    provider.get("/provider/users/new").await.must(200).says("For whom");
    assert!(opens(&app, "alice", PASSWORD).await);
}

#[tokio::test]
async fn a_taken_name_is_said_beside_its_field_and_all_but_the_password_is_kept() {
    let app = TestApp::start().await;
    app.org("acme").user("alice", VappUser).make().await;
    app.org("globex").user("bob", VappUser).make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let role = VappAuthor.id().to_string();
    let typed = [
        ("name", "Alice"),
        ("full_name", "A <b>second</b> one"),
        ("email", "a@example.org"),
        ("password", "a canary sings"),
        ("role", role.as_str()),
        ("memory_limit", "16"),
    ];
    let back = admin.fill(NEW, &typed).await.must(409);
    let said = "Another user of this organization has that name. Choose another one.";
    assert_eq!(back.error_of("name").as_deref(), Some(said));
    for (name, value) in typed.into_iter().filter(|(name, _)| *name != "password") {
        assert_eq!(back.field(name).as_deref(), Some(value), "{name}");
    }
    assert!(!back.body.contains("canary"), "a password comes back");
    // the same name in another organization is somebody else
    admin.fill_page(&back, NEW, &[("name", "bob"), ("password", PASSWORD)]).await.must(303);
}

#[tokio::test]
async fn what_can_not_be_is_said_beside_its_field() {
    let app = TestApp::start().await;
    app.org("acme").make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let role = VappUser.id().to_string();
    let long = "x".repeat(129);
    for (field, value) in [
        ("name", ""),
        ("name", "two words"),
        ("name", long.as_str()),
        ("full_name", long.as_str()),
        ("full_name", "bell\u{7}"),
        ("email", "nobody"),
        ("password", "short"),
        ("password", "aaaaaaaaaaaaaa"),
        ("password", "alice and more"),
        ("role", ""),
        ("role", "not a role"),
        ("role", "01900000-0000-7000-8000-00000000ffff"),
        ("vm_limit", "-1"),
        ("cpu_limit", "1.5"),
    ] {
        let mut typed = new_user("alice", &role).to_vec();
        typed.retain(|(name, _)| *name != field);
        typed.push((field, value));
        let back = admin.fill(NEW, &typed).await.must(422);
        assert!(back.error_of(field).is_some(), "{field} {value:?}: {}", back.text());
    }
    assert_eq!(app.db.count("users").await, 2, "nobody was made");
}

#[tokio::test]
async fn of_two_who_edit_a_user_the_second_sees_both_values() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let (first, second) = (app.sign_in("acme", "acme-admin").await, app.provider().await);
    let edit = page(acme.user("alice"), "/edit");
    let opened = second.get(&edit).await.must(200);
    first.fill(&edit, &[("email", "one@example.org"), ("role", &CatalogAuthor.id().to_string())]).await.must(303);
    let back = second.fill_page(&opened, &edit, &[("email", "two@example.org")]).await.must(409);
    let back = back.says("alice was changed by acme-admin while you were editing");
    let back =
        back.says("now “one@example.org”, yours “two@example.org”").says("now “Catalog Author”, yours “vApp User”");
    second.fill_page(&back, &edit, &[]).await.must(303);
    let saved = user::get(&app.domain, &app.operator().await, acme.user("alice")).await.unwrap();
    assert_eq!((saved.email.as_str(), saved.role), ("two@example.org", VappUser.id()));
}

#[tokio::test]
async fn a_user_is_disabled_enabled_deleted_and_the_name_is_free_again() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let (admin, alice) = (app.sign_in("acme", "acme-admin").await, app.sign_in("acme", "alice").await);
    let id = acme.user("alice");
    let off = admin.post(&page(id, "/disable"), &[]).await;
    admin.follow(off).await.says("alice is disabled and signed out.").says("can't sign in");
    assert!(!is_in(&alice).await && !opens(&app, "alice", PASSWORD).await);
    admin.post(&page(id, "/disable"), &[]).await.must(409).says("The user is disabled already.");
    admin.post(&page(id, "/enable"), &[]).await.must(303);
    admin.post(&page(id, "/enable"), &[]).await.must(409).says("The user is enabled already.");
    assert!(opens(&app, "alice", PASSWORD).await);

    let alice = app.sign_in("acme", "alice").await;
    let gone = admin.fill(&page(id, "/delete"), &[]).await;
    admin.follow(gone).await.says("alice is deleted.");
    assert!(!is_in(&alice).await && !opens(&app, "alice", PASSWORD).await);
    for rest in ["", "/edit", "/password", "/delete"] {
        admin.get(&page(id, rest)).await.must(404);
    }
    for rest in ["/edit", "/password", "/delete", "/enable", "/disable"] {
        admin
            .post(&page(id, rest), &[("version", "1"), ("name", "alice"), ("role", &VappUser.id().to_string())])
            .await
            .must(404);
    }
    let made = admin.fill(NEW, &new_user("alice", &VappUser.id().to_string())).await.must(303);
    assert_ne!(made.location(), page(id, ""));
}

#[tokio::test]
async fn a_new_password_from_the_administrator_ends_the_users_sessions() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let (admin, alice) = (app.sign_in("acme", "acme-admin").await, app.sign_in("acme", "alice").await);
    let password = page(acme.user("alice"), "/password");
    let back = admin.fill(&password, &[("password", "short")]).await.must(422);
    assert!(back.error_of("password").is_some());
    assert!(is_in(&alice).await, "nothing was changed");
    admin.fill(&password, &[("password", OTHER_PASSWORD)]).await.must(303);
    assert!(!is_in(&alice).await);
    assert!(!opens(&app, "alice", PASSWORD).await && opens(&app, "alice", OTHER_PASSWORD).await);
}

#[tokio::test]
async fn changing_ones_own_password_ends_ones_other_sessions_only() {
    let app = TestApp::start().await;
    app.org("acme").user("alice", ConsoleAccessOnly).make().await;
    let [here, there] = [app.sign_in("acme", "alice").await, app.sign_in("acme", "alice").await];
    let bob = app.sign_in("acme", "acme-admin").await;
    let form = "/profile/password";
    let wrong = here.fill(form, &[("old_password", "not this one"), ("password", OTHER_PASSWORD)]).await.must(422);
    assert_eq!(wrong.error_of("old_password").as_deref(), Some("That is not your present password."));
    let weak = here.fill(form, &[("old_password", PASSWORD), ("password", "alice alice")]).await.must(422);
    assert!(weak.error_of("password").is_some() && !weak.body.contains("alice alice"));
    assert!(is_in(&there).await);
    here.fill(form, &[("old_password", PASSWORD), ("password", OTHER_PASSWORD)]).await.must(303);
    assert!(is_in(&here).await && !is_in(&there).await && is_in(&bob).await);
    assert!(!opens(&app, "alice", PASSWORD).await && opens(&app, "alice", OTHER_PASSWORD).await);
}

#[tokio::test]
async fn one_signs_out_everywhere_else_from_the_profile() {
    let app = TestApp::start().await;
    app.org("acme").user("alice", ConsoleAccessOnly).make().await;
    let [here, there] = [app.sign_in("acme", "alice").await, app.sign_in("acme", "alice").await];
    here.get("/profile").await.must(200).says("2 places where you are signed in").says("10.0.0.7");
    here.post("/profile/sessions/end", &[]).await.must(303);
    assert!(is_in(&here).await && !is_in(&there).await);
}

#[tokio::test]
async fn one_edits_ones_own_name_and_not_ones_role() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", ConsoleAccessOnly).make().await;
    let alice = app.sign_in("acme", "alice").await;
    let role = OrganizationAdministrator.id().to_string();
    let typed =
        [("full_name", "Alice"), ("email", "alice@example.org"), ("name", "boss"), ("role", &role), ("vm_limit", "9")];
    alice.fill("/profile/edit", &typed).await.must(303);
    let saved = user::get(&app.domain, &app.operator().await, acme.user("alice")).await.unwrap();
    assert_eq!((saved.full_name.as_str(), saved.name.as_str()), ("Alice", "alice"));
    assert_eq!((saved.role, saved.limits.vms), (ConsoleAccessOnly.id(), None));
    let opened = alice.get("/profile/edit").await.must(200);
    let admin = app.sign_in("acme", "acme-admin").await;
    admin.fill(&page(acme.user("alice"), "/edit"), &[("full_name", "Alice A.")]).await.must(303);
    let back = alice.fill_page(&opened, "/profile/edit", &[("full_name", "Alice B.")]).await.must(409);
    back.says("now “Alice A.”, yours “Alice B.”");
}

#[tokio::test]
async fn nobody_disables_deletes_or_demotes_themselves() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("second", OrganizationAdministrator).make().await;
    let admin = app.sign_in("acme", "acme-admin").await;
    let me = acme.admin();
    admin
        .post(&page(me, "/disable"), &[])
        .await
        .must(409)
        .says("You can't disable yourself. Another administrator can.");
    admin.post(&page(me, "/delete"), &[]).await.must(409).says("You can't delete yourself.");
    admin.post(&page(me, "/password"), &[("password", OTHER_PASSWORD)]).await.must(409).says("on your profile");
    let back = admin.fill(&page(me, "/edit"), &[("role", &VappUser.id().to_string())]).await.must(422);
    back.says("You can't change your own role.");
    admin.fill(&page(me, "/edit"), &[("full_name", "The boss")]).await.must(303);
}

#[tokio::test]
async fn who_a_user_of_an_identity_provider_is_stays_as_it_says() {
    let app = TestApp::start().await;
    let acme = app.org("acme").user("alice", VappUser).make().await;
    let (admin, alice) = (app.sign_in("acme", "acme-admin").await, app.sign_in("acme", "alice").await);
    app.db
        .execute("update users set issuer = 'https://id.example.org', subject = '1', password_hash = null where name = 'alice'")
        .await;
    let edit = page(acme.user("alice"), "/edit");
    admin.get(&edit).await.must(200).says("from the identity provider");
    let role = VappAuthor.id().to_string();
    admin.fill(&edit, &[("name", "mallory"), ("email", "m@example.org"), ("role", &role)]).await.must(303);
    let saved = user::get(&app.domain, &app.operator().await, acme.user("alice")).await.unwrap();
    assert_eq!((saved.name.as_str(), saved.email.as_str(), saved.role), ("alice", "", VappAuthor.id()));
    admin.post(&page(saved.id, "/password"), &[("password", OTHER_PASSWORD)]).await.must(409).says("is set there");
    alice.get("/profile").await.must(200).says("come from the identity provider").says_not("/profile/edit");
    let version = saved.version.to_string();
    alice.post("/profile/edit", &[("version", &version), ("full_name", "Mallory")]).await.must(409);
    let passwords = [("old_password", PASSWORD), ("password", OTHER_PASSWORD)];
    alice.post("/profile/password", &passwords).await.must(409).says("Change the password there.");
}
