//! The addresses of SSVirt's first API: other spellings of the same things, which say and do the same.
use super::{Said, flow::Clients};

/// Without what says when and by which request it was answered.
fn records(said: &Said) -> Vec<String> {
    let mut all: Vec<String> = said
        .text
        .split('<')
        .filter(|e| e.split(' ').next().is_some_and(|n| n.ends_with("Record")))
        .map(str::to_owned)
        .collect();
    all.sort();
    all
}

#[tokio::test]
async fn lists_below_a_thing_are_what_a_query_with_a_filter_says() {
    let c = Clients::set().await;
    let href = c.instantiate("shop", "web-and-db").await;
    let vapp = &href[href.len() - 36..];
    let (org, vdc) = (c.stage.acme.id, c.stage.acme.vdc("prod"));
    let catalog = c.stage.template("ubuntu-24.04").await.unwrap().catalog;
    for (below, query) in [
        (format!("/api/org/{org}/vdcs/query"), "/api/query?type=orgVdc".to_owned()),
        (
            format!("/api/catalog/{catalog}/catalogItems/query"),
            format!("/api/query?type=catalogItem&filter=catalog=={catalog}"),
        ),
        (format!("/api/vdc/{vdc}/vApps/query"), format!("/api/query?type=vApp&filter=vdc=={vdc}")),
        (format!("/api/vApp/{vapp}/vms/query"), format!("/api/query?type=vm&filter=container=={vapp}")),
    ] {
        let (a, b) = (c.admin.get(&below).await.must(200), c.admin.get(&query).await.must(200));
        assert_eq!(records(&a), records(&b), "{below}");
        assert!(!records(&a).is_empty(), "{below}: {}", a.text);
    }
}

#[tokio::test]
async fn a_vm_is_read_changed_powered_and_deleted_at_its_shorter_address() {
    let c = Clients::set().await;
    let href = c.instantiate("shop", "ubuntu-24.04").await;
    let vapp = &href[href.len() - 36..];
    let whole = c.admin.get(&href).await.must(200);
    assert_eq!(c.admin.get(&format!("/api/vApp/{vapp}")).await.must(200).text, whole.text);
    let at = whole.text.find("/api/vApp/vm-").unwrap() + 13;
    let (long, short) =
        (format!("/api/vApp/vm-{}", &whole.text[at..at + 36]), format!("/api/vm/{}", &whole.text[at..at + 36]));
    assert_eq!(c.admin.get(&short).await.must(200).text, c.admin.get(&long).await.must(200).text);
    c.act(&format!("{short}/power/action/powerOff"), "").await;
    assert_eq!(c.admin.get(&short).await.attr("status"), "8");
    let said = c
        .admin
        .put(&short, "<Vm name=\"renamed\"><Description>by its short address</Description></Vm>")
        .await
        .must(202);
    c.succeeded(said).await;
    assert_eq!(c.admin.get(&long).await.must(200).attr("name"), "renamed");

    let more = "<CreateVmParams name=\"second\"><CreateVm><VmSpecSection><NumCpus>1</NumCpus></VmSpecSection></CreateVm></CreateVmParams>";
    let said = c.admin.post(&format!("/api/vApp/{vapp}/vms"), more).await.must(202);
    c.succeeded(said).await;
    assert_eq!(c.admin.get(&href).await.must(200).text.matches("<Vm ").count(), 2);
    let said = c.admin.delete(&short).await.must(202);
    c.succeeded(said).await;
    c.admin.get(&short).await.must(403);
}
