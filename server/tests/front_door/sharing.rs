//! Sharing of vApps and catalogs, whose things are, and many of them at once.
use crate::{
    harness::{Answer, Client},
    machines_pages::{Stage, WEB},
};
use domain::{disk, network, share, user, vapp};
use model::{
    Error, VappId,
    disk::DiskSpec,
    network::NetworkForm,
    role::Predefined::{self, *},
    share::{Access, Grant, Subject},
};

const MISSING: &str = "01900000-0000-7000-8000-0000deadbeef";

impl Stage {
    /// The vApp's one VM was made and is stopped.
    async fn stopped(&self, vm: &str) {
        self.seen(vm, "power = 'off', obs_state = 'stopped'").await;
    }

    async fn shared(&self, id: VappId, subject: Subject, access: Access) -> Result<(), Error> {
        let owner = self.app.actor(self.acme.user("builder")).await;
        let version = vapp::get(&self.app.domain, &owner, id).await?.version;
        share::set(&self.app.domain, &owner, share::On::Vapp(id), version, vec![Grant { subject, access }]).await
    }

    /// What the users of a table's rows use must be what is counted.
    async fn sums_are_right(&self) {
        let wrong = "users u cross join lateral (select count(*) as vms, coalesce(sum(cpus), 0) as cpus, coalesce(sum(memory_mb), 0) as memory,
                (select coalesce(sum(size_mb), 0) from disks k where k.owner_id = u.id and k.gone_at is null) as storage
              from vms v where v.owner_id = u.id and v.gone_at is null) s
            where (u.vms_used, u.cpus_used, u.memory_used_mb, u.storage_used_mb) is distinct from (s.vms, s.cpus, s.memory, s.storage)";
        assert_eq!(self.app.db.count(wrong).await, 0);
    }
}

fn at(rest: impl std::fmt::Display) -> String {
    format!("/tenant/acme{rest}")
}

/// Answered exactly as something that is not there.
async fn nothing_at(client: &Client, list: &str, id: impl std::fmt::Display, rest: &str) {
    let id = id.to_string();
    client.forget_cookie("toast"); // what an earlier request did is said once
    let one = |id: &str| at(format!("{list}/{id}{rest}"));
    let (hidden, missing) = (one(&id), one(MISSING));
    let answers: [Answer; 2] = [client.get(&hidden).await.must(404), client.get(&missing).await.must(404)];
    // what one did oneself stays in one's tasks, with its address
    let apart = |a: &Answer| a.apart_from(&[&hidden, &missing, &at(format!("{list}/{id}"))]);
    assert_eq!(apart(&answers[0]), apart(&answers[1]));
}

#[tokio::test]
async fn a_colleague_sees_a_vapp_when_it_is_shared_and_does_as_much_as_that_says() {
    let stage = Stage::set().await;
    let (id, vm) = stage.vapp("shop", "builder").await;
    stage.stopped(&vm).await;
    let (builder, other) = (stage.app.sign_in("acme", "builder").await, stage.app.sign_in("acme", "other").await);
    let on = at(format!("/vapps/{id}/power-on"));
    for rest in ["", "/sharing", "/edit", "/delete"] {
        nothing_at(&other, "/vapps", id, rest).await;
    }
    nothing_at(&other, "/vms", &vm, "").await;
    other.get(&at("/vapps")).await.must(200).says_not("shop");
    other.get(&at("/vms.csv")).await.must(200).says_not("shop");
    other.post(&on, &[]).await.must(404);

    let form = at(format!("/vapps/{id}/sharing"));
    let saved = builder.fill(&form, &[("user", "Other"), ("user_access", "ReadOnly")]).await.must(303);
    builder.follow(saved).await.must(200).says("other").says("Read only");
    other.get(&at("/vapps")).await.must(200).says("shop");
    other.get(&at("/vms")).await.must(200).says("shop");
    other.get(&at(format!("/vms/{vm}"))).await.must(200).says_not("Power on");
    other.get(&at("")).await.must(200);
    other.post(&on, &[]).await.must(403).says("not shared with you that far");
    other.get(&at(format!("/vapps/{id}/edit"))).await.must(403).says("Change");

    let line = format!("user-{}", stage.acme.user("other"));
    builder.fill(&form, &[(line.as_str(), "Change")]).await.must(303);
    other.post(&on, &[]).await.must(303);
    other.get(&at(format!("/vapps/{id}/delete"))).await.must(403).says("Full control");
    other.get(&form).await.must(403);

    builder.fill(&form, &[(line.as_str(), "FullControl")]).await.must(303);
    other.get(&form).await.must(200);
    // and may let go of it again
    other.fill(&form, &[(line.as_str(), "")]).await.must(303);
    nothing_at(&other, "/vapps", id, "").await;
    other.get(&at("/vapps.csv")).await.must(200).says_not("shop");
    let rows = format!("audit where object_id = '{id}' and action = 'vapp.share' and result = 'done'");
    assert_eq!(stage.app.db.count(&rows).await, 4);
}

