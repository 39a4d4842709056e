//! The settings file: TOML, one table a group of settings.

use super::table;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Read when it exists and nothing else is named.
pub const DEFAULT_PATH: &str = "/etc/ssvirt/ssvirt.toml";

#[derive(Debug, Default)]
pub(super) struct File {
    pub path: PathBuf,
    pub values: Vec<FileValue>,
    pub problems: Vec<String>,
    pub warnings: Vec<String>,
}

#[derive(Debug)]
pub(super) struct FileValue {
    pub key: &'static str,
    pub text: String,
    pub line: usize,
}

impl File {
    pub(super) fn read(path: &Path) -> File {
        let mut file = match std::fs::read_to_string(path) {
            Ok(text) => File::parse(path, &text),
            Err(error) => {
                File { problems: vec![format!("{}: cannot be read: {error}", path.display())], ..File::default() }
            }
        };
        file.path = path.to_owned();
        if file.values.iter().any(|v| table::row(v.key).is_some_and(|r| r.kind.is_secret())) && readable_by_others(path)
        {
            file.warnings.push(format!(
                "{} holds a secret and every user of the machine can read it: chmod 640 it",
                path.display()
            ));
        }
        file
    }

    /// Problems name the line and never repeat its text, which may hold a secret.
    pub(super) fn parse(path: &Path, text: &str) -> File {
        let mut file = File { path: path.to_owned(), ..File::default() };
        let line_of = |offset: usize| text.get(..offset).map_or(1, |before| before.matches('\n').count() + 1);
        match DeTable::parse(text) {
            Ok(root) => file.take("", root.get_ref(), &line_of),
            Err(error) => {
                let line = error.span().map_or(1, |span| line_of(span.start));
                file.problems.push(format!("{} line {line}: {}", path.display(), error.message()));
            }
        }
        file
    }

    fn take(&mut self, prefix: &str, table: &DeTable<'_>, line_of: &impl Fn(usize) -> usize) {
        for (name, value) in table {
            let key =
                if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
            let line = line_of(name.span().start);
            let mut problem = |text: String| self.problems.push(format!("{} line {line}: {text}", self.path.display()));
            match (value.get_ref(), table::row(&key)) {
                (DeValue::Table(inner), None) if prefix.is_empty() && is_group(&key) => self.take(&key, inner, line_of),
                (_, None) => problem(match table::nearest(&key).filter(|_| !prefix.is_empty()) {
                    Some(near) => format!("unknown setting {key}; did you mean {near}?"),
                    None if prefix.is_empty() => {
                        format!("unknown setting {key}; there are the tables {}", groups().join(", "))
                    }
                    None => format!("unknown setting {key}; ssvirt check lists all settings"),
                }),
                (value, Some(row)) => match as_text(value) {
                    Some(text) => self.values.push(FileValue { key: row.key, text, line }),
                    None => {
                        problem(format!("{key} must be text, a number or a list of texts, not {}", value.type_str()))
                    }
                },
            }
        }
    }
}

fn groups() -> Vec<&'static str> {
    let mut groups: Vec<_> = table::TABLE.iter().filter_map(|row| row.key.split('.').next()).collect();
    groups.dedup();
    groups
}

fn is_group(name: &str) -> bool {
    groups().contains(&name)
}

fn as_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().replace('_', "")),
        DeValue::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(|item| item.get_ref().as_str()).collect();
            texts.map(|t| t.join(","))
        }
        _ => None,
    }
}

#[cfg(unix)]
fn readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o004 != 0)
}

#[cfg(not(unix))]
fn readable_by_others(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> File {
        File::parse(Path::new("x.toml"), text)
    }

    #[test]
    fn tables_and_dotted_keys() {
        let file = parse(
            "database.max_connections = 30\n[api]\nhttp = \"9000\"\ntrusted_proxies = [\"10.0.0.0/8\", \"::1\"]\n",
        );
        assert!(file.problems.is_empty(), "{:?}", file.problems);
        let got: Vec<_> = file.values.iter().map(|v| (v.key, v.text.as_str(), v.line)).collect();
        assert_eq!(
            got,
            [
                ("api.http", "9000", 3),
                ("api.trusted_proxies", "10.0.0.0/8,::1", 4),
                ("database.max_connections", "30", 1)
            ]
        );
    }

    #[test]
    fn all_unknown_keys_are_named_with_their_neighbour() {
        let file = parse("[database]\nurll = \"x\"\n[loging]\nlevel = \"info\"\n[log]\nlevel = true\n");
        assert_eq!(
            file.problems,
            [
                "x.toml line 2: unknown setting database.urll; did you mean database.url?",
                "x.toml line 6: log.level must be text, a number or a list of texts, not boolean",
                "x.toml line 3: unknown setting loging; there are the tables database, api, controller, auth, hubs, images, leases, tasks, kubernetes, log, limits, shutdown",
            ]
        );
    }

    #[test]
    fn a_broken_file_does_not_leak_its_line() {
        let file = parse("[auth]\nsecret = canary-value\n");
        assert_eq!(file.problems.len(), 1);
        assert!(
            file.problems[0].starts_with("x.toml line 2: ") && !file.problems[0].contains("canary"),
            "{}",
            file.problems[0]
        );
    }
}
