//! Where machines are wished to go: hubs that an organization prefers or avoids, hubs, region and zone of a VDC.
use crate::stage::Stage;
use domain::{vapp, vdc};
use model::{Error, HubId, VappId, vdc::VdcSpec};

impl Stage {
    /// Hubs are in `eu` but `two`, which is in `us`, zone `a`.
    async fn with_regions(self) -> Stage {
        let sql = "update hubs set region = case id when 'two' then 'us' else 'eu' end, zone = case id when 'two' then 'a' else '' end";
        self.app.db.execute(sql).await;
        self
    }

    /// The hub a vApp went to, and why each other one was refused.
    async fn placed(&self, id: VappId) -> (HubId, Vec<(String, String)>) {
        self.running(id).await;
        let operator = self.app.operator().await;
        let vapp = vapp::get(&self.app.domain, &operator, id).await.unwrap();
        let placement = vapp.placement.unwrap();
        assert_eq!(placement.hub, vapp.hub);
        (vapp.hub.unwrap(), placement.refused.into_iter().map(|r| (r.hub.0, r.why)).collect())
    }
}

fn pair(hub: &str, why: &str) -> (String, String) {
    (hub.into(), why.into())
}

#[tokio::test]
async fn machines_go_where_their_organization_prefers_and_never_where_it_avoids() {
    let stage = Stage::on(&["one", "two", "zed"]).await;
    let provider = stage.app.provider().await;
    let page = format!("/provider/organizations/{}", stage.acme.id);
    let back = provider.fill(&format!("{page}/edit"), &[("prefer", "zed"), ("avoid", "zed")]).await.must(422);
    assert_eq!(back.error_of("avoid").as_deref(), Some("zed is preferred too. It can be one or the other."));
    let back = provider.fill(&format!("{page}/edit"), &[("prefer", "mars"), ("avoid", "one")]).await.must(422);
    assert!(back.error_of("prefer").unwrap().contains("There is no hub mars."), "{:?}", back.error_of("prefer"));
    assert_eq!(back.field("avoid").as_deref(), Some("one"), "what was ticked stays ticked");
    let saved = provider.fill_page(&back, &format!("{page}/edit"), &[("prefer", "zed")]).await;
    provider.follow(saved).await.says("Prefers zed").says("Avoids one");
    let change = "select (before->>'prefer') || ' ' || (after->>'prefer') || ' ' || (after->>'avoid') from audit where action = 'org.edit'";
    assert_eq!(stage.app.db.text(change).await, "none zed one");

    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let (hub, refused) = stage.placed(id).await;
    assert_eq!(hub, "zed".into());
    assert!(refused.contains(&pair("one", "The organization avoids it.")), "{refused:?}");
    assert!(refused.contains(&pair("two", "It fits too, and the organization prefers another.")), "{refused:?}");
    let shown = provider.get(&format!("/provider/vapps/{id}")).await.must(200);
    shown.says("The organization prefers it.").says("The organization avoids it.");
}

#[tokio::test]
async fn what_found_no_hub_goes_on_when_a_wish_is_taken_back() {
    let stage = Stage::set().await;
    let provider = stage.app.provider().await;
    let edit = format!("/provider/organizations/{}/edit", stage.acme.id);
    // it is asked for before the wish, and placed after it
    stage.hubs.kill_controller();
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    provider.fill(&edit, &[("avoid", "one")]).await.must(303);
    stage.hubs.start_controller(&stage.app);
    let operator = stage.app.operator().await;
    stage
        .until("a refusal", async || {
            let vapp = vapp::get(&stage.app.domain, &operator, id).await.unwrap();
            vapp.placement.is_some_and(|p| p.refused.iter().any(|r| r.why == "The organization avoids it."))
        })
        .await;
    provider.fill(&edit, &[("avoid", "")]).await.must(303);
    assert_eq!(stage.placed(id).await.0, "one".into());
}

