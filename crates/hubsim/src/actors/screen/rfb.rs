//! The server's side of RFB 3.8 (RFC 6143), as far as a screen without sound, clipboard or password needs it. Bytes go in as they
//! come and answers come out: it knows nothing of sockets.
use super::{HEIGHT, Rect, Screen, WIDTH};

pub(crate) const VERSION: &[u8; 12] = b"RFB 003.008\n";
/// The longest text that is taken from a client's clipboard, and thrown away.
const LONGEST_TEXT: usize = 256 * 1024;

/// How a client wants its colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format {
    bytes: usize,
    big_endian: bool,
    max: [u16; 3],
    shift: [u8; 3],
}

impl Format {
    const OWN: Format = Format { bytes: 4, big_endian: false, max: [255; 3], shift: [16, 8, 0] };

    fn read(at: &[u8]) -> Result<Format, String> {
        let bytes = match at[0] {
            8 => 1,
            16 => 2,
            32 => 4,
            other => return Err(format!("{other} bits a pixel are not offered")),
        };
        if at[3] == 0 {
            return Err("colour maps are not offered".into());
        }
        let max = [u16_at(at, 4), u16_at(at, 6), u16_at(at, 8)];
        let shift = [at[10], at[11], at[12]];
        if max.contains(&0) || shift.iter().any(|s| usize::from(*s) >= bytes * 8) {
            return Err("colours outside of a pixel".into());
        }
        Ok(Format { bytes, big_endian: at[2] != 0, max, shift })
    }

    fn put(self, colour: u32, into: &mut Vec<u8>) {
        let parts = [colour >> 16 & 0xff, colour >> 8 & 0xff, colour & 0xff];
        let mut pixel = 0_u32;
        for (i, part) in parts.into_iter().enumerate() {
            pixel |= (part * u32::from(self.max[i]) / 255) << self.shift[i];
        }
        match self.big_endian {
            true => into.extend_from_slice(&pixel.to_be_bytes()[4 - self.bytes..]),
            false => into.extend_from_slice(&pixel.to_le_bytes()[..self.bytes]),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Version,
    Security,
    Init,
    Open,
}

/// One viewer of a screen.
#[derive(Debug)]
pub(crate) struct Viewer {
    screen: Screen,
    title: String,
    stage: Stage,
    format: Format,
    came: Vec<u8>,
    /// What the client wants to be sent as soon as something is new on it.
    wanted: Option<Rect>,
    fresh: bool,
}

impl Viewer {
    /// The server speaks first: `VERSION` is to be sent.
    pub(crate) fn new(title: &str, screen: Screen) -> Viewer {
        let title = title.to_owned();
        Viewer { screen, title, stage: Stage::Version, format: Format::OWN, came: vec![], wanted: None, fresh: true }
    }

    /// What the client sent, and what is to be answered. An error ends the connection.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        self.came.extend_from_slice(bytes);
        let mut out = Vec::new();
        while let Some(length) = self.length()? {
            let message: Vec<u8> = self.came.drain(..length).collect();
            self.take(&message, &mut out)?;
        }
        self.update(&mut out);
        Ok(out)
    }

    /// The machine is in that state now; what is to be sent, if anything.
    pub(crate) fn state(&mut self, state: &str) -> Vec<u8> {
        let mut out = Vec::new();
        self.fresh |= self.screen.state(state);
        self.update(&mut out);
        out
    }

    /// How long the next message is, once all of it has come.
    fn length(&self) -> Result<Option<usize>, String> {
        let came = &self.came;
        let length = match (self.stage, came.first()) {
            (_, None) => return Ok(None),
            (Stage::Version, _) => 12,
            (Stage::Security | Stage::Init, _) => 1,
            (Stage::Open, Some(0)) => 20,
            (Stage::Open, Some(2)) if came.len() < 4 => 4,
            (Stage::Open, Some(2)) => 4 + 4 * usize::from(u16_at(came, 2)),
            (Stage::Open, Some(3)) => 10,
            (Stage::Open, Some(4)) => 8,
            (Stage::Open, Some(5)) => 6,
            (Stage::Open, Some(6)) if came.len() < 8 => 8,
            (Stage::Open, Some(6)) => match u32_at(came, 4) as usize {
                long if long > LONGEST_TEXT => return Err("the text is too long".into()),
                long => 8 + long,
            },
            (Stage::Open, Some(other)) => return Err(format!("a message of type {other} is not known")),
        };
        Ok((came.len() >= length).then_some(length))
    }

    fn take(&mut self, message: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        match self.stage {
            Stage::Version if message == VERSION => {
                // one way to sign in: none at all
                out.extend_from_slice(&[1, 1]);
                self.stage = Stage::Security;
            }
            Stage::Version => return Err("RFB 003.008 is spoken here".into()),
            Stage::Security if message == [1] => {
                out.extend_from_slice(&0_u32.to_be_bytes());
                self.stage = Stage::Init;
            }
            Stage::Security => return Err("there is no such way to sign in".into()),
            Stage::Init => {
                self.init(out);
                self.stage = Stage::Open;
            }
            Stage::Open => self.open(message)?,
        }
        Ok(())
    }

    fn init(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&WIDTH.to_be_bytes());
        out.extend_from_slice(&HEIGHT.to_be_bytes());
        let Format { max, shift, .. } = Format::OWN;
        out.extend_from_slice(&[32, 24, 0, 1]);
        for max in max {
            out.extend_from_slice(&max.to_be_bytes());
        }
        out.extend_from_slice(&shift);
        out.extend_from_slice(&[0; 3]);
        out.extend_from_slice(&(self.title.len() as u32).to_be_bytes());
        out.extend_from_slice(self.title.as_bytes());
    }

