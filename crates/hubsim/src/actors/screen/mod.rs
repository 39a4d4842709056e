//! What stands on the screen of a simulated machine: its name and state, what was typed last, and a few colours.
mod font;
pub(crate) mod rfb;

pub(crate) const WIDTH: u16 = 640;
pub(crate) const HEIGHT: u16 = 400;

const PAPER: u32 = 0x10_18_28;
const INK: u32 = 0xd8_de_e9;
const BARS: [u32; 8] = [0xff_ff_ff, 0xe0_c0_20, 0x20_c0_c0, 0x20_a0_40, 0xc0_40_c0, 0xc0_30_30, 0x30_50_d0, 0x00_00_00];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rect {
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

impl Rect {
    #[cfg(test)]
    pub(crate) const ALL: Rect = Rect { x: 0, y: 0, width: WIDTH, height: HEIGHT };

    /// What of it is on the screen.
    pub(crate) fn clipped(self) -> Rect {
        let (x, y) = (self.x.min(WIDTH), self.y.min(HEIGHT));
        Rect { x, y, width: self.width.min(WIDTH - x), height: self.height.min(HEIGHT - y) }
    }
}

/// Drawn anew whenever something on it changes: it is small.
#[derive(Debug)]
pub(crate) struct Screen {
    pixels: Vec<u32>,
    name: String,
    state: String,
    key: String,
    pointer: Option<(u16, u16)>,
}

impl Screen {
    pub(crate) fn new(name: &str, state: &str) -> Screen {
        let size = usize::from(WIDTH) * usize::from(HEIGHT);
        let (name, state) = (name.to_owned(), state.to_owned());
        let mut screen = Screen { pixels: vec![PAPER; size], name, state, key: "none yet".into(), pointer: None };
        screen.draw();
        screen
    }

    /// False: it says so already.
    pub(crate) fn state(&mut self, state: &str) -> bool {
        let news = self.state != state;
        if news {
            state.clone_into(&mut self.state);
            self.draw();
        }
        news
    }

    /// A key was pressed, by its X11 number.
    pub(crate) fn key(&mut self, keysym: u32) {
        self.key = match (keysym, char::from_u32(keysym)) {
            (0x20, _) => "space".into(),
            (0x21..=0x7e, Some(c)) => c.to_string(),
            (0xff0d, _) => "enter".into(),
            (0xff08, _) => "backspace".into(),
            (0xff1b, _) => "escape".into(),
            (0xffff, _) => "delete".into(),
            _ => format!("{keysym:#x}"),
        };
        self.draw();
    }

    /// Somebody clicked there.
    pub(crate) fn click(&mut self, x: u16, y: u16) {
        self.pointer = Some((x.min(WIDTH - 1), y.min(HEIGHT - 1)));
        self.draw();
    }

    pub(crate) fn pixel(&self, x: u16, y: u16) -> u32 {
        self.pixels.get(usize::from(y) * usize::from(WIDTH) + usize::from(x)).copied().unwrap_or(PAPER)
    }

    fn draw(&mut self) {
        self.pixels.fill(PAPER);
        let each = WIDTH / BARS.len() as u16;
        for (i, colour) in BARS.into_iter().enumerate() {
            self.fill(i as u16 * each, HEIGHT - 48, each, 48, colour);
        }
        let lines = [
            (self.name.clone(), 4),
            (self.state.clone(), 3),
            ("Simulated: no guest runs here.".into(), 2),
            (format!("Last key: {}", self.key), 3),
        ];
        let mut y = 40;
        for (text, size) in lines {
            self.text(24, y, size, &text);
            y += 7 * size + 28;
        }
        if let Some((x, y)) = self.pointer {
            self.fill(x.saturating_sub(4), y.saturating_sub(4), 9, 9, BARS[1]);
        }
    }

    /// Each dot of a letter is a square of that size.
    fn text(&mut self, mut x: u16, y: u16, size: u16, text: &str) {
        for c in text.chars().take(usize::from(WIDTH)) {
            for column in font::columns(c) {
                for row in (0..8).filter(|row| column >> row & 1 == 1) {
                    self.fill(x, y + row * size, size, size, INK);
                }
                x = x.saturating_add(size);
            }
            x = x.saturating_add(size);
        }
    }

    fn fill(&mut self, x: u16, y: u16, width: u16, height: u16, colour: u32) {
        let r = Rect { x, y, width, height }.clipped();
        for row in r.y..r.y + r.height {
            let start = usize::from(row) * usize::from(WIDTH) + usize::from(r.x);
            self.pixels[start..start + usize::from(r.width)].fill(colour);
        }
    }
}
