//! Who runs PostgreSQL: it refuses to run as root, so root hands it to another account.
use anyhow::{Context, Result, bail};
use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::Path,
    process::Command,
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    gid: u32,
}

impl Account {
    /// Nothing when we are not root: then PostgreSQL runs as ourselves.
    pub(crate) fn needed() -> Result<Option<Account>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        for name in ["postgres", "nobody"] {
            if let (Some(uid), Some(gid)) = (id("-u", name), id("-g", name)) {
                return Ok(Some(Account { uid, gid }));
            }
        }
        bail!(
            "PostgreSQL does not run as root, and this machine has neither an account `postgres` nor `nobody` to run it as."
        );
    }

    /// The owner of data that exist already, so that root can continue what a user began.
    pub(crate) fn owner_of(path: &Path) -> Result<Option<Account>> {
        let metadata = fs::metadata(path)?;
        Ok(Some(Account { uid: metadata.uid(), gid: metadata.gid() }).filter(|owner| owner.uid != 0))
    }

    /// Whether the account can get to a directory through all those above it.
    pub(crate) fn can_reach(self, path: &Path) -> bool {
        path.ancestors().all(|dir| {
            fs::metadata(dir).is_ok_and(|metadata| {
                let search = match metadata {
                    ref m if m.uid() == self.uid => 0o100,
                    ref m if m.gid() == self.gid => 0o010,
                    _ => 0o001,
                };
                metadata.mode() & search != 0
            })
        })
    }
}

fn id(flag: &str, name: &str) -> Option<u32> {
    let output = Command::new("id").args([flag, name]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// Gives a file or directory to the account that will use it.
pub(crate) fn give(path: &Path, account: Option<Account>) -> Result<()> {
    if let Some(Account { uid, gid }) = account {
        chown(path, Some(uid), Some(gid))
            .with_context(|| format!("{} cannot be given to another account", path.display()))?;
    }
    Ok(())
}

/// A program of PostgreSQL, to be run by the account and without what the caller's environment says about other servers.
pub(crate) fn command(program: &Path, home: &Path, account: Option<Account>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(home).env("LC_ALL", "C");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(name);
    }
    if let Some(Account { uid, gid }) = account {
        command.uid(uid).gid(gid);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reach_goes_through_every_directory_above() {
        let stranger = Account { uid: 54321, gid: 54321 };
        assert!(stranger.can_reach("/usr/bin".as_ref()));
        assert!(!stranger.can_reach("/usr/nothing-there".as_ref()));
    }
}
