//! What one document says of a thing, others and lists say too; and what a client asks for is taken as it meant it.
use super::{Program, cloudapi::provider, flow::Clients};
use crate::{harness::iso, stage::Stage, uploads::Desk};
use model::template::ItemKind;

#[tokio::test]
async fn a_task_about_a_disc_leads_to_the_disc() {
    let c = Clients::set().await;
    let desk = Desk::open(&c.stage.app, &c.stage.admin, "acme").await;
    let disc = desk.uploaded("tools", ItemKind::Media, "tools.iso", &iso()).await;
    let task = c.stage.app.db.text(&format!("select id::text from tasks where object_id = '{disc}' limit 1")).await;
    let said = c.admin.get(&format!("/api/task/{task}")).await.must(200);
    let owner = said.text.split("<Owner ").nth(1).unwrap().split("href=\"").nth(1).unwrap();
    let owner = owner[..owner.find('"').unwrap()].to_owned();
    assert!(owner.ends_with(&format!("/api/media/{disc}")), "{owner}");
    c.admin.get(&owner).await.must(200);
    assert!(said.text.contains(&format!("urn:vcloud:media:{disc}")), "{}", said.text);
    let listed = c.admin.get(&format!("/api/query?type=task&filter=id=={task}")).await.must(200);
    assert!(listed.text.contains(&format!("/api/media/{disc}\"")), "{}", listed.text);
    let events = c.admin.get("/api/query?type=event").await.must(200);
    assert!(!events.text.contains(&format!("vappTemplate-{disc}")), "{}", events.text);
    let one = c.admin.get(&format!("/cloudapi/1.0.0/tasks/urn:vcloud:task:{task}")).await.must(200).json();
    assert_eq!(one["owner"]["id"], format!("urn:vcloud:media:{disc}"));
}

#[tokio::test]
async fn the_provider_in_an_organization_sees_that_one() {
    let stage = Stage::set().await;
    stage.app.org("beta").make().await;
    let chief: Program = provider(&stage.app).await;
    let (bearer, acme) = (format!("Bearer {}", chief.token), stage.acme.id.to_string());
    let within = [("authorization", bearer.as_str()), ("x-vmware-vcloud-tenant-context", acme.as_str())];
    for path in ["/api/org", "/api/admin"] {
        let said = chief.send("GET", path, "", &within).await.must(200);
        assert!(said.text.contains(&acme) && !said.text.contains("\"beta\""), "{path}: {}", said.text);
        assert!(chief.get(path).await.must(200).text.contains("\"beta\""), "{path}");
    }
    let session = chief.send("GET", "/cloudapi/1.0.0/sessions/current", "", &within).await.must(200).json();
    assert_eq!((&session["org"]["name"], &session["operatingOrg"]["name"]), (&"System".into(), &"acme".into()));
    assert_eq!(session["operatingOrg"]["id"], stage.acme.id.urn());
    let session = chief.get("/cloudapi/1.0.0/sessions/current").await.must(200).json();
    assert_eq!(session["operatingOrg"]["name"], "System");
}

#[tokio::test]
async fn a_vapp_is_busy_and_deployed_in_lists_as_it_is_in_its_document() {
    let c = Clients::set().await;
    let href = c.instantiate("shop", "ubuntu-24.04").await;
    c.act(&format!("{href}/action/undeploy"), "").await;
    // hubs that refuse keep it on its way
    let alike = async |deployed: bool, busy: bool| {
        let vapp = c.admin.get(&href).await.must(200);
        assert_eq!(vapp.attr("deployed"), deployed.to_string(), "{}", vapp.text);
        let record = c.admin.get("/api/query?type=vApp&filter=name==shop").await.must(200);
        for (word, value) in [("isDeployed", deployed), ("isBusy", busy)] {
            assert!(record.text.contains(&format!("{word}=\"{value}\"")), "{word} {}", record.text);
            for (asked, total) in [(value, "1"), (!value, "0")] {
                let found = c.admin.get(&format!("/api/query?type=vApp&filter={word}=={asked}")).await.must(200);
                assert_eq!(found.attr("total"), total, "{word}=={asked}: {}", found.text);
            }
        }
    };
    alike(false, false).await;
    c.stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, true);
    c.admin.post(&format!("{href}/power/action/powerOn"), "").await.must(202);
    alike(true, true).await;
    c.stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, false);
    c.stage.until("it to run", async || c.admin.get(&href).await.must(200).attr("status") == "4").await;
    alike(true, false).await;
}

