//! Where each value comes from: default < file < environment < flag. Everything wrong is collected, nothing stops at the first.

use super::{
    file::{DEFAULT_PATH, File},
    flags::SettingFlags,
    kind::{Kind, Value},
    secret::{self, Secret},
    table::{self, Row, TABLE},
};
use std::{ffi::OsString, fmt, path::PathBuf};

/// What was given to this process, before anything is made of it.
#[derive(Debug, Default)]
pub struct Sources {
    pub flags: SettingFlags,
    pub env: Vec<(OsString, OsString)>,
    /// Values of the command itself, such as the demo's, instead of the table's defaults.
    pub defaults: Vec<(&'static str, String)>,
}

impl Sources {
    #[expect(clippy::disallowed_methods, reason = "the one place where the server reads its environment")]
    pub fn of_this_process(flags: SettingFlags) -> Sources {
        Sources { flags, env: std::env::vars_os().collect(), defaults: Vec::new() }
    }

    /// Replaces a default of the table.
    pub fn with_default(mut self, key: &'static str, value: impl Into<String>) -> Sources {
        self.defaults.push((key, value.into()));
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Unset,
    Default,
    /// The command sets it, as the demo does.
    Command,
    File {
        path: PathBuf,
        line: usize,
    },
    Env(String),
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Unset => f.write_str("not set"),
            Source::Default => f.write_str("default"),
            Source::Command => f.write_str("set by the demo"),
            Source::File { path, line } => write!(f, "{} line {line}", path.display()),
            Source::Env(name) => write!(f, "environment {name}"),
            Source::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

/// One setting with its value, where it came from and what is wrong with it.
#[derive(Debug)]
pub struct Found {
    pub row: &'static Row,
    pub text: Option<String>,
    pub source: Source,
    pub value: Option<Value>,
    pub problem: Option<String>,
}

#[derive(Debug)]
pub struct Resolved {
    pub found: Vec<Found>,
    /// Problems of no single setting: a broken file, an unknown key.
    pub problems: Vec<String>,
    pub warnings: Vec<String>,
}

/// Everything that is wrong, a sentence each.
#[derive(Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Problems {}

impl Resolved {
    pub fn read(sources: &Sources) -> Resolved {
        let mut resolved = Resolved { found: Vec::new(), problems: Vec::new(), warnings: Vec::new() };
        let env = resolved.environment(sources);
        let file = config_path(sources, &env).map(|path| File::read(&path)).unwrap_or_default();
        for row in TABLE {
            let found = find(row, sources, &env, &file);
            if matches!(found.source, Source::Flag(_))
                && matches!(row.kind, Kind::DatabaseUrl)
                && found.text.as_deref().is_some_and(secret::has_password)
            {
                resolved.warnings.push(format!(
                    "{}: every user of the machine can read the password in a flag; use the environment or a file",
                    row.key
                ));
            }
            resolved.found.push(found);
        }
        resolved.problems.extend(file.problems);
        resolved.warnings.extend(file.warnings);
        resolved
    }

    /// The environment as text. Variables of others may hold anything; ours must be readable.
    fn environment(&mut self, sources: &Sources) -> Vec<(String, String)> {
        let known: Vec<String> = TABLE.iter().flat_map(Row::envs).collect();
        let mut env = Vec::new();
        for (name, value) in &sources.env {
            let Some(name) = name.to_str() else { continue };
            let ours = known.iter().any(|k| k == name) || name == "SSVIRT_CONFIG";
            match value.to_str() {
                Some(value) if ours && !value.trim().is_empty() => env.push((name.to_owned(), value.to_owned())),
                None if ours => self.problems.push(format!("environment {name} is not valid UTF-8")),
                _ if !ours && name.starts_with("SSVIRT_") => {
                    if let Some(near) = table::nearest_env(name) {
                        self.warnings
                            .push(format!("environment {name} is not known and ignored; did you mean {near}?"));
                    }
                }
                _ => {}
            }
        }
        env
    }

    pub fn get(&self, key: &str) -> Option<&Found> {
        self.found.iter().find(|f| f.row.key == key)
    }

    /// The database's address, if there is a usable one, whatever else is wrong.
    pub fn database_url(&self) -> Option<Secret> {
        match self.get("database.url")?.value.as_ref()? {
            Value::Secret(url) => Some(url.clone()),
            _ => None,
        }
    }

    /// Everything wrong with the values themselves.
    pub fn all_problems(&self) -> Vec<String> {
        let of_settings =
            self.found.iter().filter_map(|f| f.problem.as_ref().map(|p| format!("{} ({}) {p}", f.row.key, f.source)));
        self.problems.iter().cloned().chain(of_settings).collect()
    }
}

fn config_path(sources: &Sources, env: &[(String, String)]) -> Option<PathBuf> {
    let named = sources
        .flags
        .config
        .clone()
        .or_else(|| env.iter().find(|(n, _)| n == "SSVIRT_CONFIG").map(|(_, v)| PathBuf::from(v)));
    named.or_else(|| Some(PathBuf::from(DEFAULT_PATH)).filter(|path| path.exists()))
}

fn find(row: &'static Row, sources: &Sources, env: &[(String, String)], file: &File) -> Found {
    let mut candidates: Vec<(Source, String)> = Vec::new();
    if let Some((_, text)) = sources.flags.set.iter().find(|(r, _)| r.key == row.key) {
        candidates.push((Source::Flag(row.flag().unwrap_or_default()), text.clone()));
    }
    for name in row.envs() {
        if let Some((_, text)) = env.iter().find(|(n, _)| *n == name) {
            candidates.push((Source::Env(name), text.clone()));
        }
    }
    if let Some(v) = file.values.iter().find(|v| v.key == row.key) {
        candidates.push((Source::File { path: file.path.clone(), line: v.line }, v.text.clone()));
    }
    if let Some((_, text)) = sources.defaults.iter().rev().find(|(key, _)| *key == row.key) {
        candidates.push((Source::Command, text.clone()));
    }
    if let Some(default) = row.default {
        candidates.push((Source::Default, default.to_owned()));
    }

    let Some((source, text)) = candidates.first().cloned() else {
        return Found { row, text: None, source: Source::Unset, value: None, problem: None };
    };
    let parsed = match row.kind {
        Kind::Listen => listen(&text, candidates.iter().skip(1).map(|(_, weaker)| weaker.as_str())),
        _ => row.kind.parse(&text),
    };
    match parsed {
        Ok(value) => Found { row, text: Some(text), source, value: Some(value), problem: None },
        Err(problem) => Found { row, text: Some(text), source, value: None, problem: Some(problem) },
    }
}

/// A port alone (API_PORT=9000) changes the port and keeps the address of the next weaker source: a server that a file keeps on
/// loopback must not be opened to the world by a port number.
fn listen<'a>(text: &str, weaker: impl Iterator<Item = &'a str>) -> Result<Value, String> {
    let mut value = Kind::Listen.parse(text)?;
    if let (Value::Listen(Some(listen)), true) = (&mut value, text.trim().bytes().all(|b| b.is_ascii_digit())) {
        let full = weaker.filter_map(|w| Kind::Listen.parse(w).ok().filter(|_| w.contains(':'))).next();
        if let Some(Value::Listen(Some(below))) = full {
            listen.host = below.host;
        }
    }
    Ok(value)
}