#[tokio::test]
async fn what_is_shared_with_a_role_or_with_everyone_is_shared_with_nobody_of_another_organization() {
    let stage = Stage::set().await;
    let zebra = stage.app.org("zebra").user("stripes", VappAuthor).make().await;
    let (id, _) = stage.vapp("shop", "builder").await;
    let (other, stripes) = (stage.app.sign_in("acme", "other").await, stage.app.actor(zebra.user("stripes")).await);
    let unseen = async || vapp::get(&stage.app.domain, &stripes, id).await == Err(Error::NotFound(model::Kind::Vapp));
    stage.shared(id, Subject::Role(Predefined::VappUser.id()), Access::FullControl).await.unwrap();
    nothing_at(&other, "/vapps", id, "").await;
    for subject in [Subject::Role(Predefined::VappAuthor.id()), Subject::Everyone] {
        stage.shared(id, subject, Access::Change).await.unwrap();
        other.get(&at(format!("/vapps/{id}"))).await.must(200);
        other.get(&at("/vapps")).await.must(200).says("shop");
        assert!(unseen().await);
    }
    // users and roles of others are no subjects, and neither is one that is named twice
    let foreign = stage.app.role(zebra.id, "Stripes", &[model::Right::VappPower]).await;
    for subject in [Subject::User(zebra.user("stripes")), Subject::Role(foreign)] {
        assert!(matches!(stage.shared(id, subject, Access::ReadOnly).await, Err(Error::Invalid(_))));
    }
    let builder = stage.app.sign_in("acme", "builder").await;
    let form = at(format!("/vapps/{id}/sharing"));
    let answer = builder.fill(&form, &[("user", "stripes")]).await.must(422);
    assert!(answer.error_of("user").unwrap().contains("no user “stripes”"));
    let saved = builder.fill(&form, &[("user", "other")]).await.must(303);
    assert!(saved.location().ends_with(&id.to_string()));
    builder.fill(&form, &[("user", "other")]).await.must(422).says("shared with one of them already");
}

#[tokio::test]
async fn two_who_share_at_once_do_not_undo_each_other() {
    let stage = Stage::set().await;
    let (id, _) = stage.vapp("shop", "builder").await;
    let builder = stage.app.sign_in("acme", "builder").await;
    let form = at(format!("/vapps/{id}/sharing"));
    let page = builder.get(&form).await.must(200);
    builder.fill(&form, &[("everyone", "ReadOnly")]).await.must(303);
    let late = builder.fill_page(&page, &form, &[("user", "other")]).await.must(409);
    let late = late.says("was changed by builder").says("Read only");
    // what is typed stays, and saving again is done knowingly
    assert_eq!(late.field("user").as_deref(), Some("other"));
    builder.fill_page(&late, &form, &[("everyone", "Change")]).await.must(303);
    assert_eq!(stage.app.db.count(&format!("shares where object_id = '{id}'")).await, 2);
}