#[tokio::test]
async fn a_weight_is_no_version_and_a_list_of_networks_is_no_configuration() {
    let c = Clients::set().await;
    let bearer = format!("Bearer {}", c.admin.token);
    for (accept, version) in [
        ("application/*+xml;q=0.9", "39.0"),
        ("application/*+xml;version=37.0;q=0.8", "37.0"),
        ("text/html, application/*+xml;q=0.9;version=36.3", "36.3"),
        ("application/*+xml;version=\"38.1\"", "38.1"),
    ] {
        let said = c.admin.send("GET", "/api/org", "", &[("authorization", &bearer), ("accept", accept)]).await;
        let kind = said.must(200).headers["content-type"].to_str().unwrap().to_owned();
        assert!(kind.ends_with(&format!("version={version}")), "{accept}: {kind}");
    }
    let template = c.template("ubuntu-24.04").await;
    let kind = c.admin.get(&format!("{template}/networkSection")).await.must(200).headers["content-type"].clone();
    assert!(kind.to_str().unwrap().starts_with("application/vnd.vmware.vcloud.networkSection+xml"), "{kind:?}");
}

#[tokio::test]
async fn numbers_are_sorted_as_numbers() {
    let c = Clients::set().await;
    let chief = provider(&c.stage.app).await;
    for (name, cpus) in [("two", 2), ("ten", 10), ("nine", 9)] {
        let body = format!("{{\"name\": \"{name}\", \"cpuCount\": {cpus}, \"memory\": 512}}");
        chief.post("/cloudapi/1.0.0/vdcComputePolicies", &body).await.must(201);
    }
    let found = chief
        .get("/cloudapi/1.0.0/vdcComputePolicies?sortAsc=cpuCount&filter=isAutoGenerated%3D%3Dfalse")
        .await
        .must(200);
    let found = found.json();
    let names: Vec<_> = found["values"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["two", "nine", "ten"]);
}

#[tokio::test]
async fn a_tag_is_given_to_the_vms_that_are_named_and_to_no_others() {
    let c = Clients::set().await;
    let shop = c.stage.deploy("web-and-db", "shop").await;
    let vms: Vec<_> = c.stage.running(shop).await.iter().map(|vm| vm.id.urn()).collect();
    let give = async |entities: &[&str], status: u16| {
        let body = serde_json::json!({"tag": "Front", "entities": entities}).to_string();
        c.admin.put("/cloudapi/1.0.0/securityTags/tag", &body).await.must(status);
        let mut have = Vec::new();
        for vm in &vms {
            let tags = c.admin.get(&format!("/cloudapi/1.0.0/securityTags/vm/{vm}")).await.must(200).json();
            have.push(tags["tags"] == serde_json::json!(["front"]));
        }
        have
    };
    assert_eq!(give(&[&vms[0], &vms[1]], 204).await, [true, true]);
    let listed = c.admin.get("/cloudapi/1.0.0/securityTags/entities?filter=tag%3D%3Dfront").await.must(200).json();
    assert_eq!(listed["resultTotal"], 2);
    assert_eq!(give(&[&vms[1]], 204).await, [false, true]);
    // one of them is not there: nothing is done to the others
    let missing = "urn:vcloud:vm:01900000-0000-7000-8000-0000deadbeef";
    assert_eq!(give(&[&vms[0], missing], 403).await, [false, true]);
    assert_eq!(give(&[], 204).await, [false, false]);
}