#[tokio::test]
async fn machines_of_a_vdc_go_to_the_hubs_and_the_region_it_names() {
    let stage = Stage::on(&["one", "two", "zed"]).await.with_regions().await;
    let provider = stage.app.provider().await;
    let page = format!("/provider/vdcs/{}", stage.acme.vdc("prod"));
    let form = provider.get(&format!("{page}/edit")).await.must(200);
    assert_eq!(form.choices("region"), ["", "eu", "us"]);
    let saved =
        provider.fill_page(&form, &format!("{page}/edit"), &[("hubs", "two"), ("hubs", "zed"), ("region", "eu")]).await;
    provider.follow(saved).await.says("May use two, zed").says("Region eu");
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let (hub, refused) = stage.placed(id).await;
    assert_eq!(hub, "zed".into());
    assert!(refused.contains(&pair("one", "The VDC names other hubs.")), "{refused:?}");
    assert!(refused.contains(&pair("two", "Its region is us, and eu is wished for.")), "{refused:?}");
    // what is there stays, whatever is wished for later
    provider.fill(&format!("{page}/edit"), &[("hubs", ""), ("region", "us"), ("zone", "a")]).await.must(303);
    let second = stage.deploy("ubuntu-24.04", "post").await;
    assert_eq!(stage.placed(second).await.0, "two".into());
    assert_eq!(stage.placed(id).await.0, "zed".into());
    let shown = provider.get(&page).await.must(200);
    shown.says("every hub that can run VMs").says("Zone a").says("Is on");
}

#[tokio::test]
async fn a_hub_region_or_zone_that_is_not_there_is_said_beside_its_field() {
    let stage = Stage::on(&["one", "two"]).await.with_regions().await;
    let provider = stage.app.provider().await;
    let edit = format!("/provider/vdcs/{}/edit", stage.acme.vdc("prod"));
    for (typed, field, words) in [
        ([("hubs", "mars"), ("region", "")], "hubs", "There is no hub mars."),
        (
            [("hubs", "one"), ("region", "mars")],
            "region",
            "No hub that the VDC may use is in region mars. Regions are eu.",
        ),
        ([("region", "eu"), ("zone", "a")], "zone", "No hub is in zone a of region eu. None has a zone."),
        ([("hubs", ""), ("zone", "b")], "zone", "No hub is in zone b. Zones are a."),
    ] {
        let back = provider.fill(&edit, &typed).await.must(422);
        let said = back.error_of(field).unwrap_or_default();
        assert!(said.starts_with(words), "{typed:?}: {said}");
        if typed[1].1 == "mars" {
            assert_eq!(back.field("region").as_deref(), Some("mars"), "what was typed stays");
        }
    }
    assert_eq!(stage.app.db.text("select hubs::text || region || zone from vdcs").await, "{}");
}

#[tokio::test]
async fn a_tenant_chooses_a_region_and_never_learns_of_hubs() {
    let stage = Stage::on(&["one", "two"]).await;
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    let page = format!("/tenant/acme/vdcs/{}", stage.acme.vdc("prod"));
    let form = admin.get(&format!("{page}/edit")).await.must(200);
    assert!(form.field("region").is_none(), "there is nothing to choose yet");
    let stage = stage.with_regions().await;
    let form = admin.get(&format!("{page}/edit")).await.must(200).says_not("Hubs");
    assert_eq!(form.choices("region"), ["", "eu", "us"]);
    assert!(form.field("hubs").is_none());
    let saved = admin.fill_page(&form, &format!("{page}/edit"), &[("region", "us"), ("hubs", "one")]).await;
    admin.follow(saved).await.says("Region us").says_not("May use");
    assert_eq!(stage.app.db.text("select hubs::text || region from vdcs").await, "{}us");
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    assert_eq!(stage.placed(id).await.0, "two".into());

    let named = VdcSpec { name: "dev".into(), hubs: vec!["one".into()], ..VdcSpec::default() };
    let refused = vdc::create(&stage.app.domain, &stage.admin, stage.acme.id, named).await.unwrap_err();
    assert!(matches!(refused, Error::Forbidden { .. }), "{refused:?}");
    // the provider's choice survives a tenant's edit, and bounds the tenant's
    stage.app.db.execute("update vdcs set hubs = '{two}'").await;
    admin.fill(&format!("{page}/edit"), &[("description", "Ours")]).await.must(303);
    assert_eq!(stage.app.db.text("select hubs::text from vdcs").await, "{two}");
    let back = admin.fill(&format!("{page}/edit"), &[("region", "eu")]).await.must(422);
    assert!(!back.error_of("region").unwrap().contains("two"), "{:?}", back.error_of("region"));
    assert!(back.error_of("region").unwrap().contains("Regions are us."), "{:?}", back.error_of("region"));
}