#[tokio::test]
async fn a_catalog_is_its_owners_until_it_is_shared() {
    let stage = Stage::set().await;
    stage.app.user(stage.acme.id, "author", CatalogAuthor.id()).await;
    stage.app.user(stage.acme.id, "reader", CatalogAuthor.id()).await;
    let (author, reader) = (stage.app.sign_in("acme", "author").await, stage.app.sign_in("acme", "reader").await);
    author.post(&at("/catalogs/new"), &[("name", "own-kit")]).await.must(303);
    author.fill(&at("/catalogs/new"), &[("name", "open-kit")]).await.must(303);
    reader.get(&at("/catalogs")).await.must(200).says("open-kit").says_not("own-kit");
    let id = stage.app.db.text("select id::text from catalogs where name = 'own-kit'").await;
    let template = stage.template(id.parse().unwrap(), "hammer", WEB, ("", "")).await;
    for (list, id, rest) in [
        ("/catalogs", &id, ""),
        ("/catalogs", &id, "/upload"),
        ("/templates", &template, ""),
        ("/templates", &template, "/deploy"),
    ] {
        nothing_at(&reader, list, id, rest).await;
    }
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    admin.get(&at(format!("/catalogs/{id}"))).await.must(200).says("hammer").says("Sharing");
    author.fill(&at(format!("/catalogs/{id}/sharing")), &[("user", "reader")]).await.must(303);
    reader.get(&at(format!("/templates/{template}/deploy"))).await.must(200);
    reader.get(&at(format!("/catalogs/{id}"))).await.must(200).says("hammer");
    reader.get(&at(format!("/catalogs/{id}/edit"))).await.must(403).says("not shared with you that far");
    reader.get(&at(format!("/templates/{template}/delete"))).await.must(403);
}

#[tokio::test]
async fn a_vapp_that_is_given_away_counts_for_whoever_has_it() {
    let stage = Stage::set().await;
    let zebra = stage.app.org("zebra").user("stripes", VappAuthor).make().await;
    let (id, vm) = stage.vapp("shop", "builder").await;
    let (admin, other) = (stage.app.sign_in("acme", "acme-admin").await, stage.app.sign_in("acme", "other").await);
    let form = at(format!("/vapps/{id}/owner"));
    stage.app.sign_in("acme", "builder").await.get(&form).await.must(403).says("vApp: Change Owner");
    for (name, why) in [("stripes", "no user"), ("", "no user"), ("builder", "has it already")] {
        admin.fill(&form, &[("owner", name)]).await.must(422).says(why);
    }
    stage.app.user(stage.acme.id, "watcher", ConsoleAccessOnly.id()).await;
    admin.fill(&form, &[("owner", "watcher")]).await.must(422).says("can't own a vApp");
    let limit = format!("update users set vm_limit = 0 where id = '{}'", stage.acme.user("other"));
    stage.app.db.execute(&limit).await;
    admin.fill(&form, &[("owner", "other")]).await.must(409).says("user other has 0");
    stage.app.db.execute("update users set vm_limit = null").await;
    admin.fill(&form, &[("owner", "other")]).await.must(303);
    other.get(&at(format!("/vms/{vm}"))).await.must(200).says("other");
    nothing_at(&stage.app.sign_in("acme", "builder").await, "/vapps", id, "").await;
    stage.sums_are_right().await;
    assert_eq!(
        stage.app.db.count(&format!("users where id = '{}' and vms_used = 1", stage.acme.user("other"))).await,
        1
    );
    assert_eq!(stage.app.db.count(&format!("work where kind = 'vm' and id = '{vm}'")).await, 1, "its hub is told");
    let _ = zebra;
}