    fn open(&mut self, message: &[u8]) -> Result<(), String> {
        match message[0] {
            0 => self.format = Format::read(&message[4..20])?,
            3 => {
                let at = |i| u16_at(message, i);
                self.wanted = Some(Rect { x: at(2), y: at(4), width: at(6), height: at(8) }.clipped());
                self.fresh |= message[1] == 0;
            }
            4 if message[1] != 0 => {
                self.screen.key(u32_at(message, 4));
                self.fresh = true;
            }
            5 if message[1] != 0 => {
                self.screen.click(u16_at(message, 2), u16_at(message, 4));
                self.fresh = true;
            }
            // encodings: raw is understood by everybody. Keys that are let go, moves of the pointer, texts: nothing shows them
            _ => {}
        }
        Ok(())
    }

    fn update(&mut self, out: &mut Vec<u8>) {
        let Some(rect) = self.wanted.filter(|_| self.fresh) else { return };
        (self.wanted, self.fresh) = (None, false);
        out.extend_from_slice(&[0, 0, 0, 1]);
        for n in [rect.x, rect.y, rect.width, rect.height] {
            out.extend_from_slice(&n.to_be_bytes());
        }
        out.extend_from_slice(&0_i32.to_be_bytes());
        for y in rect.y..rect.y + rect.height {
            for x in rect.x..rect.x + rect.width {
                self.format.put(self.screen.pixel(x, y), out);
            }
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewer() -> Viewer {
        let mut viewer = Viewer::new("web", Screen::new("web", "Running"));
        assert_eq!(viewer.feed(VERSION).unwrap(), [1, 1]);
        assert_eq!(viewer.feed(&[1]).unwrap(), [0, 0, 0, 0]);
        let init = viewer.feed(&[1]).unwrap();
        assert_eq!((u16_at(&init, 0), u16_at(&init, 2), &init[24..]), (WIDTH, HEIGHT, b"web".as_slice()));
        viewer
    }

    fn request(incremental: u8, rect: Rect) -> Vec<u8> {
        let mut out = vec![3, incremental];
        for n in [rect.x, rect.y, rect.width, rect.height] {
            out.extend_from_slice(&n.to_be_bytes());
        }
        out
    }

    #[test]
    fn a_whole_picture_comes_when_asked_for_and_then_only_what_is_new() {
        let mut viewer = viewer();
        let all = viewer.feed(&request(0, Rect::ALL)).unwrap();
        assert_eq!(all.len(), 16 + usize::from(WIDTH) * usize::from(HEIGHT) * 4);
        assert!(viewer.feed(&request(1, Rect::ALL)).unwrap().is_empty(), "nothing is new");
        let pressed = viewer.feed(&[4, 1, 0, 0, 0, 0, 0, b'a']).unwrap();
        assert_eq!(pressed.len(), all.len());
        assert_ne!(pressed, all, "the key is shown");
        assert!(viewer.feed(&[4, 0, 0, 0, 0, 0, 0, b'a']).unwrap().is_empty());
        viewer.feed(&request(1, Rect::ALL)).unwrap();
        assert!(viewer.state("Running").is_empty());
        assert!(!viewer.state("Paused").is_empty());
    }

    #[test]
    fn messages_may_come_in_any_pieces_and_colours_in_any_form() {
        let mut viewer = viewer();
        let mut sent = vec![0, 0, 0, 0, 16, 16, 1, 1, 0, 31, 0, 63, 0, 31, 11, 5, 0, 0, 0, 0];
        sent.extend_from_slice(&[2, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0]);
        sent.extend_from_slice(&[6, 0, 0, 0, 0, 0, 0, 2, b'h', b'i']);
        let corner = Rect { x: 0, y: HEIGHT - 1, width: 1, height: 9 };
        sent.extend_from_slice(&request(0, corner));
        let mut out = Vec::new();
        for byte in sent {
            out.extend_from_slice(&viewer.feed(&[byte]).unwrap());
        }
        assert_eq!(out[12..], [0, 0, 0, 0, 0xff, 0xff], "one white pixel of two bytes");
        assert_eq!(u16_at(&out, 10), 1, "what is below the screen is cut off");
    }

    #[test]
    fn what_is_no_rfb_ends_it() {
        assert!(Viewer::new("x", Screen::new("x", "")).feed(b"GET / HTTP/1.1\r\n").is_err());
        assert!(viewer().feed(&[99]).is_err());
        assert!(viewer().feed(&[6, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]).is_err());
        assert!(viewer().feed(&[0, 0, 0, 0, 24, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0]).is_err());
    }
}
