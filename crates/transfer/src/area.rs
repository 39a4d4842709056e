//! Files that grow at their end and are read in parts. What was said to have arrived is on the disk.
use bytes::Bytes;
use futures::{Stream, StreamExt};
use std::{
    fmt,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    pin::pin,
    thread::JoinHandle,
    time::Duration,
};
use tokio::{
    fs::{self, File},
    io::AsyncReadExt,
    sync::mpsc,
    task::spawn_blocking,
};
use uuid::Uuid;

/// Nothing came for so long: the sender is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// So much is written between two moments at which it is made sure to be on the disk.
const SYNC_EVERY: u64 = 32 << 20;
/// So many pieces may have come that are not written yet; each is as large as a connection gives them, some 100 KiB at most.
const AHEAD: usize = 64;
/// A file is read in pieces of so many bytes, and so many pieces before they are asked for.
const CHUNK: u64 = 256 << 10;
const READ_AHEAD: usize = 4;

#[derive(Debug)]
pub enum Error {
    /// The part begins where the file does not end.
    Offset { has: u64 },
    /// More came than was said.
    TooLong,
    /// It ended before as much had come as was said.
    Short,
    /// The connection broke, or nothing came any more.
    Broken(String),
    /// The directory can't be written or read.
    Disk(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Offset { has } => write!(f, "The part does not begin where the file ends. {has} bytes are there."),
            Error::TooLong => f.write_str("More bytes came than the request said."),
            Error::Short => f.write_str("It ended before all of it had come."),
            Error::Broken(why) => write!(f, "The connection broke before all of it had come: {why}."),
            Error::Disk(e) => write!(f, "The transfer area can't be used: {e}."),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Error {
        Error::Disk(e)
    }
}

/// How far a file is, and why it went no further.
#[derive(Debug)]
pub struct Arrived {
    /// On the disk, and safe there.
    pub length: u64,
    pub trouble: Option<Error>,
}

#[derive(Clone, Debug)]
pub struct Area {
    directory: PathBuf,
    /// At most so many bytes, counted by those who keep the book.
    pub limit: u64,
}

impl Area {
    pub fn new(directory: impl Into<PathBuf>, limit: u64) -> Area {
        Area { directory: directory.into(), limit }
    }

    fn path(&self, file: Uuid) -> PathBuf {
        let name = file.simple().to_string();
        // the end of an id is random: no folder gets too full
        self.directory.join(&name[30..]).join(name)
    }

    /// Writes a part at the end of a file. Whatever arrived is kept, even if the rest never comes.
    pub async fn append<E: fmt::Display>(
        &self,
        file: Uuid,
        at: u64,
        length: u64,
        part: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<Arrived, Error> {
        let path = self.path(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).await?;
        }
        let (chunks, arrives) = mpsc::channel::<Bytes>(AHEAD);
        let writer = spawn_blocking(move || write(&path, at, arrives));
        let mut part = pin!(part);
        let mut came = 0;
        let trouble = loop {
            let chunk = match tokio::time::timeout(SILENCE, part.next()).await {
                Err(_) => break Some(Error::Broken(format!("nothing came for {} seconds", SILENCE.as_secs()))),
                Ok(None) if came < length => break Some(Error::Short),
                Ok(None) => break None,
                Ok(Some(Err(e))) => break Some(Error::Broken(e.to_string())),
                Ok(Some(Ok(chunk))) => chunk,
            };
            if came + chunk.len() as u64 > length {
                break Some(Error::TooLong);
            }
            came += chunk.len() as u64;
            if chunks.send(chunk).await.is_err() {
                break None; // it could not be written: the writer says why
            }
        };
        drop(chunks);
        let (written, failed) = writer.await.map_err(|e| Error::Disk(io::Error::other(e)))??;
        Ok(Arrived { length: at + written, trouble: failed.map(Error::Disk).or(trouble) })
    }

