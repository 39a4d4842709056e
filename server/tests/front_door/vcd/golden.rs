//! Documents as they are, one of each type, so that nobody changes one without seeing it. A file that is not there is written: delete
//! one to have it anew, and look at what differs.
use super::{
    client::path,
    documents::{Document, Documents, method_of},
};
use std::{collections::BTreeMap, fs, path::PathBuf};

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
