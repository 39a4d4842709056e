//! Uploads: begun by somebody with the right to, then sent in parts to a link that carries their leave and ends.
use crate::Domain;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use futures::{Stream, StreamExt};
use model::{
    Action, Actor, CatalogId, Error, Result, TemplateId, UploadId, can,
    upload::{Upload, UploadSpec, UploadState, check_file_name},
};
use std::{fmt, time::Duration};
use store::{FileRoom, Record};
use transfer::Range;
use uuid::Uuid;

/// An upload that is not complete by then is given up.
const LASTS: time::Duration = time::Duration::days(2);
/// Between two signs of life while a part is written.
const ALIVE: Duration = Duration::from_secs(30);
/// So often it is tried, a second apart, to write down what came.
const TRIES: u32 = 20;

/// A new item of a catalog, whose first version is to come.
pub async fn begin(d: &Domain, actor: &Actor, catalog: CatalogId, spec: UploadSpec) -> Result<UploadId> {
    let action = Action::TemplateUpload;
    d.attempt(actor, action, async {
        d.area()?;
        let spec = spec.check()?;
        let mut tx = d.store.write(actor).await?;
        let catalog = tx.catalog(action, catalog).await?;
        if catalog.from_hubs {
            return Err(Error::NotNow("Not now: the catalog is filled by what hubs have. Choose another one.".into()));
        }
        let item = TemplateId(Uuid::now_v7());
        tx.item_insert(item, catalog.id, catalog.org, &spec).await?;
        insert(d, tx, item, catalog.org, &spec).await
    })
    .await
}

/// A new version of an item.
pub async fn begin_version(
    d: &Domain,
    actor: &Actor,
    item: TemplateId,
    note: String,
    sha256: String,
) -> Result<UploadId> {
    let action = Action::TemplateUpload;
    d.attempt(actor, action, async {
        d.area()?;
        let item = d.store.template(actor, action, item).await?;
        can::or_not_now(can::template(&item, action))?;
        let spec =
            UploadSpec { name: item.name.clone(), kind: item.kind, note, sha256, ..UploadSpec::default() }.check()?;
        let mut tx = d.store.write(actor).await?;
        tx.catalog(action, item.catalog).await?;
        if tx.upload_under_way(item.id).await? {
            return Err(Error::NotNow("Not now: another version is being uploaded. Wait for it, or cancel it.".into()));
        }
        insert(d, tx, item.id, item.org, &spec).await
    })
    .await
}

async fn insert(
    d: &Domain,
    mut tx: store::Write<'_>,
    item: TemplateId,
    org: model::OrgId,
    spec: &UploadSpec,
) -> Result<UploadId> {
    let id = UploadId(Uuid::now_v7());
    let link = BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 24]>());
    let ends_at = d.now() + LASTS;
    tx.upload_insert(id, org, item, spec, (&link, ends_at)).await?;
    let record = Record::new(Action::TemplateUpload, org, item, &spec.name).after(spec).with_open_task();
    if let Some(task) = tx.commit(record).await? {
        d.store.task_may_last(task, ends_at + time::Duration::days(1)).await?;
    }
    Ok(id)
}

/// A file that will come, before its first byte does: there is room for it, or it is said that there is none.
pub async fn announce(d: &Domain, actor: &Actor, id: UploadId, name: &str, size: u64) -> Result<()> {
    let upload = d.store.upload(actor, Action::TemplateUpload, id).await?;
    can::or_not_now(can::upload(&upload, Action::TemplateUpload))?;
    let name = check_file_name(name).map_err(|why| Error::BadRequest(why.into()))?;
    let room = FileRoom { size: whole(size)?, limit: whole(d.area()?.limit)? };
    match d.store.upload_file(&upload, name, room, "").await {
        Ok(_) => Ok(()),
        Err(e) => {
            // what can't come must not be waited for
            d.store.upload_failed(&upload, &e.to_string()).await?;
            Err(e)
        }
    }
}

pub async fn get(d: &Domain, actor: &Actor, id: UploadId) -> Result<Upload> {
    Ok(d.store.upload(actor, Action::UploadView, id).await?.into_inner())
}

