//! The first page of each portal: what is true, what needs somebody, for everybody as far as they may see it.
use crate::harness::TestApp;
use domain::org;
use model::{Right, org::PROVIDER, role::Predefined::*};

#[tokio::test]
async fn everybody_learns_what_they_may_see_and_what_to_do() {
    let app = TestApp::start().await;
    app.org("acme").vdc("prod").user("user", VappUser).user("console", ConsoleAccessOnly).make().await;
    app.org("globex").vdc("other").vdc("third").make().await;

    let home = app.sign_in("acme", "acme-admin").await.get("/tenant/acme").await.must(200);
    let home =
        home.says("1 VDC, no VMs and 3 users. Nothing failed in the last 24 hours.").says("Nothing waits for you.");
    let home = home.says("Quota by VDC").says("prod").says("Create VDC prod").says_not("other");
    assert!(home.link("All VDCs").is_some() && home.link("New VDC").is_none(), "the first day is over");

    let home = app.sign_in("acme", "user").await.get("/tenant/acme").await.must(200);
    home.says("1 VDC and no VMs. Nothing you asked for failed").says("prod").says_not("3 users").says_not("Create VDC");

    let home = app.sign_in("acme", "console").await.get("/tenant/acme").await.must(200);
    let home = home.says("What you can do here").says("vApp: Use Console").says("ask an administrator of acme");
    home.says_not("prod").says_not("Quota");
}

#[tokio::test]
async fn the_first_day_begins_with_what_one_can_make() {
    let app = TestApp::start().await;
    app.provider()
        .await
        .get("/provider")
        .await
        .must(200)
        .says("1 organization, no VDCs, no VMs and 1 user.")
        .says("Create the first");
    app.org("acme").user("user", VappUser).make().await;
    let home = app
        .sign_in("acme", "acme-admin")
        .await
        .get("/tenant/acme")
        .await
        .must(200)
        .says("No VDCs, no VMs and 2 users.");
    assert_eq!(home.link("New VDC").as_deref(), Some("/tenant/acme/vdcs/new"));
    assert_eq!(home.link("New user").as_deref(), Some("/tenant/acme/users/new"));
    let home = app.sign_in("acme", "user").await.get("/tenant/acme").await.must(200).says("No VDC yet");
    assert_eq!((home.link("New VDC"), home.link("New user")), (None, None));
}

#[tokio::test]
async fn what_failed_and_what_is_nearly_full_needs_somebody() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").user("user", VappUser).user("author", VappAuthor).make().await;
    app.org("globex").make().await;
    let (vdc, author) = (acme.vdc("prod"), acme.user("author"));
    for (id, ago) in [(1, "1 hour"), (2, "25 hours")] {
        app.db
            .execute(&format!(
                "insert into tasks (id, org_id, user_id, user_name, operation, object_kind, object_id, object_name, status, message,
                                    started_at, ended_at, deadline)
                 values ('00000000-0000-0000-0000-00000000000{id}', '{}', '{author}', 'author', 'vdc.edit', 'vdc', '{vdc}', 'prod',
                         'error', 'Reason {id}.', now() - interval '{ago}', now(), now())",
                acme.id
            ))
            .await;
    }
    app.db.execute("update vdcs set cpu_limit = 32, cpus_used = 29, vm_limit = 10, vms_used = 3").await;
    app.db
        .execute("update organizations set memory_limit_mb = 10240, memory_used_mb = 10240 where name = 'acme'")
        .await;

    let admin = app.sign_in("acme", "acme-admin").await.get("/tenant/acme").await.must(200);
    let admin = admin.says("1 task failed in the last 24 hours.").says("Edit VDC prod failed Reason 1.");
    let admin = admin.says("prod is nearly full 29 of 32 vCPU used. Free some, or raise the limit.");
    admin.says("acme is full 10 of 10 GB of memory used").says_not("of 10 VMs used").says_not("Nothing waits");

    // tasks are one's own without the right to see all; limits are everybody's who sees the VDC
    let author = app.sign_in("acme", "author").await.get("/tenant/acme").await.must(200);
    author.says("1 task of yours failed").says("Reason 1.").says("or have the limit raised by an administrator");
    let user = app.sign_in("acme", "user").await.get("/tenant/acme").await.must(200);
    user.says("Nothing you asked for failed").says_not("Reason 1.").says("prod is nearly full");

    let provider = app.provider().await.get("/provider").await.must(200);
    let provider = provider.says("3 organizations, 1 VDC, no VMs and 5 users. 1 task failed in the last 24 hours.");
    provider.says("Edit VDC prod failed Reason 1.").says("acme is full").says_not("prod is nearly full");
    let globex = app.sign_in("globex", "globex-admin").await.get("/tenant/globex").await.must(200);
    globex.says_not("Reason 1.").says_not("prod");

    // what is gone needs nobody any more; that it failed is still said
    app.db.execute("update vdcs set deleted_at = now() where name = 'prod'").await;
    let provider = app.provider().await.get("/provider").await.must(200);
    provider.says("1 task failed in the last 24 hours.").says_not("Edit VDC prod failed").says_not("1 more task");
}

#[tokio::test]
async fn the_provider_sees_the_numbers_behind_which_the_lists_are() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    app.org("globex").make().await;
    for _ in 0..2 {
        app.browser().post("/sign-in", &[("org", "globex"), ("user", "nobody"), ("password", "wrong")]).await;
    }
    org::set_enabled(&app.domain, &app.operator().await, acme.id, false).await.unwrap();
    let provider = app.provider().await;
    let home = provider.get("/provider").await.must(200).says("2 refused sign-ins").says("1 disabled");
    for (words, rows) in
        [("3 organizations", 3), ("1 disabled", 1), ("1 VDC", 1), ("3 users", 3), ("2 refused sign-ins", 2)]
    {
        let list = home.link(words).unwrap_or_else(|| panic!("no link {words}"));
        let page = provider.get(&list).await.must(200);
        assert_eq!(page.body.matches("<tr role=\"row\" id=").count(), rows, "{list}");
    }
    provider.get("/tenant/acme").await.must(200).says("acme is disabled Nobody of it can sign in");
}

#[tokio::test]
async fn a_provider_of_few_rights_still_has_pages() {
    let app = TestApp::start().await;
    app.org("acme").vdc("prod").make().await;
    let system = app.operator().await.org;
    let role = app.role(system, "Clerk", &[Right::OrgView]).await;
    app.user(system, "clerk", role).await;
    let clerk = app.sign_in(PROVIDER, "clerk").await;
    clerk.get("/provider").await.must(200).says("2 organizations and no VMs.").says_not("1 VDC").says_not("2 users");
    clerk.get("/provider/organizations").await.must(200);
    clerk.get("/tenant/acme").await.must(200).says("acme").says_not("prod");
}
