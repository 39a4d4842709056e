//! What clients ask for in one request comes about as a whole, or nothing of it does.
use super::{Program, cloudapi::provider};
use crate::harness::TestApp;
use model::role::Predefined;

const VCLOUD: &str = "xmlns=\"http://www.vmware.com/vcloud/v1.5\" xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\"";

#[tokio::test]
async fn a_user_who_can_not_be_as_asked_for_is_not_made_and_a_disabled_one_never_signs_in() {
    let app = TestApp::start().await;
    let chief = provider(&app).await;
    let org = app.org("newco").make().await.id;
    let role = Predefined::OrganizationAdministrator.id();
    // one that nobody has made an administrator yet
    app.db.execute(&format!("update users set deleted_at = now() where org_id = '{org}'")).await;
    let long = "x".repeat(3000);
    let xml = |name: &str, words: &str, enabled: bool| {
        format!(
            "<User {VCLOUD} name=\"{name}\"><Description>{words}</Description><IsEnabled>{enabled}</IsEnabled>\
             <Role href=\"http://h/api/admin/role/{role}\"/><Password>a long password 12</Password></User>"
        )
    };
    let json = |name: &str, words: &str, enabled: bool| {
        format!(
            "{{\"username\":\"{name}\",\"password\":\"a long password 12\",\"description\":\"{words}\",\"enabled\":{enabled},\
             \"orgEntityRef\":{{\"id\":\"{}\"}},\"roleEntityRefs\":[{{\"id\":\"{}\"}}]}}",
            org.urn(),
            role.urn()
        )
    };
    let door = format!("/api/admin/org/{org}/users");
    let body: [(&str, &dyn Fn(&str, &str, bool) -> String); 2] = [(&door, &xml), ("/cloudapi/1.0.0/users", &json)];
    for (n, (at, body)) in body.iter().enumerate() {
        let (first, second) = (format!("first-{n}"), format!("second-{n}"));
        chief.post(at, &body(&first, "none yet", false)).await.must(201);
        Program::stranger(&app).basic("newco", &first, "a long password 12").await.must(401);
        let kept = format!("users where name = '{first}' and not enabled and besides->>'description' = 'none yet'");
        assert_eq!(app.db.count(&kept).await, 1, "{at}");

        let refused = chief.post(at, &body(&second, &long, true)).await.must(400);
        assert!(refused.text.contains("2,000") || refused.text.contains("2000"), "{}", refused.text);
        assert_eq!(app.db.count(&format!("users where name = '{second}'")).await, 0, "{at}");
        chief.post(at, &body(&second, "short", true)).await.must(201);
        Program::stranger(&app).basic("newco", &second, "a long password 12").await.must(200);
        app.db.execute(&format!("update users set deleted_at = now() where org_id = '{org}'")).await;
    }
}