#[tokio::test]
async fn what_a_removed_user_leaves_is_stranded_until_somebody_gets_it() {
    let stage = Stage::set().await;
    let (first, _) = stage.vapp("first", "builder").await;
    let (second, _) = stage.vapp("second", "builder").await;
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    let page = at("/stranded");
    admin.get(&page).await.must(200).says("Nothing is stranded");
    let builder = stage.acme.user("builder");
    let gone = at(format!("/users/{builder}/delete"));
    admin.get(&gone).await.must(200).says("owns 2 vApps");
    admin.fill(&gone, &[("owner", "nobody")]).await.must(422).says("no user");
    admin.fill(&gone, &[("owner", "")]).await.must(303);
    admin.get(&page).await.must(200).says("first").says("second").says("builder, removed");
    admin.get(&at(format!("/vapps/{first}"))).await.must(200).says("removed or disabled");
    stage.app.sign_in("acme", "other").await.get(&page).await.must(403);
    // it goes on without an owner: no limit of theirs counts any more
    stage.app.db.execute("update users set vm_limit = 1").await;
    let size = [("name", "more"), ("cpus", "1"), ("memory", "1"), ("disk", "1"), ("power", "")];
    admin.fill(&at(format!("/vapps/{second}/add")), &size).await.must(303);
    stage.app.db.execute("update users set vm_limit = null").await;
    stage.sums_are_right().await;

    let pick = format!("vapp:{first}");
    admin.post(&page, &[("owner", "other"), ("all", "")]).await.must(422).says("Choose at least one");
    admin.post(&page, &[("owner", "nobody"), ("pick", &pick)]).await.must(422).says("no user");
    admin.post(&page, &[("owner", "other"), ("pick", &pick)]).await.must(303);
    let left = admin.get(&page).await.must(200).body;
    assert!(!left.contains(&format!("stranded-{first}")) && left.contains(&format!("stranded-{second}")));
    admin.post(&page, &[("owner", "other"), ("all", "on")]).await.must(303);
    admin.get(&page).await.must(200).says("Nothing is stranded");
    let all = format!("vapps where id in ('{first}', '{second}') and owner_id = '{}'", stage.acme.user("other"));
    assert_eq!(stage.app.db.count(&all).await, 2);
    stage.sums_are_right().await;
}

#[tokio::test]
async fn what_a_user_has_goes_to_the_heir_in_the_same_moment() {
    let stage = Stage::set().await;
    let (id, _) = stage.vapp("shop", "builder").await;
    let (operator, d) = (stage.app.operator().await, &stage.app.domain);
    let (builder, other) = (stage.acme.user("builder"), stage.acme.user("other"));
    // an heir who may not own it keeps the user too
    user::set_enabled(d, &operator, other, false).await.unwrap();
    assert!(user::delete(d, &operator, builder, Some(other)).await.is_err());
    assert_eq!(stage.app.db.count(&format!("users where id = '{builder}' and deleted_at is null")).await, 1);
    user::set_enabled(d, &operator, other, true).await.unwrap();
    user::delete(d, &operator, builder, Some(other)).await.unwrap();
    assert_eq!(stage.app.db.count(&format!("vapps where id = '{id}' and owner_id = '{other}'")).await, 1);
    stage.sums_are_right().await;
}

