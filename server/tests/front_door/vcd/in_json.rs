//! Documents of `/api` in JSON: each is read as what it is, and one that is sent back as it was got changes nothing.
use super::{Program, Said, flow::Clients};
use serde_json::json;

async fn send(who: &Program, method: &str, path: &str, kind: &str, body: &str) -> Said {
    let bearer = format!("Bearer {}", who.token);
    let headers =
        [("authorization", bearer.as_str()), ("accept", "application/*+json;version=37.0"), ("content-type", kind)];
    who.send(method, path, body, &headers).await
}

#[tokio::test]
async fn a_document_in_json_is_what_its_type_says_or_its_fields() {
    let c = Clients::set().await;
    let empty = "<ComposeVAppParams xmlns=\"http://www.vmware.com/vcloud/v1.5\" name=\"shop\"/>";
    let href = c.act_made(&format!("{}/action/composeVApp", c.vdc()), empty).await.attr("href");
    let spec = json!({"modified": true, "numCpus": 1, "memoryResourceMb": {"configured": 512}});
    for (n, kind) in
        ["application/vnd.vmware.vcloud.CreateVmParams+json", "application/*+json;version=37.0", "application/json"]
            .iter()
            .enumerate()
    {
        let name = format!("vm-{n}");
        let body = json!({"name": name, "description": "alone", "createVm": {"name": name, "vmSpecSection": spec}});
        let said = send(&c.admin, "POST", &format!("{href}/vms"), kind, &body.to_string()).await.must(202);
        assert!(said.text.contains("/api/task/"), "{}", said.text);
        let vapp = c.admin.get(&href).await.must(200);
        assert_eq!(vapp.attr("name"), "shop", "{kind}");
        assert!(vapp.text.contains(&format!("<Vm name=\"{name}\"")), "{kind}: {}", vapp.text);
    }
    let body = json!({"name": "renamed", "createItem": [{"name": "item", "vmSpecSection": spec}]}).to_string();
    send(&c.admin, "POST", &format!("{href}/vms"), "application/vnd.vmware.vcloud.recomposeVAppParams+json", &body)
        .await
        .must(202);
    let vapp = c.admin.get(&href).await.must(200);
    assert_eq!(vapp.attr("name"), "renamed");
    assert!(vapp.text.contains("<Vm name=\"item\""), "{}", vapp.text);

    let spec = model::catalog::CatalogSpec { name: "own".into(), ..model::catalog::CatalogSpec::default() };
    let own = domain::catalog::create(&c.stage.app.domain, &c.stage.admin, c.stage.acme.id, spec).await.unwrap().id;
    let upload = format!("/api/catalog/{own}/action/upload");
    for (name, kind, body, found) in [
        ("disc", "application/vnd.vmware.vcloud.media+json", json!({"name": "disc", "size": 2048}), "media"),
        ("iso", "application/json", json!({"name": "iso", "size": 2048, "imageType": "iso"}), "media"),
        ("ova", "application/json", json!({"name": "ova", "description": "x"}), "vAppTemplate"),
        ("ovf", "application/vnd.vmware.vcloud.uploadVAppTemplateParams+json", json!({"name": "ovf"}), "vAppTemplate"),
    ] {
        send(&c.admin, "POST", &upload, kind, &body.to_string()).await.must(201);
        let record = c.admin.get(&format!("/api/query?type={found}&filter=name=={name}")).await.must(200);
        assert_eq!(record.attr("total"), "1", "{name} as {kind}: {}", record.text);
    }
    // what its type says to be another document is no such one
    let said = send(&c.admin, "POST", &upload, "application/vnd.vmware.vcloud.vm+json", r#"{"name":"x"}"#).await;
    said.must(400);
}

#[tokio::test]
async fn values_of_properties_are_the_same_after_they_were_read_and_sent_back_in_json() {
    let c = Clients::set().await;
    let href = c.instantiate("one", "ubuntu-24.04").await;
    c.act(&format!("{href}/action/undeploy"), "").await;
    let vapp = c.admin.get(&href).await.must(200);
    let at = vapp.text.find("/api/vApp/vm-").unwrap();
    let vm = vapp.text[at..at + 13 + 36].to_owned();
    let list = "<ProductSectionList xmlns=\"http://www.vmware.com/vcloud/v1.5\" xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\"><ovf:ProductSection>\
        <ovf:Property ovf:key=\"site\" ovf:type=\"string\"><ovf:Value ovf:value=\"north\"/></ovf:Property>\
        <ovf:Property ovf:key=\"role\" ovf:type=\"string\"><ovf:Value ovf:value=\"db\"/></ovf:Property></ovf:ProductSection></ProductSectionList>";
    for thing in [&href, &vm] {
        let at = format!("{thing}/productSections");
        let said = c.admin.put(&at, list).await.must(202);
        c.succeeded(said).await;
        let before = c.admin.get(&at).await.must(200).text;
        let as_json = send(&c.admin, "GET", &at, "", "").await.must(200);
        let properties = &as_json.json()["productSection"][0]["property"];
        assert_eq!(properties[0]["key"], "site", "{}", as_json.text);
        let changed = as_json.text.replace("\"north\"", "\"south\"");
        assert_ne!(changed, as_json.text);
        for (body, wanted) in [(&as_json.text, before.clone()), (&changed, before.replace("\"north\"", "\"south\""))] {
            send(&c.admin, "PUT", &at, "application/*+json", body).await.must(202);
            assert_eq!(c.admin.get(&at).await.must(200).text, wanted);
        }
        // as people write it by hand
        let plain = json!({"productSection": [{"property": [{"key": "site", "type": "string", "value": "west"}]}]});
        send(&c.admin, "PUT", &at, "application/*+json", &plain.to_string()).await.must(202);
        assert!(c.admin.get(&at).await.must(200).text.contains("ovf:value=\"west\""));
    }
}