pub async fn cancel(d: &Domain, actor: &Actor, id: UploadId) -> Result<()> {
    let action = Action::UploadCancel;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let upload = tx.upload(action, id).await?;
        can::or_not_now(can::upload(&upload, action))?;
        tx.upload_cancel(&upload).await?;
        tx.commit(Record::new(action, upload.org, upload.template, &upload.name)).await?;
        Ok(())
    })
    .await
}

/// By its transfer link.
pub async fn by_link(d: &Domain, link: &str) -> Result<Upload> {
    d.store.upload_by_link(link, d.now()).await
}

/// What became of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// All of it is on the disk: so much of the file is there now.
    Took { received: u64, total: u64 },
    /// It does not begin where the file ends.
    Elsewhere { received: u64, total: u64 },
}

/// A whole file of unknown length, at most so long: what a form without any script sends.
pub async fn send_whole<E: fmt::Display + Send + 'static>(
    d: &Domain,
    link: &str,
    name: &str,
    at_most: u64,
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> Result<()> {
    let upload = by_link(d, link).await?;
    if let Some(there) = upload.file(name).filter(|f| f.received > 0) {
        return Err(Error::NotNow(format!(
            "Not now: a part of {} is there already. Cancel this upload and begin another.",
            there.name
        )));
    }
    put(d, link, name, Range::whole(at_most), "", bytes, true).await.map(drop)
}

/// A part of a file. What arrived is kept even if the connection breaks; the answer then says how much that was.
pub async fn send<E: fmt::Display + Send + 'static>(
    d: &Domain,
    link: &str,
    name: &str,
    range: Range,
    sha256: &str,
    part: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> Result<Sent> {
    put(d, link, name, range, sha256, part, false).await
}

/// `open_end`: the file is as long as what comes.
async fn put<E: fmt::Display + Send + 'static>(
    d: &Domain,
    link: &str,
    name: &str,
    range: Range,
    sha256: &str,
    part: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    open_end: bool,
) -> Result<Sent> {
    let area = d.area()?.clone();
    let upload = by_link(d, link).await?;
    if let Some(received) = there_already(&upload, name, range) {
        // sent once more because the answer was lost: all of it is taken, so that the sender hears this one
        let mut part = std::pin::pin!(part);
        while part.next().await.is_some() {}
        // what follows the last part may have been lost with that answer
        if received == range.total && upload.state == UploadState::Open {
            arrived(d, &upload, name).await?;
        }
        return Ok(Sent::Took { received, total: range.total });
    }
    can::or_not_now(can::upload(&upload, Action::TemplateUpload))?;
    let name = check_file_name(name).map_err(|why| Error::BadRequest(why.into()))?;
    expected(&upload, name)?;
    let size = whole(range.total)?;
    let file = d.store.upload_file(&upload, name, FileRoom { size, limit: whole(area.limit)? }, sha256).await?;
    let received = u64::try_from(file.received).unwrap_or(0);
    if range.start != received {
        return Ok(Sent::Elsewhere { received, total: range.total });
    }
    let Some(held) = d.store.upload_hold(file.id, file.received).await? else {
        return Err(Error::NotNow("Not now: another part of this file is being sent. Wait for its end.".into()));
    };
    // by itself: a sender that goes away must not leave the file held, and what came is written down
    let store = d.store.clone();
    let written = tokio::spawn(async move {
        let arriving = area.append(held.file.id, range.start, range.length, part);
        let mut arriving = std::pin::pin!(arriving);
        let arrived = loop {
            tokio::select! {
                arrived = &mut arriving => break arrived,
                () = tokio::time::sleep(ALIVE) => store.upload_extend(&held).await?,
            }
        };
        let (length, trouble) = match arrived {
            Ok(arrived) => (arrived.length, arrived.trouble),
            Err(e) => (range.start, Some(e)),
        };
        let trouble = trouble.filter(|t| !(open_end && length > 0 && matches!(t, transfer::Error::Short)));
        if open_end && trouble.is_none() {
            store.upload_sized(&held, whole(length)?).await?;
        }
        let kept = written_down(&store, &upload, &held, whole(length)?).await?;
        match trouble {
            Some(transfer::Error::Disk(e)) => {
                tracing::error!(error = %e, "the transfer area can't be written");
                Err(Error::Unavailable("the transfer area can't be written".into()))
            }
            Some(e) => Err(Error::BadRequest(format!("{e} {length} bytes of it are kept: go on from there."))),
            None if !kept => Err(Error::NotNow("Not now: the part took too long. Send it again.".into())),
            None => Ok((upload, length)),
        }
    });
    let (upload, received) = written.await.map_err(|e| Error::Internal(format!("a part of an upload: {e}")))??;
    if received == range.total || open_end {
        arrived(d, &upload, name).await?;
    }
    Ok(Sent::Took { received, total: range.total })
}

