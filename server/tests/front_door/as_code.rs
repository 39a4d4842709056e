//! What pages print as code: on every page that makes something and of every object, and what is printed for curl is run.
use crate::{
    harness::{ADMINISTRATOR, Answer, Client, PASSWORD, TestApp},
    matrix::{
        TABLE,
        world::{Session, World},
    },
    stage::Stage,
};
use model::org::PROVIDER;
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

/// What a page prints: after `data-code` for a tool, after `data-sign-in` how to sign in with it.
fn printed(page: &Answer, mark: &str, tool: &str) -> Option<String> {
    let at = page.body.find(&format!("{mark}=\"{tool}\""))?;
    let inside = &page.body[at + page.body[at..].find('>')? + 1..];
    let html = inside[..inside.find("</pre>")?].replace("<!>", "");
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    Some(pairs.iter().fold(html, |text, (from, to)| text.replace(from, to)))
}

/// Pages that make something, and those of things. What a VM or vApp is made of is changed on pages of their own, which are not among them.
fn has_panel(path: &str) -> bool {
    let makes = ["/new", "/upload", "/capture", "/copy", "/deploy", "/affinity", "vapps/{id}/add"];
    let shows = path.ends_with("/{id}") || path.ends_with("/organization") || path.ends_with("/affinity/{id}/edit");
    shows || makes.iter().any(|end| path.ends_with(end))
}

async fn walk(session: Session, place: &str) {
    let world = World::new().await;
    let (client, _) = world.visitor(session).await;
    let mut missing = vec![];
    let mut seen = 0;
    for (_, pattern, _, kind) in TABLE.iter().filter(|(m, p, ..)| *m == "GET" && p.starts_with(place) && has_panel(p)) {
        let id = match kind {
            Some(kind) => world.own(*kind, pattern, false).await,
            None => String::new(),
        };
        let chosen =
            if kind.is_none() && pattern.ends_with("/new") { format!("?org={}", world.acme.id) } else { String::new() };
        let path = format!("{}{chosen}", pattern.replace("{org}", "acme").replace("{id}", &id));
        let page = client.get(&path).await.must(200);
        seen += 1;
        // what is shown of each of the three: code, or why there is none
        let panes =
            page.body.split("\"code-pane\"").skip(1).map(|pane| pane.split("id=\"sign-in-").next().unwrap_or_default());
        let said = panes.filter(|pane| pane.contains("<pre") || pane.contains("\"hint\"")).count();
        if said != 3 {
            missing.push((pattern, said));
        }
        assert!(!page.body.contains(PASSWORD), "{pattern} prints a password");
    }
    assert!(seen > 20, "{seen} pages");
    assert!(missing.is_empty(), "without code: {missing:#?}");
}

#[tokio::test]
async fn every_page_of_the_provider_that_makes_or_shows_a_thing_says_it_as_code() {
    walk(Session::Of(PROVIDER, ADMINISTRATOR), "/provider").await;
}

#[tokio::test]
async fn every_page_of_a_tenant_that_makes_or_shows_a_thing_says_it_as_code() {
    walk(Session::Of("acme", "an-admin"), "/tenant").await;
}

/// A stage that curl can reach, and a directory with files to upload.
struct Printed {
    stage: Stage,
    at: SocketAddr,
    dir: PathBuf,
}

