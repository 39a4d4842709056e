//! A picture of a VM's screen: the client's side of RFB 3.8 (RFC 6143) for as long as one picture takes.
mod png;

use crate::{
    Client, Key,
    client::{Viewing, VncReader, VncWriter},
    error::{Error, Reach, Result},
};
use bytes::Bytes;
use std::time::Duration;
use tokio::sync::Semaphore;

/// From the first byte to the last pixel.
const PATIENCE: Duration = Duration::from_secs(10);
/// A picture is some megabytes while it is made.
static AT_ONCE: Semaphore = Semaphore::const_new(4);
const MOST_PIXELS: usize = 4096 * 2304;

const VERSION: &[u8] = b"RFB 003.008\n";
/// 32 bits a pixel, of which 24 count: blue, green, red, nothing.
const FORMAT: [u8; 20] = [0, 0, 0, 0, 32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0];
/// Raw alone.
const ENCODINGS: [u8; 8] = [2, 0, 0, 1, 0, 0, 0, 0];

struct Canvas {
    width: usize,
    height: usize,
    /// Three bytes a pixel.
    rgb: Vec<u8>,
}

impl Client {
    /// The screen as a PNG, without putting out anybody who looks at it.
    pub async fn picture(&self, key: &Key, uid: &str) -> Result<Vec<u8>> {
        let _turn = AT_ONCE.acquire().await.map_err(|_| Error::Odd("no picture is taken any more".into()))?;
        let (reader, mut writer) = self.vnc(key, uid, Viewing::Gently).await?.split();
        let drawing = draw(Input { reader, came: Bytes::new() }, &mut writer);
        let drawn = tokio::time::timeout(PATIENCE, drawing).await.unwrap_or_else(|_| {
            let detail = format!("no picture within {} s", PATIENCE.as_secs());
            Err(Error::Unreachable { why: Reach::Timeout, detail })
        });
        writer.close().await;
        let canvas = drawn?;
        let packed = tokio::task::spawn_blocking(move || png::encode(canvas.width, canvas.height, &canvas.rgb)).await;
        packed.ok().and_then(std::io::Result::ok).ok_or_else(|| Error::Odd("a picture could not be packed".into()))
    }
}

/// Messages of RFB know nothing of those that they come in.
struct Input {
    reader: VncReader,
    came: Bytes,
}

impl Input {
    async fn fill(&mut self) -> Result<()> {
        while self.came.is_empty() {
            self.came = self.reader.next().await?.ok_or_else(|| wrong("it ended before the picture"))?;
        }
        Ok(())
    }

    async fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        for byte in &mut out {
            self.fill().await?;
            *byte = self.came.split_to(1)[0];
        }
        Ok(out)
    }

    /// The next so many bytes, piece by piece.
    async fn each(&mut self, mut length: usize, mut with: impl FnMut(&[u8])) -> Result<()> {
        while length > 0 {
            self.fill().await?;
            let piece = self.came.split_to(self.came.len().min(length));
            with(&piece);
            length -= piece.len();
        }
        Ok(())
    }
}

fn wrong(why: &str) -> Error {
    Error::Odd(format!("its screen speaks no RFB as we know it: {why}"))
}

async fn draw(mut from: Input, to: &mut VncWriter) -> Result<Canvas> {
    if !from.take::<12>().await?.starts_with(b"RFB 003.") {
        return Err(wrong("another version"));
    }
    to.send(Bytes::from_static(VERSION)).await?;
    let [ways] = from.take().await?;
    let mut open = false;
    from.each(ways.into(), |piece| open |= piece.contains(&1)).await?;
    if !open {
        return Err(wrong("it asks for a password"));
    }
    to.send(Bytes::from_static(&[1])).await?;
    if from.take::<4>().await? != [0; 4] {
        return Err(wrong("it let nobody in"));
    }
    to.send(Bytes::from_static(&[1])).await?;
    let init: [u8; 24] = from.take().await?;
    let (width, height) = (u16_of(&init, 0), u16_of(&init, 2));
    if width * height == 0 || width * height > MOST_PIXELS {
        return Err(wrong("no size that a screen has"));
    }
    from.each(u32_of(&init, 20), |_| {}).await?;
    let mut asked = [FORMAT.as_slice(), &ENCODINGS, &[3, 0, 0, 0, 0, 0]].concat();
    asked.extend_from_slice(&init[..4]);
    to.send(asked.into()).await?;
    let mut canvas = Canvas { width, height, rgb: vec![0; width * height * 3] };
    let mut drawn = 0;
    while drawn < width * height {
        match from.take::<1>().await? {
            [0] => drawn += rectangles(&mut from, &mut canvas).await?,
            // a map of colours, a bell, a text: nothing that a picture shows
            [1] => {
                let head: [u8; 5] = from.take().await?;
                from.each(u16_of(&head, 3) * 6, |_| {}).await?;
            }
            [2] => {}
            [3] => {
                let head: [u8; 7] = from.take().await?;
                from.each(u32_of(&head, 3), |_| {}).await?;
            }
            _ => return Err(wrong("an unknown message")),
        }
    }
    Ok(canvas)
}

/// One update; how many pixels it drew.
async fn rectangles(from: &mut Input, canvas: &mut Canvas) -> Result<usize> {
    let head: [u8; 3] = from.take().await?;
    let mut drawn = 0;
    for _ in 0..u16_of(&head, 1) {
        let head: [u8; 12] = from.take().await?;
        let (x, y, width, height) = (u16_of(&head, 0), u16_of(&head, 2), u16_of(&head, 4), u16_of(&head, 6));
        if head[8..] != [0; 4] || x + width > canvas.width || y + height > canvas.height {
            return Err(wrong("a rectangle that was not asked for"));
        }
        let (mut at, all, rgb) = (0, canvas.width, &mut canvas.rgb);
        from.each(width * height * 4, |piece| {
            for byte in piece {
                let (pixel, part) = (at / 4, at % 4);
                if part < 3 {
                    rgb[((y + pixel / width) * all + x + pixel % width) * 3 + 2 - part] = *byte;
                }
                at += 1;
            }
        })
        .await?;
        drawn += width * height;
    }
    // an update without anything in it would go on for ever
    if drawn == 0 { Err(wrong("an empty update")) } else { Ok(drawn) }
}

fn u16_of(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

fn u32_of(bytes: &[u8], at: usize) -> usize {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
}
