//! The journal: one line of JSON a change, in the order of changes. A process that is killed loses nothing it has
//! answered for; a line cut in the middle was never answered for and is dropped.

use super::Key;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Shorter journals are not worth rewriting.
const SHORT: u64 = 32 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    length: u64,
    rewritten_length: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    #[serde(rename = "v")]
    pub version: u64,
    #[serde(rename = "r", default)]
    pub resource: String,
    #[serde(default)]
    pub put: Option<Value>,
    #[serde(default)]
    pub gone: Option<Key>,
}

#[derive(Serialize)]
struct Line<'a> {
    v: u64,
    r: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    put: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<&'a Key>,
}

impl Journal {
    /// Reads a journal from the start and hands every entry over.
    pub(super) fn open(path: &Path, mut each: impl FnMut(Entry)) -> anyhow::Result<Self> {
        let shown = path.display();
        let mut good = 0;
        if path.exists() {
            let mut reader = BufReader::new(File::open(path).with_context(|| format!("{shown} cannot be read"))?);
            let mut line = Vec::new();
            loop {
                line.clear();
                let read = reader.read_until(b'\n', &mut line).with_context(|| format!("{shown} cannot be read"))?;
                let whole = line.last() == Some(&b'\n');
                match serde_json::from_slice(&line) {
                    Ok(entry) if whole => each(entry),
                    _ if read == 0 => break,
                    _ if reader.fill_buf().is_ok_and(<[u8]>::is_empty) => {
                        tracing::warn!(journal = %shown, "dropped a last line that was never written to its end");
                        break;
                    }
                    _ => anyhow::bail!("{shown} is damaged at byte {good}; remove it to start with an empty hub"),
                }
                good += read as u64;
            }
        }
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        file.set_len(good)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { path: path.to_owned(), file, length: good, rewritten_length: 0 })
    }

    pub(super) fn put(&mut self, version: u64, resource: &str, object: &Value) -> io::Result<()> {
        self.write(&Line { v: version, r: resource, put: Some(object), gone: None })
    }

    pub(super) fn gone(&mut self, version: u64, resource: &str, key: &Key) -> io::Result<()> {
        self.write(&Line { v: version, r: resource, put: None, gone: Some(key) })
    }

    fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        if let Err(error) = self.file.write_all(&bytes) {
            // half a line must not stand before the next one
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::End(0))?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn is_long(&self) -> bool {
        self.length > SHORT && self.length > 4 * self.rewritten_length
    }

    /// Replaces the journal by one that holds only what there is now.
    pub(super) fn rewrite<'a>(
        &mut self,
        version: u64,
        objects: impl Iterator<Item = (String, &'a Arc<Value>)>,
    ) -> anyhow::Result<()> {
        let fresh = self.path.with_extension("new");
        let mut writer = BufWriter::new(File::create(&fresh)?);
        let mut line = |line: &Line<'_>| -> anyhow::Result<()> {
            serde_json::to_writer(&mut writer, line)?;
            writer.write_all(b"\n")?;
            Ok(())
        };
        line(&Line { v: version, r: "", put: None, gone: None })?;
        for (resource, object) in objects {
            line(&Line { v: version, r: &resource, put: Some(object), gone: None })?;
        }
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&fresh, &self.path)?;
        self.file = file;
        self.length = self.file.metadata()?.len();
        self.rewritten_length = self.length;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries(path: &Path) -> Vec<(u64, String)> {
        let mut seen = Vec::new();
        Journal::open(path, |entry| seen.push((entry.version, entry.resource))).unwrap();
        seen
    }

    #[test]
    fn a_line_cut_in_the_middle_is_dropped_and_writing_goes_on_behind_the_last_whole_one() {
        let folder = std::env::temp_dir().join(format!("hubsim-journal-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("journal");
        let mut journal = Journal::open(&path, |_| {}).unwrap();
        journal.put(1, "secrets", &json!({"a": 1})).unwrap();
        journal.put(2, "secrets", &json!({"a": 2})).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        assert_eq!(entries(&path), [(1, "secrets".to_owned())]);
        let mut journal = Journal::open(&path, |_| {}).unwrap();
        journal.put(3, "secrets", &json!({"a": 3})).unwrap();
        assert_eq!(entries(&path).len(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn damage_in_the_middle_is_told_instead_of_loaded() {
        let folder = std::env::temp_dir().join(format!("hubsim-damage-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("journal");
        fs::write(&path, "{\"v\":1}\nrubbish\n{\"v\":2}\n").unwrap();
        let told = Journal::open(&path, |_| {}).unwrap_err().to_string();
        assert!(told.contains("damaged at byte 8"), "{told}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