#[tokio::test]
async fn many_vapps_are_powered_and_deleted_at_once_and_each_says_what_became_of_it() {
    let stage = Stage::set().await;
    let (own, vm) = stage.vapp("own", "builder").await;
    let (on, running) = stage.vapp("on", "builder").await;
    let (foreign, theirs) = stage.vapp("foreign", "other").await;
    stage.stopped(&vm).await;
    stage.stopped(&theirs).await;
    stage.seen(&running, "power = 'on', obs_state = 'running'").await;
    let builder = stage.app.sign_in("acme", "builder").await;
    builder.get(&at("/vapps")).await.must(200).says("With what is chosen");
    let (own, on, foreign) = (own.to_string(), on.to_string(), foreign.to_string());
    let picks = [("pick", own.as_str()), ("pick", on.as_str()), ("pick", foreign.as_str()), ("pick", "x")];
    let bulk = at("/vapps/bulk");
    builder.get(&bulk).await.must(200).says("Nothing is chosen");
    builder.post(&bulk, &[("do", "power-on")]).await.must(422).says("Tick the boxes");
    builder.post(&bulk, &picks).await.must(422).says("Choose what to do");
    let form = |more: &[(&'static str, &'static str)]| [&picks[..], more].concat();
    let answer = builder.post(&bulk, &form(&[("do", "power-on")])).await.must(200);
    let answer =
        answer.says("1 of 4 accepted").says("All its VMs run").says("There is no such vApp").says_not("foreign");
    let rows = format!("audit where request_id = '{}' and action = 'vapp.power_on'", answer.request_id());
    assert_eq!(stage.app.db.count(&rows).await, 4, "one row each");
    assert_eq!(stage.app.db.count(&format!("tasks where request_id = '{}'", answer.request_id())).await, 1);

    builder.post(&bulk, &form(&[("do", "delete")])).await.must(200).says("Delete 4 vApps?");
    assert_eq!(stage.app.db.count("vapps where deleted_at is not null").await, 0, "it is asked first");
    builder.post(&bulk, &form(&[("do", "delete"), ("sure", "on")])).await.must(200).says("2 of 4 accepted");
    assert_eq!(stage.app.db.count("vapps where deleted_at is not null").await, 2);
    assert_eq!(stage.app.db.count(&format!("vapps where id = '{foreign}' and deleted_at is not null")).await, 0);

    let admin = stage.app.sign_in("acme", "acme-admin").await;
    let one = [("pick", foreign.as_str()), ("do", "give")];
    admin.post(&bulk, &one).await.must(200).says("Change the owner of 1 vApp");
    let sure = [&one[..], &[("sure", "on"), ("owner", "builder")]].concat();
    admin.post(&bulk, &sure).await.must(200).says("1 of 1 accepted");
    let many: Vec<(&str, &str)> = std::iter::repeat_n(("pick", foreign.as_str()), 101).collect();
    let alike = admin.post(&bulk, &[&many[..], &[("do", "power-off")]].concat()).await;
    alike.must(200).says("of 1 accepted");
    let ids: Vec<String> = (0..101).map(|n| uuid::Uuid::from_u128(n).to_string()).collect();
    let many: Vec<(&str, &str)> = ids.iter().map(|id| ("pick", id.as_str())).collect();
    admin.post(&bulk, &[&many[..], &[("do", "power-off")]].concat()).await.must(422).says("At most 100");
}

#[tokio::test]
async fn many_vms_are_shut_down_at_once() {
    let stage = Stage::set().await;
    let (_, first) = stage.vapp("first", "builder").await;
    let (_, second) = stage.vapp("second", "builder").await;
    stage.seen(&first, "power = 'on', obs_state = 'running'").await;
    stage.stopped(&second).await;
    let builder = stage.app.sign_in("acme", "builder").await;
    builder.get(&at("/vms")).await.must(200).says("With what is chosen");
    let picks = [("pick", first.as_str()), ("pick", second.as_str()), ("do", "shutdown")];
    builder.post(&at("/vms/bulk"), &picks).await.must(200).says("1 of 2 accepted");
}

#[tokio::test]
async fn many_vms_get_a_tag_and_lose_it_at_once() {
    let stage = Stage::set().await;
    let (_, first) = stage.vapp("first", "builder").await;
    let (_, second) = stage.vapp("second", "builder").await;
    let (_, foreign) = stage.vapp("foreign", "other").await;
    let builder = stage.app.sign_in("acme", "builder").await;
    builder.get(&at("/vms")).await.must(200).says("Add a tag…").says("Remove a tag…");
    builder.get(&at("/vapps")).await.must(200).says_not("Add a tag…");
    let bulk = at("/vms/bulk");
    let form = |more: &[(&'static str, &'static str)]| {
        let picks = [("pick", first.as_str()), ("pick", second.as_str()), ("pick", foreign.as_str())];
        [&picks[..], more].concat()
    };
    builder.post(&bulk, &form(&[("do", "tag")])).await.must(200).says("Add a tag to 3 VMs");
    let empty = builder.post(&bulk, &form(&[("do", "tag"), ("sure", "on"), ("tag", " ")])).await.must(200);
    empty.says("Say which tag it is.");
    let odd = builder.post(&bulk, &form(&[("do", "tag"), ("sure", "on"), ("tag", "no space")])).await.must(200);
    odd.says("0 of 3 accepted").says("can't be a tag");
    let done = builder.post(&bulk, &form(&[("do", "tag"), ("sure", "on"), ("tag", "Web")])).await.must(200);
    done.says("Add a tag: 2 of 3 accepted").says("There is no such VM").says_not("foreign");
    builder.post(&bulk, &form(&[("do", "tag"), ("sure", "on"), ("tag", "tier:1")])).await.must(200);
    let tags = async |vm: &str| {
        let sql = format!("select coalesce(string_agg(tag, ' ' order by tag), '') from vm_tags where vm_id = '{vm}'");
        stage.app.db.text(&sql).await
    };
    assert_eq!((tags(&first).await.as_str(), tags(&foreign).await.as_str()), ("tier:1 web", ""), "others stay");
    let done = builder.post(&bulk, &form(&[("do", "untag"), ("sure", "on"), ("tag", "WEB")])).await.must(200);
    done.says("Remove a tag: 2 of 3 accepted");
    assert_eq!((tags(&first).await, tags(&second).await), ("tier:1".into(), "tier:1".into()));
    builder.post(&at("/vapps/bulk"), &form(&[("do", "tag")])).await.must(422).says("Choose what to do");
}

