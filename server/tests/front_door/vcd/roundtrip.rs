//! Whatever people call their things: every document can be read, says what was written, and written again it is the same.
use super::{
    client::path,
    documents::{Documents, method_of},
    golden::file,
    hostile::{carried, text},
};
use rand::{SeedableRng, rngs::StdRng};
use server::vcd_routes;
use std::{collections::BTreeSet, fs};
use xml::{Element, Limits, again, parse};

pub(super) const LIMITS: Limits = Limits {
    what: "document",
    bytes: 64 << 20,
    depth: 32,
    elements: 100_000,
    attributes: 64,
    name_bytes: 100,
    lenient: false,
};

/// People's words: table, column, how long they are at least and at most, and whose.
#[rustfmt::skip]
const WORDS: &[(&str, &str, usize, usize, &str)] = &[
    ("organizations", "display_name", 1, 128, "org"), ("organizations", "description", 0, 2000, "org"),
    ("users", "full_name", 0, 128, "user"), ("users", "full_name", 0, 128, "other-user"),
    ("roles", "name", 1, 128, "own-role"), ("roles", "description", 0, 2000, "own-role"),
    ("vdcs", "description", 0, 2000, "vdc"), ("catalogs", "description", 0, 2000, "own-catalog"),
    ("templates", "name", 1, 128, "template"), ("templates", "description", 0, 2000, "template"),
    ("templates", "name", 1, 128, "own-template"), ("templates", "description", 0, 2000, "own-template"),
    ("templates", "name", 1, 128, "media"), ("templates", "description", 0, 2000, "media"),
    ("vapps", "name", 1, 128, "vapp"), ("vapps", "description", 0, 2000, "vapp"),
    ("vms", "name", 1, 128, "vm"), ("vms", "description", 0, 2000, "vm"), ("vms", "os", 1, 100, "vm"),
    ("networks", "name", 1, 128, "network"), ("networks", "description", 0, 2000, "network"), ("networks", "dns_suffix", 0, 253, "network"),
    ("disks", "name", 1, 128, "disk"), ("disks", "description", 0, 2000, "disk"),
    ("affinity_rules", "name", 1, 128, "rule"),
    ("tasks", "object_name", 1, 128, "task"), ("tasks", "user_name", 1, 128, "task"),
];

/// Addresses at which this world has nothing to show: what is answered there is an error, which is a document too.
const NOTHING: &[&str] = &["/api/vApp/vm-{id}/question"];

/// The prefixes that the root declares, in their order.
fn declared(document: &str) -> Vec<(String, String)> {
    let root = document.split_once("?>").map_or(document, |(_, rest)| rest);
    let tag = &root[..root.find('>').unwrap_or(root.len())];
    tag.split(" xmlns")
        .skip(1)
        .filter_map(|part| {
            let (prefix, rest) = part.split_once("=\"")?;
            Some((prefix.trim_start_matches(':').to_owned(), rest.split('"').next()?.to_owned()))
        })
        .collect()
}

/// Reads it, makes sure that it comes back to the last byte, and gives it back.
pub(super) fn read_twice(what: &str, document: &str) -> Result<Element, String> {
    let root = parse(document, &LIMITS).map_err(|e| format!("{what} can't be read: {e}\n{document}"))?;
    let prefixes = declared(document);
    let prefixes: Vec<(&str, &str)> = prefixes.iter().map(|(p, of)| (p.as_str(), of.as_str())).collect();
    let written = again(&root, &prefixes);
    if written != document {
        let at = written.bytes().zip(document.bytes()).take_while(|(a, b)| a == b).count();
        let near = |text: &str| text.chars().skip(at.saturating_sub(40)).take(120).collect::<String>();
        return Err(format!("{what} is written again as\n  {}\nand was\n  {}", near(&written), near(document)));
    }
    Ok(root)
}

/// All values of attributes and all texts.
pub(super) fn values(e: &Element, into: &mut BTreeSet<String>) {
    into.extend(e.attrs().map(|(_, value)| value.to_owned()));
    into.insert(e.text.clone());
    e.children.iter().for_each(|c| values(c, into));
}

/// New words everywhere; what they are.
async fn rewrite(world: &Documents, rng: &mut StdRng) -> Vec<(String, String)> {
    let mut said = Vec::new();
    for (table, column, least, most, of) in WORDS {
        let words = text(rng, *least, *most);
        let sql =
            format!("update {table} set {column} = '{}' where id = '{}'", words.replace('\'', "''"), world.id(of));
        world.stage.app.db.execute(&sql).await;
        said.push((format!("{table}.{column} of {of}"), words));
    }
    let value = text(rng, 0, 1000);
    let sql =
        format!("update metadata set value = '{}' where object_id = '{}'", value.replace('\'', "''"), world.id("vapp"));
    world.stage.app.db.execute(&sql).await;
    said.push(("a value of metadata".into(), value));
    said
}

#[tokio::test]
async fn every_document_says_what_was_written_whatever_that_is() {
    let mut world = Documents::set().await;
    world.more().await;
    let tried: BTreeSet<&str> = world.all.iter().map(|one| one.name.as_str()).collect();
    for golden in fs::read_dir(file("")).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()) {
        assert!(tried.contains(golden.as_str()), "{golden} is not among the documents that are tried");
    }
    world.stage.hubs.kill_controller();
    let routes: Vec<&str> = vcd_routes(&world.stage.app.state)
        .into_iter()
        .filter(|r| r.method == "GET" && r.path.starts_with("/api/") && r.path != "/api/query")
        // a picture
        .filter(|r| !r.path.ends_with("/screen"))
        .map(|r| r.path)
        .collect();
    let mut rng = StdRng::seed_from_u64(66);
    let mut wrong: BTreeSet<String> = BTreeSet::new();
    for round in 0..4 {
        let said = rewrite(&world, &mut rng).await;
        let mut found = BTreeSet::new();
        for one in &world.all {
            let answer = world.by(one.provider).call(method_of(&one.name), &path(&one.path), "").await;
            if one.name.ends_with(".json") {
                answer.json();
                continue;
            }
            match read_twice(&one.name, &answer.text) {
                Ok(root) => values(&root, &mut found),
                Err(why) => drop(wrong.insert(why)),
            }
        }
        for route in &routes {
            let target = world.at(route);
            let mut answer = world.by(false).get(&target).await;
            if answer.status == 403 {
                answer = world.by(true).get(&target).await;
            }
            if answer.status.is_success() == NOTHING.contains(route) {
                wrong.insert(format!("{route}: {} {}", answer.status, answer.text));
            }
            match read_twice(route, &answer.text) {
                Ok(root) => values(&root, &mut found),
                Err(why) => drop(wrong.insert(why)),
            }
            let accept = [
                ("accept", "application/*+json;version=37.0"),
                ("authorization", &format!("Bearer {}", world.by(true).token)),
            ];
            let json = world.by(true).send("GET", &target, "", &accept.map(|(n, v)| (n, v))).await;
            if serde_json::from_str::<serde_json::Value>(&json.text).is_err() {
                wrong.insert(format!("{route} as JSON: {}", json.text));
            }
        }
        for (what, words) in said {
            if !found.contains(&carried(&words)) {
                wrong.insert(format!("round {round}: {what} stands nowhere: {words:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}
