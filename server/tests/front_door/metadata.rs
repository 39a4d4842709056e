//! Metadata of everything that has some, security tags of VMs, and finding things by both.
use crate::{harness::TestApp, stage::Stage};
use domain::{metadata, tag, vapp, vm};
use model::{
    Kind,
    list::{ListQuery, VAPPS, VMS},
    metadata::{Audience, Entry, MetaType},
    vapp::VappSpec,
};

fn entry(audience: Audience, key: &str, value: &str) -> Entry {
    Entry { audience, key: key.into(), kind: MetaType::String, value: value.into() }
}

#[tokio::test]
async fn what_is_written_beside_a_vapp_is_typed_and_kept_and_taken_away() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let admin = app.actor(acme.admin()).await;
    let spec = VappSpec { name: "shop".into(), ..VappSpec::default() };
    let id = vapp::compose(&app.domain, &admin, acme.vdc("prod"), spec, Default::default()).await.unwrap().vapp;
    let page = app.sign_in("acme", "acme-admin").await;
    let path = format!("/tenant/acme/vapps/{id}/metadata");
    page.get(&format!("/tenant/acme/vapps/{id}")).await.must(200).says("Metadata");
    page.get(&path).await.must(200).says("Nothing is written down");
    for (kind, typed, wrong) in [
        ("number", "many", "A whole number."),
        ("boolean", "perhaps", "true or false."),
        ("datetime", "tomorrow", "A time such as 2026-11-16T12:00:00Z."),
    ] {
        let back = page.fill(&path, &[("key", "k"), ("type", kind), ("value", typed)]).await.must(422);
        assert_eq!(back.error_of("value").as_deref(), Some(wrong));
        assert_eq!(back.field("value").as_deref(), Some(typed), "nothing typed is lost");
    }
    let saved = page.fill(&path, &[("key", "cost center"), ("type", "number"), ("value", "0042")]).await.must(303);
    page.follow(saved).await.says("cost center of shop is saved.").says("42");
    page.fill(&path, &[("key", "cost center"), ("type", "number"), ("value", "43")]).await.must(303);
    let (_, all) = metadata::list(&app.domain, &admin, Kind::Vapp, id.0).await.unwrap();
    assert_eq!(all.len(), 1, "the same key has one value");
    assert_eq!((all[0].entry.kind, all[0].entry.value.as_str()), (MetaType::Number, "43"));
    let gone = page.post(&format!("{path}/remove"), &[("domain", "general"), ("key", "cost center")]).await.must(303);
    page.follow(gone).await.says("cost center of shop is removed.").says("Nothing is written down");
    page.post(&format!("{path}/remove"), &[("domain", "general"), ("key", "cost center")]).await.must(409);
    assert_eq!(app.db.count(&format!("audit where object_id = '{id}' and action = 'vapp.metadata'")).await, 3);
}

#[tokio::test]
async fn tenants_see_what_the_provider_wrote_for_them_and_not_what_is_private() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let (admin, operator) = (app.actor(acme.admin()).await, app.operator().await);
    let (d, vdc) = (&app.domain, acme.vdc("prod").0);
    let both = vec![entry(Audience::SystemReadOnly, "sla", "gold"), entry(Audience::SystemPrivate, "margin", "0.4")];
    metadata::put(d, &operator, Kind::Vdc, vdc, both).await.unwrap();
    metadata::put(d, &admin, Kind::Vdc, vdc, vec![entry(Audience::General, "sla", "ours")]).await.unwrap();
    let keys = async |actor| -> Vec<String> {
        let (_, all) = metadata::list(d, actor, Kind::Vdc, vdc).await.unwrap();
        all.into_iter().map(|k| format!("{}={}", k.entry.key, k.entry.value)).collect()
    };
    assert_eq!(keys(&admin).await, ["sla=ours", "sla=gold"], "two domains, two entries");
    assert_eq!(keys(&operator).await, ["margin=0.4", "sla=ours", "sla=gold"]);
    for audience in [Audience::SystemReadOnly, Audience::SystemPrivate] {
        let refused = metadata::put(d, &admin, Kind::Vdc, vdc, vec![entry(audience, "x", "y")]).await.unwrap_err();
        assert_eq!(refused.fields()[0].message, "What is the system's is set by the provider.");
    }
    let refused = metadata::remove(d, &admin, Kind::Vdc, vdc, "system", "sla").await.unwrap_err();
    assert_eq!(refused.fields()[0].field, "audience");
    let unseen = metadata::remove(d, &admin, Kind::Vdc, vdc, "system", "margin").await.unwrap_err();
    let missing = metadata::remove(d, &admin, Kind::Vdc, vdc, "system", "nothing").await.unwrap_err();
    assert_eq!(unseen.to_string(), missing.to_string(), "what one does not see is not there");
    let page = app.sign_in("acme", "acme-admin").await;
    let path = format!("/tenant/acme/vdcs/{vdc}/metadata");
    page.get(&path).await.must(200).says("gold").says_not("margin").says_not("0.4");
    page.get("/tenant/acme/audit").await.must(200).says_not("margin").says_not("0.4");
}