impl Printed {
    /// None: there is no curl on this machine.
    async fn set(name: &str) -> Option<Printed> {
        if Command::new("curl").arg("--version").output().is_err() {
            eprintln!("curl is not here, so nothing is run");
            return None;
        }
        let stage = Stage::set().await;
        stage.app.follow_changes();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let service = stage.app.router.clone().into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("as-code-{name}"));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("my-image.ova"), b"not much of an archive").unwrap();
        std::fs::write(dir.join("my-image.iso"), vec![7; 40_000]).unwrap();
        Some(Printed { stage, at, dir })
    }

    fn app(&self) -> &TestApp {
        &self.stage.app
    }

    /// Runs what the page prints for curl, after what it prints for signing in; gives what it said.
    async fn run(&self, page: &Answer) -> String {
        let code =
            printed(page, "data-code", "curl").unwrap_or_else(|| panic!("{} prints nothing for curl", page.asked));
        let door = printed(page, "data-sign-in", "curl").unwrap();
        let script =
            format!("set -eu\n{door}\n{code}\n").replace("http://cloud.example.com", &format!("http://{}", self.at));
        let (dir, asked) = (self.dir.clone(), page.asked.clone());
        let said = tokio::task::spawn_blocking(move || {
            Command::new("sh")
                .args(["-c", &script])
                .current_dir(dir)
                .env("SSVIRT_PASSWORD", PASSWORD)
                .env("NEW_PASSWORD", "a \"new\" pass\\word")
                .env("no_proxy", "*")
                .output()
                .map(|out| (script, out))
        });
        let (script, out) = said.await.unwrap().unwrap();
        let (said, error) = (String::from_utf8_lossy(&out.stdout).into_owned(), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{asked}\n{script}\n{said}\n{error}");
        said
    }

    async fn count(&self, rows: &str) -> i64 {
        self.app().db.count(rows).await
    }
}

/// Opens the page, runs what it prints, and finds the row that it makes.
async fn makes(p: &Printed, client: &Client, path: &str, rows: &str) {
    let page = client.get(path).await.must(200);
    p.run(&page).await;
    assert_eq!(p.count(rows).await, 1, "{path}: {rows}");
}

/// The page's own code finds the thing that the page is about.
async fn shows(p: &Printed, client: &Client, path: &str) {
    let page = client.get(path).await.must(200);
    let said = p.run(&page).await;
    let id = path.rsplit('/').next().unwrap();
    assert!(said.contains(id), "{path}: {said}");
}

#[tokio::test]
async fn what_a_tenants_pages_print_for_curl_does_what_their_forms_do() {
    let Some(p) = Printed::set("tenant").await else { return };
    let admin = p.app().sign_in("acme", &p.stage.admin.name).await;
    let at = |rest: &str| format!("/tenant/acme/{rest}");
    let id = async |sql: &str| p.app().db.text(&format!("select id::text from {sql}")).await;

    makes(&p, &admin, &at("vapps/new"), "vapps where name = 'my-vapp'").await;
    let vapp = id("vapps where name = 'my-vapp'").await;
    makes(&p, &admin, &at(&format!("vapps/{vapp}/add")), "vms where name = 'my-vm' and cpus = 2 and memory_mb = 4096")
        .await;
    makes(&p, &admin, &at("disks/new"), "disks where name = 'my-disk' and size_mb = 10240").await;
    makes(&p, &admin, &at("networks/new"), "networks where name = 'my-network'").await;
    makes(&p, &admin, &at("catalogs/new"), "catalogs where name = 'my-catalog'").await;
    assert_eq!(p.count("shares s join catalogs c on c.id = s.object_id where c.name = 'my-catalog'").await, 1);
    makes(&p, &admin, &at("users/new"), "users where name = 'my-user'").await;
    makes(&p, &admin, &at("roles/new"), "roles where name = 'my-role'").await;
    makes(&p, &admin, &at("vdcs/new"), "vdcs where name = 'my-vdc'").await;
    let signed_in = [("org", "acme"), ("user", "my-user"), ("password", "a \"new\" pass\\word")];
    p.app().browser().post("/sign-in", &signed_in).await.must(303);

    let catalog = id("catalogs where name = 'my-catalog'").await;
    makes(
        &p,
        &admin,
        &at(&format!("catalogs/{catalog}/upload")),
        "uploads u join templates t on t.id = u.template_id where t.name = 'my-template'",
    )
    .await;
    let typed = [("kind", "media"), ("name", ""), ("description", "")];
    let media = admin.post(&at(&format!("catalogs/{catalog}/upload")), &typed).await.must(422);
    p.run(&media).await;
    assert_eq!(p.count("templates where name = 'my-media' and kind = 'media'").await, 1);

    let pair = p.stage.template("web-and-db").await.unwrap().id;
    let linux = p.stage.template("ubuntu-24.04").await.unwrap().id;
    let vdc = p.stage.acme.vdc("prod");
    // the name of the first one is taken now: what is typed is what is written
    let deploy = at(&format!("templates/{pair}/deploy?vdc={vdc}"));
    let typed = [("name", ""), ("vdc", &vdc.to_string()), ("description", "two of them")];
    let page = admin.fill(&deploy, &typed).await.must(422);
    let page_code = printed(&page, "data-code", "curl").unwrap();
    assert!(page_code.contains("two of them"), "{page_code}");
    let name = "it's \"$(id)\" <&> ${x}";
    let typed = [("name", name), ("vdc", ""), ("description", "first\nXML\nlast")];
    let page = admin.fill(&at(&format!("templates/{linux}/deploy")), &typed).await.must(422);
    p.run(&page).await;
    let stored = "vapps where name = 'it''s \"$(id)\" <&> ${x}' and description = E'first\\nXML\\nlast'";
    assert_eq!(p.count(stored).await, 1);

    let shop = p.stage.deploy("web-and-db", "shop").await;
    let vms = p.stage.running(shop).await;
    shows(&p, &admin, &at(&format!("vapps/{shop}"))).await;
    shows(&p, &admin, &at(&format!("vms/{}", vms[0].id))).await;
    makes(&p, &admin, &at(&format!("vms/{}/snapshots/new", vms[0].id)), "snapshots where name = 'my-snapshot'").await;
    makes(&p, &admin, &at(&format!("vdcs/{vdc}/affinity")), "affinity_rules where name = 'my-rule'").await;
    shows(&p, &admin, &at(&format!("vdcs/{vdc}"))).await;
    shows(&p, &admin, &at(&format!("catalogs/{catalog}"))).await;
    shows(&p, &admin, &at(&format!("templates/{pair}"))).await;
    for (path, sql) in [
        ("disks", "disks where name = 'my-disk'"),
        ("networks", "networks where name = 'my-network'"),
        ("users", "users where name = 'my-user'"),
        ("roles", "roles where name = 'my-role'"),
        ("templates", "templates where name = 'my-media'"),
        ("tasks", "tasks order by started_at desc limit 1"),
    ] {
        let id = id(sql).await;
        shows(&p, &admin, &at(&format!("{path}/{id}"))).await;
    }
    let rule = id("affinity_rules where name = 'my-rule'").await;
    let page = admin.get(&at(&format!("affinity/{rule}/edit"))).await.must(200);
    assert!(p.run(&page).await.contains(&rule));
}