#[tokio::test]
async fn many_disks_networks_and_catalog_items_are_deleted_at_once_and_each_says_what_became_of_it() {
    let stage = Stage::set().await;
    let (d, vdc) = (&stage.app.domain, stage.acme.vdc("prod"));
    let admin = stage.app.actor(stage.acme.admin()).await;
    let disk = async |name: &str| {
        let spec = DiskSpec { name: name.into(), size_mb: 1024, ..DiskSpec::default() };
        disk::create(d, &admin, vdc, spec).await.unwrap().0.to_string()
    };
    let network = async |name: &str, gateway: &str| {
        let form =
            NetworkForm { name: name.into(), gateway: gateway.into(), prefix: "24".into(), ..Default::default() };
        network::create(d, &admin, vdc, form).await.unwrap().id.to_string()
    };
    let disks = [disk("one").await, disk("two").await];
    let networks = [network("front", "10.7.0.1").await, network("back", "10.8.0.1").await];
    let catalog = stage.catalog(stage.acme.id, "linux", false).await;
    let items = [
        stage.template(catalog, "fedora", WEB, ("", "")).await,
        stage.template(catalog, "debian", WEB, ("", "")).await,
    ];
    // one of each can't go
    let (_, vm) = stage.vapp("shop", "builder").await;
    stage.app.db.execute(&format!("update disks set vm_id = '{vm}' where id = '{}'", disks[1])).await;
    stage.app.db.execute(&format!("update templates set source = 'hub' where id = '{}'", items[1])).await;
    let client = stage.app.sign_in("acme", "acme-admin").await;
    let lists = [at("/disks"), at("/networks"), at(format!("/catalogs/{catalog}"))];
    for (list, of, ids, asks, done) in [
        (&lists[0], "/disks", &disks, "Delete 2 disks?", "Delete: 1 of 2 accepted"),
        (&lists[1], "/networks", &networks, "Delete 2 networks?", "Delete: 2 of 2 accepted"),
        (&lists[2], "/templates", &items, "Delete 2 catalog items?", "Delete: 1 of 2 accepted"),
    ] {
        client.get(list).await.must(200).says("With what is chosen").says_not("Power on");
        let bulk = at(format!("{of}/bulk"));
        let form = |more: &[(&'static str, &'static str)]| {
            [&[("pick", ids[0].as_str()), ("pick", ids[1].as_str())][..], more].concat()
        };
        client.post(&bulk, &form(&[("do", "power-on")])).await.must(422).says("Choose what to do");
        client.post(&bulk, &form(&[("do", "delete")])).await.must(200).says(asks);
        let told = client.post(&bulk, &form(&[("do", "delete"), ("sure", "on")])).await.must(200).says(done);
        let rows = format!("audit where request_id = '{}'", told.request_id());
        assert_eq!(stage.app.db.count(&rows).await, 2, "one row each");
    }
    let left = "select (select count(*) from disks where independent and deleted_at is null)
                    || ' ' || (select count(*) from networks where deleted_at is null)
                    || ' ' || (select count(*) from templates where deleted_at is null)";
    assert_eq!(stage.app.db.text(left).await, "1 0 1");
}