#[tokio::test]
async fn there_is_an_end_to_how_much_is_written_beside_one_thing() {
    let app = TestApp::start().await;
    let acme = app.org("acme").make().await;
    let admin = app.actor(acme.admin()).await;
    let many =
        |from: usize, n: usize| (from..from + n).map(|n| entry(Audience::General, &format!("k{n}"), "")).collect();
    metadata::put(&app.domain, &admin, Kind::Org, acme.id.0, many(0, 128)).await.unwrap();
    let refused = metadata::put(&app.domain, &admin, Kind::Org, acme.id.0, many(128, 1)).await.unwrap_err();
    assert!(refused.fields()[0].message.contains("acme has 128 entries"), "{refused}");
    metadata::put(&app.domain, &admin, Kind::Org, acme.id.0, many(0, 3)).await.unwrap();
    assert_eq!(app.db.count("metadata").await, 128);
}

#[tokio::test]
async fn vms_and_vapps_are_found_by_tag_and_by_metadata() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("web-and-db", "shop").await;
    stage.deploy("ubuntu-24.04", "other").await;
    let vms = stage.vms(id).await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let path = format!("/tenant/acme/vms/{}/tags", vms[0].id);
    let back = page.fill(&path, &[("tags", "web, -x")]).await.must(422);
    assert!(back.error_of("tags").unwrap().starts_with("-x can't be a tag"));
    assert_eq!(back.field("tags").as_deref(), Some("web, -x"));
    page.fill(&path, &[("tags", "Web, tier:1, web")]).await.must(303);
    tag::set(d, admin, vms[1].id, vec!["web".into()]).await.unwrap();
    assert_eq!(tag::of_vm(d, admin, vms[0].id).await.unwrap(), ["tier:1", "web"]);
    let all: Vec<_> = tag::list(d, admin, None).await.unwrap().into_iter().map(|t| (t.tag, t.vms)).collect();
    assert_eq!(all, [("tier:1".to_owned(), 1), ("web".to_owned(), 2)]);
    page.get("/tenant/acme/tags").await.must(200).says("tier:1").says("2 VMs");
    page.get(&format!("/tenant/acme/vms/{}", vms[0].id)).await.must(200).says("tier:1");
    metadata::put(d, admin, Kind::Vm, vms[1].id.0, vec![entry(Audience::General, "team", "blue")]).await.unwrap();
    metadata::put(d, admin, Kind::Vapp, id.0, vec![entry(Audience::General, "team", "red")]).await.unwrap();

    let found = async |key: &'static str, value: &str| {
        let query = ListQuery { filters: vec![(key, value.to_owned())], ..ListQuery::first(&VMS) };
        vm::list(d, admin, None, &query).await.unwrap().items.len()
    };
    assert_eq!((found("tag", "WEB").await, found("tag", "tier:1").await, found("tag", "no").await), (2, 1, 0));
    assert_eq!((found("metadata", "team").await, found("metadata", "team=blue").await), (1, 1));
    assert_eq!(found("metadata", "team=red").await, 0);
    let found = async |key: &'static str, value: &str| {
        let query = ListQuery { filters: vec![(key, value.to_owned())], ..ListQuery::first(&VAPPS) };
        vapp::list(d, admin, None, &query).await.unwrap().items.len()
    };
    assert_eq!((found("tag", "web").await, found("metadata", "team=red").await), (1, 1));
    page.get("/tenant/acme/vms?tag=web").await.must(200).says("Tag: ");
    // what is deleted has no tags any more
    vm::delete(d, admin, vms[0].id).await.unwrap();
    let all: Vec<_> = tag::list(d, admin, None).await.unwrap().into_iter().map(|t| (t.tag, t.vms)).collect();
    assert_eq!(all, [("web".to_owned(), 1)]);
}
