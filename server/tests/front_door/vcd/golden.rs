//! Documents as they are, one of each type, so that nobody changes one without seeing it. A file that is not there is written: delete
//! one to have it anew, and look at what differs.
use super::{
    client::path,
    documents::{Document, Documents, method_of},
    roundtrip::read_twice,
};
use server::vcd_routes;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

/// Ids, times and what else differs from run to run have a number of their own, in the order in which they come.
#[derive(Default)]
struct Plain {
    known: BTreeMap<String, String>,
}

impl Plain {
    fn of(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let found = [uuid(rest), time(rest), mac(rest), address(rest), ticket(rest), hex(rest, &out)];
            let found = found.into_iter().flatten().max();
            match found {
                Some(length) => {
                    let (word, after) = rest.split_at(length);
                    let count = self.known.len() + 1;
                    let kind = match word {
                        ticket if ticket.starts_with("cst-") => "TICKET".to_owned(),
                        time if time.contains('T') => "TIME".to_owned(),
                        _ => format!("ID{count}"),
                    };
                    out.push_str(self.known.entry(word.to_owned()).or_insert(kind));
                    rest = after;
                }
                None => {
                    out.push(c);
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        out.replace("><", ">\n<").replace("},{", "},\n{")
    }
}

fn uuid(text: &str) -> Option<usize> {
    text.get(..36).filter(|t| uuid::Uuid::try_parse(t).is_ok()).map(|_| 36)
}

fn time(text: &str) -> Option<usize> {
    let form = |t: &str| {
        let b = t.as_bytes();
        b[4] == b'-' && b[7] == b'-' && b[10] == b'T' && b[13] == b':' && b[..4].iter().all(u8::is_ascii_digit)
    };
    text.get(..20).filter(|t| form(t)).map(|_| text.find('Z').map_or(20, |z| z + 1).min(40))
}

fn mac(text: &str) -> Option<usize> {
    let form = |t: &str| t.split(':').all(|o| o.len() == 2 && o.bytes().all(|b| b.is_ascii_hexdigit()));
    text.get(..17).filter(|t| t.matches(':').count() == 5 && form(t)).map(|_| 17)
}

/// What a simulated hub hands out.
fn address(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    text.starts_with("10.198.").then_some(length)
}

/// What opens a console.
fn ticket(text: &str) -> Option<usize> {
    text.starts_with("cst-").then_some(47)
}

/// The end of a name on a hub.
fn hex(text: &str, before: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    (before.ends_with('-') && digits == 12).then_some(12)
}

pub(super) fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/front_door/vcd/golden").join(name)
}

#[tokio::test]
async fn every_type_of_document_is_as_it_was() {
    let world = Documents::set().await;
    let mut wrong = Vec::new();
    for Document { name, path: target, provider } in &world.all {
        let said = world.by(*provider).call(method_of(name), &path(target), "").await;
        if name != "error.xml" {
            assert!(said.status.is_success(), "{name} {target}: {} {}", said.status, said.text);
        }
        let text = Plain::default().of(&said.text);
        if !file(name).exists() {
            fs::create_dir_all(file("")).unwrap();
            fs::write(file(name), &text).unwrap();
            wrong.push(format!("{name} was not there, and is written"));
            continue;
        }
        let before = fs::read_to_string(file(name)).unwrap_or_default();
        if let Some((a, b)) = before.lines().zip(text.lines()).find(|(a, b)| a != b) {
            wrong.push(format!("{name}:\n  was {a}\n  is  {b}"));
        } else if before.lines().count() != text.lines().count() {
            wrong.push(format!("{name}: was {} lines, is {}", before.lines().count(), text.lines().count()));
        }
    }
    assert!(wrong.is_empty(), "{}\nIf that is meant, delete the file and run the test once more.", wrong.join("\n"));
}

/// What documents are made of: one line for each element with its attributes, and each key with its kind of value. Links by their relation.
fn shape_of_xml(e: &xml::Element, under: &str, into: &mut BTreeSet<String>) {
    let attributes: BTreeSet<&str> = e.attrs().map(|(name, _)| name).collect();
    let rel = e.attr("rel").filter(|_| e.name == "Link").map(|rel| format!("={rel}")).unwrap_or_default();
    let at = format!("{under}/{}{rel}", e.name);
    into.insert(format!("{at} {}", attributes.into_iter().collect::<Vec<_>>().join(" ")).trim_end().to_owned());
    e.children.iter().for_each(|c| shape_of_xml(c, &at, into));
}

fn shape_of_json(value: &serde_json::Value, at: &str, into: &mut BTreeSet<String>) {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String};
    let kind = match value {
        Object(map) => return map.iter().for_each(|(key, value)| shape_of_json(value, &format!("{at}/{key}"), into)),
        Array(all) if !all.is_empty() => return all.iter().for_each(|v| shape_of_json(v, &format!("{at}[]"), into)),
        Array(_) => "none",
        Null => "null",
        Bool(_) => "bool",
        Number(_) => "number",
        String(_) => "text",
    };
    into.insert(format!("{at} {kind}"));
}

