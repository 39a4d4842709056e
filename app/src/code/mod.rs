//! What a page makes or shows, written as code: for curl, vcd-cli and Terraform, with this site's address and real names and ids.
//! One file a noun, pure functions from what is typed or stored to text; quoting is in `shell`, `xml` and `hcl`. What a tool has no
//! way for is said in a sentence, and nothing is written that does not work. `end2end/clients/as_code_suite.py` runs what is printed.
pub mod affinity;
pub mod catalog;
mod curl;
pub mod deploy;
pub mod disk;
mod hcl;
pub mod hub;
pub mod item;
pub mod network;
mod nic;
pub mod org;
pub mod role;
mod shell;
mod sign_in;
pub mod sizing;
pub mod snapshot;
pub mod storage;
pub mod task;
pub mod user;
pub mod vapp;
pub mod vdc;
pub mod vm;
mod xml;

pub use sign_in::sign_in;

/// Where the code is for, and who will run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// `https://cloud.example.com`
    pub base: String,
    /// The organization that the reader signs in to.
    pub org: String,
    pub user: String,
    pub provider: bool,
}

impl Site {
    fn href(&self, path: impl std::fmt::Display) -> String {
        format!("{}/{path}", self.base)
    }
}

/// One of the three: its code and what else is to know. Without code the note says why there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    pub code: String,
    pub note: String,
}

impl Way {
    fn code(code: impl Into<String>) -> Way {
        Way { code: code.into(), note: String::new() }
    }

    fn none(why: impl Into<String>) -> Way {
        Way { code: String::new(), note: why.into() }
    }

    /// One sentence more.
    fn but(mut self, note: impl AsRef<str>) -> Way {
        if !self.note.is_empty() {
            self.note.push(' ');
        }
        self.note.push_str(note.as_ref());
        self
    }

    fn but_if(self, so: bool, note: &str) -> Way {
        if so { self.but(note) } else { self }
    }

    /// Commands of vcd-cli, for things of these names: one that begins with a hyphen would be an option to it.
    fn vcd<const N: usize>(names: [&str; N], lines: impl IntoIterator<Item = String>) -> Way {
        match names.iter().find(|n| n.starts_with('-')) {
            Some(name) => Way::none(format!("vcd-cli takes “{name}” for an option, since it begins with a hyphen.")),
            None => Way::code(lines.into_iter().collect::<Vec<_>>().join("\n")),
        }
    }
}

/// The same thing three times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsCode {
    /// Of a form: what it would do. Else of a thing that there is.
    pub form: bool,
    pub curl: Way,
    pub vcd_cli: Way,
    pub terraform: Way,
    /// What stands between the names of an import's id.
    pub separator: &'static str,
}

impl AsCode {
    fn of_form(curl: Way, vcd_cli: Way, terraform: Way) -> AsCode {
        AsCode { form: true, curl, vcd_cli, terraform, separator: hcl::DOT }
    }

    fn of_thing(curl: Way, vcd_cli: Way, terraform: Way) -> AsCode {
        AsCode { form: false, ..AsCode::of_form(curl, vcd_cli, terraform) }
    }

    fn separated(self, separator: &'static str) -> AsCode {
        AsCode { separator, ..self }
    }
}

/// What was typed, or a name that stands for it until something is.
fn named<'a>(typed: &'a str, otherwise: &'a str) -> &'a str {
    match typed.trim() {
        "" => otherwise,
        typed => typed,
    }
}

/// Sessions of vcd-cli are in one organization, and machines, disks and networks in one VDC of it.
fn in_org(site: &Site, org: &str) -> Vec<String> {
    (site.org != org).then(|| shell::vcd(["org", "use", org])).into_iter().collect()
}

fn in_vdc(site: &Site, org: &str, vdc: &str) -> Vec<String> {
    let mut lines = in_org(site, org);
    lines.push(shell::vcd(["vdc", "use", vdc]));
    lines
}

const TASK: &str = "The answer has a Task: ask for its href until its status is success.";