/// While the database is away the file stays held and nobody could go on with it: so it is tried for a while.
async fn written_down(store: &store::Store, upload: &Upload, held: &store::Held, received: i64) -> Result<bool> {
    for _ in 0..TRIES {
        match store.upload_received(upload, held, received).await {
            Err(Error::Unavailable(_)) => tokio::time::sleep(Duration::from_secs(1)).await,
            other => return other,
        }
    }
    store.upload_received(upload, held, received).await
}

/// How much of the file there is, if this part of it is among that.
fn there_already(upload: &Upload, name: &str, range: Range) -> Option<u64> {
    let lives = matches!(upload.state, UploadState::Open | UploadState::Checking | UploadState::Done);
    let file = upload.file(name).filter(|_| lives)?;
    let (size, received) = (u64::try_from(file.size).ok()?, u64::try_from(file.received).ok()?);
    let end = range.start.checked_add(range.length)?;
    (size == range.total && end <= received).then_some(received)
}

/// Is it a file of this upload? After a descriptor only those come that it names.
fn expected(upload: &Upload, name: &str) -> Result<()> {
    if upload.files.is_empty() || upload.file(name).is_some() {
        return Ok(());
    }
    let message = format!("{name} is no file of this upload. Begin another upload for it.");
    Err(Error::BadRequest(message))
}

fn whole(n: u64) -> Result<i64> {
    i64::try_from(n).map_err(|_| Error::BadRequest("The file is larger than any can be.".into()))
}

/// A file is complete. A descriptor tells what else is to come; the last one ends the upload.
async fn arrived(d: &Domain, upload: &Upload, name: &str) -> Result<()> {
    let now = d.store.upload_by_link(&upload.link, d.now()).await?;
    if name.to_ascii_lowercase().ends_with(".ovf") && now.files.len() == 1 {
        let area = d.area()?;
        let file = &now.files[0];
        let read = area.read(file.id, ovf::limit::DESCRIPTOR_BYTES as u64 + 1).await;
        let bytes = read.map_err(|e| Error::Internal(format!("the transfer area: {e}")))?;
        let announced = match ovf::Envelope::parse(&bytes) {
            Ok(envelope) => envelope.files,
            Err(refused) => {
                d.store.upload_failed(&now, &format!("The descriptor was refused. {refused}")).await?;
                return Ok(());
            }
        };
        let limit = whole(area.limit)?;
        for file in announced {
            let Some(size) = file.size else {
                let why = format!("{}: the descriptor does not say its size (ovf:size).", file.href);
                d.store.upload_failed(&now, &why).await?;
                return Ok(());
            };
            if let Err(e) = d.store.upload_file(&now, &file.href, FileRoom { size: whole(size)?, limit }, "").await {
                d.store.upload_failed(&now, &e.to_string()).await?;
                return Ok(());
            }
        }
    }
    d.store.upload_complete(&now).await?;
    Ok(())
}

/// Uploads that nobody goes on with are given up, and files that nothing needs are removed. Any replica may do it.
pub async fn clean(d: &Domain) -> Result<usize> {
    let Some(area) = &d.area else { return Ok(0) };
    for upload in d.store.uploads_abandoned(d.now()).await? {
        let why = match upload.state {
            UploadState::Open => "It was not completed in time, and was given up.",
            _ => continue,
        };
        d.store.upload_failed(&upload, why).await?;
    }
    let mut removed = 0;
    for file in d.store.files_unneeded().await? {
        match area.remove(file).await {
            Ok(()) => d.store.file_removed(file).await?,
            Err(e) => {
                tracing::warn!(%file, error = %e, "a file of the transfer area can't be removed");
                continue;
            }
        }
        removed += 1;
    }
    Ok(removed)
}