/// What differs with what happened meanwhile, and not by what is written.
const PASSING: &[&str] = &["Tasks", "endTime", "Link=task:cancel"];

#[tokio::test]
async fn every_document_that_can_be_read_is_made_of_what_it_was_made_of() {
    let mut world = Documents::set().await;
    world.more().await;
    let db = &world.stage.app.db;
    world.stage.until("rest", async || db.count("tasks where status in ('queued', 'running')").await == 0).await;
    world.stage.hubs.kill_controller();
    let mut asked: Vec<(String, String)> = vcd_routes(&world.stage.app.state)
        .into_iter()
        // a picture, and a description of all of this that has a test of its own
        .filter(|r| {
            r.method == "GET"
                && !r.path.ends_with("/screen")
                && !r.path.ends_with("openapi.json")
                && r.path != "/api/query"
        })
        .map(|r| (r.path.to_owned(), world.at(r.path)))
        .collect();
    let mut types = BTreeSet::new();
    for provider in [false, true] {
        let list = world.by(provider).get("/api/query").await.must(200);
        types.extend(list.text.split("query?type=").skip(1).map(|l| l[..l.find('&').unwrap()].to_owned()));
    }
    for kind in types {
        for format in ["records", "idrecords", "references"] {
            let target = format!("/api/query?type={kind}&format={format}");
            asked.push((target.clone(), target));
        }
    }
    let mut shapes = String::new();
    asked.sort();
    for (name, target) in asked {
        let mut said = world.by(false).get(&target).await;
        if matches!(said.status.as_u16(), 400 | 403) {
            said = world.by(true).get(&target).await;
        }
        let mut lines = BTreeSet::new();
        match serde_json::from_str(&said.text) {
            Ok(json) => shape_of_json(&json, "", &mut lines),
            Err(_) => shape_of_xml(&read_twice(&name, &said.text).unwrap(), "", &mut lines),
        }
        lines.retain(|line| !PASSING.iter().any(|word| line.contains(&format!("/{word}"))));
        let lines: Vec<String> = lines.into_iter().map(|line| line.replace(" endTime", "")).collect();
        shapes.push_str(&format!("GET {name}: {}\n  {}\n", said.status.as_u16(), lines.join("\n  ")));
    }
    let file = file("").with_file_name("shapes.txt");
    let before = fs::read_to_string(&file).unwrap_or_default();
    if before.is_empty() {
        fs::write(&file, &shapes).unwrap();
        panic!("shapes.txt was not there, and is written");
    }
    let parts = |text: &str| -> BTreeMap<String, String> {
        let of = |part: &str| part.split_once('\n').map(|(head, rest)| (head.to_owned(), rest.to_owned()));
        text.split("GET ").filter_map(of).collect()
    };
    let (before, after) = (parts(&before), parts(&shapes));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let wrong: Vec<String> = names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| match (before.get(name), after.get(name)) {
            (None, _) => format!("{name} is not in shapes.txt"),
            (_, None) => format!("{name} is answered no more"),
            (Some(was), Some(is)) => {
                let (was, is): (BTreeSet<&str>, BTreeSet<&str>) = (was.lines().collect(), is.lines().collect());
                format!("{name}: lost {:?}, new {:?}", was.difference(&is), is.difference(&was))
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{}\nIf that is meant, delete shapes.txt and run the test once more.", wrong.join("\n"));
}
