//! CloudAPI: organizations and users in full, roles and their rights, and what all collections have in common.
use super::Program;
use crate::harness::TestApp;
use model::role::Predefined;
use serde_json::{Value, json};

pub(super) async fn provider(app: &TestApp) -> Program {
    let admin = app.user(app.operator().await.org, "chief", Predefined::SystemAdministrator.id()).await;
    Program::sign_in(app, "System", &app.actor(admin).await.name).await
}

#[tokio::test]
async fn organizations_are_made_changed_and_deleted_and_the_providers_own_stays() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let chief = provider(&app).await;
    let admin = Program::sign_in(&app, "acme", &app.actor(acme.admin()).await.name).await;
    let own = admin.get("/cloudapi/1.0.0/orgs").await.must(200).json();
    assert_eq!((own["resultTotal"].clone(), own["values"][0]["name"].clone()), (json!(1), json!("acme")));
    assert_eq!(own["values"][0]["userCount"], 1);
    admin.post("/cloudapi/1.0.0/orgs", r#"{"name": "mine"}"#).await.must(403);

    let made = chief.post("/cloudapi/1.0.0/orgs", r#"{"name": "newco", "isEnabled": false}"#).await.must(201);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let at = format!("/cloudapi/1.0.0/orgs/{id}");
    assert!(made.headers["location"].to_str().unwrap().ends_with(&at));
    let taken = chief.post("/cloudapi/1.0.0/orgs", r#"{"name": "ACME"}"#).await.must(400).json();
    assert_eq!(taken["minorErrorCode"], "DUPLICATE_NAME");
    let tag = chief.get(&at).await.must(200).headers["etag"].to_str().unwrap().to_owned();
    chief.put(&at, r#"{"description": "first"}"#).await.must(200);
    let late = [("authorization", &*format!("Bearer {}", chief.token)), ("if-match", &*tag)];
    chief.send("PUT", &at, r#"{"description": "second"}"#, &late).await.must(409);
    assert_eq!(chief.get(&at).await.json()["description"], "first");
    chief.put(&at, r#"{"description": "", "isEnabled": true}"#).await.must(200);
    chief.delete(&at).await.must(400);
    chief.put(&at, r#"{"isEnabled": false}"#).await.must(200);
    chief.delete(&at).await.must(204);
    chief.get(&at).await.must(403);

    let system = chief.get("/cloudapi/1.0.0/orgs?filter=name%3D%3DSystem").await.must(200).json();
    let system = format!("/cloudapi/1.0.0/orgs/{}", system["values"][0]["id"].as_str().unwrap());
    chief.delete(&system).await.must(400);
    chief.put(&system, r#"{"isEnabled": false}"#).await.must(400);
    chief.put(&system, r#"{"name": "other"}"#).await.must(400);
}

#[tokio::test]
async fn users_are_made_changed_and_deleted_with_references_and_without_passwords() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let admin = Program::sign_in(&app, "acme", &app.actor(acme.admin()).await.name).await;
    let new = |name: &str, role: &str| {
        json!({"username": name, "password": "a long password 12", "email": "a@b.example", "roleEntityRefs": [{"name": role}]})
            .to_string()
    };
    let all = "/cloudapi/1.0.0/users";
    let made = admin.post(all, &new("otto", "vApp User")).await.must(201).json();
    assert_eq!(made["orgEntityRef"]["name"], "acme");
    assert_eq!(made["roleEntityRefs"][0]["id"], Predefined::VappUser.id().urn());
    assert_eq!(made["password"], Value::Null);
    assert_eq!(admin.post(all, &new("Otto", "vApp User")).await.must(400).json()["minorErrorCode"], "DUPLICATE_NAME");
    admin.post(all, &new("boss", "System Administrator")).await.must(400);
    admin.post(all, &new("o t", "vApp User")).await.must(400);
    let at = format!("{all}/{}", made["id"].as_str().unwrap());

    let otto = Program::stranger(&app);
    otto.basic("acme", "otto", "a long password 12").await.must(200);
    let changed = admin.put(&at, r#"{"enabled": false, "email": ""}"#).await.must(200).json();
    assert_eq!((changed["enabled"].clone(), changed["email"].clone()), (json!(false), json!("")));
    otto.basic("acme", "otto", "a long password 12").await.must(401);
    admin.put(&at, r#"{"enabled": true, "password": "another password 3"}"#).await.must(200);
    otto.basic("acme", "otto", "another password 3").await.must(200);
    let found = admin.get(&format!("{all}?filter=username%3D%3Dotto%3Benabled%3D%3Dtrue")).await.must(200).json();
    assert_eq!(found["resultTotal"], 1);
    admin.delete(&at).await.must(204);
    otto.basic("acme", "otto", "another password 3").await.must(401);
    admin.get(&at).await.must(403);
    admin.delete(&format!("{all}/{}", acme.admin().urn())).await.must(400);
}

#[tokio::test]
async fn a_role_is_made_first_and_given_rights_afterwards() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let admin = Program::sign_in(&app, "acme", &app.actor(acme.admin()).await.name).await;
    let made = admin.post("/cloudapi/1.0.0/roles", r#"{"name": "Operators"}"#).await.must(201).json();
    let at = format!("/cloudapi/1.0.0/roles/{}", made["id"].as_str().unwrap());
    let rights = format!("{at}/rights");
    let found = admin.get("/cloudapi/1.0.0/rights?filter=name%3D%3DvApp%3A+Copy").await.must(200).json();
    let body = json!({"values": [{"id": found["values"][0]["id"]}]}).to_string();
    assert_eq!(admin.put(&rights, &body).await.must(200).json()["values"][0]["name"], "vApp: Copy");
    let more = r#"{"values": [{"name": "vApp: Delete"}]}"#;
    assert_eq!(admin.post(&rights, more).await.must(200).json()["resultTotal"], 2);
    admin.put(&rights, r#"{"values": [{"name": "Organization: Create"}]}"#).await.must(400);
    admin.put(&rights, r#"{"values": [{"name": "Nothing: Such"}]}"#).await.must(400);
    let predefined = format!("/cloudapi/1.0.0/roles/{}/rights", Predefined::VappUser.id().urn());
    admin.put(&predefined, r#"{"values": []}"#).await.must(400);
    admin.delete(&at).await.must(204);
}

#[tokio::test]
async fn collections_are_walked_by_their_links_and_refuse_fields_they_do_not_have() {
    let app = TestApp::start().await;
    let mut org = app.org("acme");
    for n in 0..5 {
        org = org.user(&format!("user{n}"), Predefined::VappUser);
    }
    let acme = org.make().await;
    let admin = Program::sign_in(&app, "acme", &app.actor(acme.admin()).await.name).await;
    let mut at = "/cloudapi/1.0.0/users/?pageSize=2&sortAsc=username&filter=username%3D%3Duser*".to_owned();
    let mut names = Vec::new();
    loop {
        let said = admin.get(&at).await.must(200);
        let body = said.json();
        assert_eq!((body["resultTotal"].clone(), body["pageCount"].clone()), (json!(5), json!(3)));
        names.extend(body["values"].as_array().unwrap().iter().map(|u| u["username"].as_str().unwrap().to_owned()));
        let links = said.headers.get_all("link").iter().filter_map(|l| l.to_str().ok());
        let next = links.filter(|l| l.contains("rel=\"nextPage\"")).find_map(|l| l.strip_prefix('<')?.split_once('>'));
        match next {
            Some((address, _)) => at = address.to_owned(),
            None => break,
        }
    }
    assert_eq!(names, ["user0", "user1", "user2", "user3", "user4"]);
    for wrong in ["filter=nothing%3D%3D1", "filter=username", "sortAsc=nothing", "page=0", "pageSize=x", "filter=%28"] {
        admin.get(&format!("/cloudapi/1.0.0/users?{wrong}")).await.must(400);
    }
    admin.get(&format!("/cloudapi/1.0.0/users/{}", acme.id.urn())).await.must(400);
    admin.get("/cloudapi/1.0.0/users/urn:vcloud:user:0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92").await.must(403);
}