    /// How long it is on the disk; 0: it is not there.
    pub async fn length(&self, file: Uuid) -> Result<u64, Error> {
        match fs::metadata(self.path(file)).await {
            Ok(found) => Ok(found.len()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(e.into()),
        }
    }

    /// For reading from its beginning to its end, on a thread that may wait.
    pub fn open(&self, file: Uuid) -> Result<std::fs::File, Error> {
        Ok(std::fs::File::open(self.path(file))?)
    }

    /// A part of a file, read a little ahead of whoever needs it.
    pub async fn part(&self, file: Uuid, offset: u64, length: u64) -> Result<Part, Error> {
        let open = File::open(self.path(file)).await?.into_std().await;
        let (chunks, read_so_far) = mpsc::channel(READ_AHEAD);
        spawn_blocking(move || read(open, offset, length, &chunks));
        Ok(Part { chunks: read_so_far })
    }

    /// A small file as a whole.
    pub async fn read(&self, file: Uuid, most: u64) -> Result<Vec<u8>, Error> {
        let open = File::open(self.path(file)).await?;
        let mut bytes = Vec::new();
        open.take(most).read_to_end(&mut bytes).await?;
        Ok(bytes)
    }

    /// It is not needed any more. That it is gone already is fine.
    pub async fn remove(&self, file: Uuid) -> Result<(), Error> {
        match fs::remove_file(self.path(file)).await {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        }
    }
}

/// Writes what arrives, on a thread that may wait: meanwhile more can come. Returns how much of it is safe, and why no more is.
/// While a stretch is made sure to be on the disk, the next one is written.
fn write(path: &Path, at: u64, mut arrives: mpsc::Receiver<Bytes>) -> Result<(u64, Option<io::Error>), Error> {
    let mut open = std::fs::OpenOptions::new().create(true).write(true).truncate(false).open(path)?;
    let has = open.metadata()?.len();
    // what lies behind the known end was never said to have arrived
    if has < at {
        return Err(Error::Offset { has });
    }
    open.set_len(at)?;
    open.seek(SeekFrom::Start(at))?;
    let (mut written, mut synced, mut failed) = (0, 0, None);
    let mut syncing: Option<JoinHandle<io::Result<()>>> = None;
    while let Some(chunk) = arrives.blocking_recv() {
        if let Err(e) = open.write_all(&chunk) {
            failed = Some(e);
            break;
        }
        written += chunk.len() as u64;
        if written - synced >= SYNC_EVERY {
            synced_to_the_end(syncing.take())?;
            let same = open.try_clone()?;
            syncing = Some(std::thread::spawn(move || same.sync_data()));
            synced = written;
        }
    }
    synced_to_the_end(syncing)?;
    open.sync_all()?;
    Ok((written, failed))
}

fn synced_to_the_end(syncing: Option<JoinHandle<io::Result<()>>>) -> io::Result<()> {
    syncing.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("a sync did not end"))))
}

/// Reads until the end, or until nobody takes it any more.
fn read(mut open: std::fs::File, offset: u64, length: u64, chunks: &mpsc::Sender<Result<Bytes, Error>>) {
    if let Err(e) = open.seek(SeekFrom::Start(offset)) {
        let _ = chunks.blocking_send(Err(e.into()));
        return;
    }
    let mut left = length;
    while left > 0 {
        let most = left.min(CHUNK);
        let mut chunk = Vec::with_capacity(usize::try_from(most).unwrap_or_default());
        let read = match (&mut open).take(most).read_to_end(&mut chunk) {
            Ok(0) => Err(Error::Broken("the file in the transfer area is shorter than it was".into())),
            Ok(n) => {
                left -= n as u64;
                Ok(chunk.into())
            }
            Err(e) => Err(e.into()),
        };
        let failed = read.is_err();
        if chunks.blocking_send(read).is_err() || failed {
            return;
        }
    }
}

/// A part of a file on its way to somebody.
pub struct Part {
    chunks: mpsc::Receiver<Result<Bytes, Error>>,
}

impl Part {
    /// The next bytes; None: that was all.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        self.chunks.recv().await.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    fn parts(texts: &'static [&'static str]) -> impl Stream<Item = Result<Bytes, String>> {
        stream::iter(texts)
            .map(|t| if *t == "!" { Err("reset".to_owned()) } else { Ok(Bytes::from_static(t.as_bytes())) })
    }

    #[tokio::test]
    async fn what_arrived_is_kept_and_what_was_not_said_to_be_there_is_written_over() {
        let directory = std::env::temp_dir().join(format!("ssvirt-area-{}", Uuid::now_v7()));
        let (area, file) = (Area::new(&directory, 1 << 20), Uuid::now_v7());
        let first = area.append(file, 0, 8, parts(&["abc", "de", "!"])).await.expect("writes");
        assert!(first.length == 5 && matches!(first.trouble, Some(Error::Broken(_))), "{first:?}");
        // only three of them were written down before the server died
        let next = area.append(file, 3, 5, parts(&["DEFGH"])).await.expect("writes");
        assert!(next.length == 8 && next.trouble.is_none(), "{next:?}");
        assert_eq!(area.read(file, 100).await.expect("reads"), b"abcDEFGH");
        assert!(matches!(area.append(file, 9, 1, parts(&["x"])).await, Err(Error::Offset { has: 8 })));
        let long = area.append(file, 8, 1, parts(&["xyz"])).await.expect("writes");
        assert!(long.length == 8 && matches!(long.trouble, Some(Error::TooLong)), "{long:?}");
        let mut part = area.part(file, 2, 4).await.expect("opens");
        assert_eq!(part.next().await.expect("reads").as_deref(), Some(&b"cDEF"[..]));
        assert_eq!(part.next().await.expect("ends"), None);
        area.remove(file).await.expect("removes");
        area.remove(file).await.expect("removes twice");
        assert_eq!(area.length(file).await.expect("looks"), 0);
        std::fs::remove_dir_all(directory).expect("cleans up");
    }
}