#[tokio::test]
async fn what_the_providers_pages_print_for_curl_does_what_their_forms_do() {
    let Some(p) = Printed::set("provider").await else { return };
    let provider = p.app().provider().await;
    let acme = p.stage.acme.id;
    makes(&p, &provider, "/provider/organizations/new", "organizations where name = 'my-org'").await;
    assert_eq!(
        p.count("users u join organizations o on o.id = u.org_id where o.name = 'my-org' and u.name = 'my-admin'")
            .await,
        1
    );
    makes(&p, &provider, "/provider/sizing/new", "sizing_policies where name = 'my-size'").await;
    for (path, rows) in [
        ("vdcs/new", "vdcs where name = 'my-vdc'"),
        ("users/new", "users where name = 'my-user'"),
        ("roles/new", "roles where name = 'my-role'"),
        ("catalogs/new", "catalogs where name = 'my-catalog'"),
    ] {
        let rows = format!("{rows} and org_id = '{acme}'");
        makes(&p, &provider, &format!("/provider/{path}?org={acme}"), &rows).await;
    }
    let id = async |sql: &str| p.app().db.text(&format!("select id::text from {sql}")).await;
    for (path, sql) in [
        ("organizations", "organizations where name = 'my-org'"),
        ("sizing", "sizing_policies where name = 'my-size'"),
        ("storage", "storage_policies where is_default"),
        ("vdcs", "vdcs where name = 'my-vdc'"),
        ("users", "users where name = 'my-user'"),
        ("roles", "roles where name = 'my-role'"),
        ("catalogs", "catalogs where name = 'my-catalog'"),
    ] {
        let id = id(sql).await;
        shows(&p, &provider, &format!("/provider/{path}/{id}")).await;
    }
}
