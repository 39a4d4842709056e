//! The directory that holds a server's data, password, log and socket.
use crate::account::{Account, give};
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs::{self, DirBuilder, File, Permissions, TryLockError},
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    process,
};

/// For root, when PostgreSQL's account cannot get to the directory asked for. Only root can write there.
const ELSEWHERE: &str = "/var/lib/ssvirt";
/// In the directory asked for: where the data are instead.
const POINTER: &str = "moved-to";
/// Of the kernel's 104 (macOS) to 108 (Linux) bytes for a socket's path, PostgreSQL's own file name takes this many.
const LONGEST_SOCKET_DIR: usize = 100 - "/.s.PGSQL.5432".len();

pub(crate) struct Home {
    pub(crate) dir: PathBuf,
    pub(crate) account: Option<Account>,
    /// Held as long as the server runs; the kernel lets go of it when the process ends, however it ends.
    lock: File,
}

impl Drop for Home {
    fn drop(&mut self) {
        // Closing is not enough: a process that another thread is just starting may still have the file open.
        let _ = self.lock.unlock();
    }
}

impl Home {
    pub(crate) fn open(asked: &Path, notes: &mut Vec<String>) -> Result<Home> {
        let mut account = Account::needed()?;
        fs::create_dir_all(asked).with_context(|| format!("{} cannot be created", asked.display()))?;
        let asked = fs::canonicalize(asked)?;
        let dir = match account {
            None => asked.clone(),
            Some(account) => reachable(&asked, account)?,
        };
        if dir != asked {
            notes.push(format!(
                "PostgreSQL does not run as root, and its account cannot get into {}: its data are in {}.",
                asked.display(),
                dir.display()
            ));
        }
        // Others may pass through but not look around; what is inside protects itself.
        fs::set_permissions(&dir, Permissions::from_mode(if account.is_some() { 0o711 } else { 0o700 }))
            .with_context(|| format!("{} belongs to another account", dir.display()))?;
        let data = dir.join("data");
        if account.is_some() && data.exists() {
            account = Account::owner_of(&data)?.or(account);
        }
        let lock = lock(&dir)?;
        Ok(Home { dir, account, lock })
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.dir.join("log")
    }

    pub(crate) fn password_file(&self) -> PathBuf {
        self.dir.join("password")
    }

    pub(crate) fn password(&self) -> Option<String> {
        fs::read_to_string(self.password_file()).ok().filter(|password| !password.is_empty())
    }

    /// A new random one, in a file that only PostgreSQL's account can read.
    pub(crate) fn new_password(&self) -> Result<String> {
        let password = random_hex()?;
        let path = self.password_file();
        if path.exists() {
            fs::remove_file(&path)?;
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(password.as_bytes())?;
        give(&path, self.account)?;
        Ok(password)
    }

    /// The socket's directory and whether it is a temporary one, outside of home because home's path is too long.
    pub(crate) fn socket_dir(&self) -> Result<(PathBuf, bool)> {
        let dir = self.dir.join("socket");
        if dir.as_os_str().len() <= LONGEST_SOCKET_DIR {
            // No server runs here any more; its socket's lock file might still name a process that is dead but listed.
            if dir.exists() {
                fs::remove_dir_all(&dir)?;
            }
            self.make_private(&dir)?;
            return Ok((dir, false));
        }
        for temporary in [std::env::temp_dir(), "/tmp".into()] {
            let dir = temporary.join(format!("ssvirt-{}", &random_hex()?[..12]));
            let reachable = self.account.is_none_or(|account| account.can_reach(&temporary));
            if dir.as_os_str().len() <= LONGEST_SOCKET_DIR && reachable {
                self.make_private(&dir)?;
                return Ok((dir, true));
            }
        }
        bail!(
            "{} is too long for a socket's path, and so is every temporary directory. Choose a shorter one.",
            dir.display()
        );
    }

    /// A directory that did not exist before, for PostgreSQL's account alone.
    pub(crate) fn make_private(&self, dir: &Path) -> Result<()> {
        DirBuilder::new().mode(0o700).create(dir).with_context(|| format!("{} cannot be created", dir.display()))?;
        give(dir, self.account)
    }
}

/// Where the data of an asked directory are, if they had to go elsewhere.
pub(crate) fn moved_to(asked: &Path) -> Option<PathBuf> {
    fs::read_to_string(asked.join(POINTER)).ok().map(|dir| PathBuf::from(dir.trim()))
}

fn reachable(asked: &Path, account: Account) -> Result<PathBuf> {
    let pointer = asked.join(POINTER);
    if let Some(dir) = moved_to(asked) {
        ensure!(
            dir.is_dir(),
            "{} says that the data are in {}, which does not exist. Bring it back, or delete {} to start with empty data.",
            pointer.display(),
            dir.display(),
            pointer.display()
        );
        return Ok(dir);
    }
    // Data that lie here already are run by their owner, who could reach them before.
    if account.can_reach(asked) || asked.join("data").exists() {
        return Ok(asked.to_owned());
    }
    let mut hash = DefaultHasher::new();
    asked.hash(&mut hash);
    let dir = Path::new(ELSEWHERE).join(format!("{:016x}", hash.finish()));
    fs::create_dir_all(&dir).with_context(|| format!("{} cannot be created", dir.display()))?;
    ensure!(
        account.can_reach(&dir),
        "PostgreSQL does not run as root, and its account can get neither into {} nor into {}. Choose another data directory.",
        asked.display(),
        dir.display()
    );
    fs::write(&pointer, format!("{}\n", dir.display()))?;
    Ok(dir)
}

fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("lock");
    let mut file = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            write!(file, "{}", process::id())?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let owner = fs::read_to_string(&path).unwrap_or_default();
            bail!(
                "{} is in use by process {owner}. Stop that one first, or choose another data directory.",
                dir.display()
            )
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("{} cannot be locked", path.display())),
    }
}

fn random_hex() -> Result<String> {
    let mut bytes = [0; 24];
    std::io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
