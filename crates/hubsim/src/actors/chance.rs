//! Chance that comes out the same for the same seed and the same names, so that runs can be repeated.
use uuid::{Builder, Uuid};

#[derive(Clone, Copy, Debug, Default)]
pub struct Chance {
    seed: u64,
}

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance { seed }
    }

    /// A number that depends on the seed and on all parts.
    pub(crate) fn number(self, parts: &[&str]) -> u64 {
        // FNV-1a over the parts, then splitmix64 to spread the bits
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for part in parts {
            for byte in part.bytes().chain([0xff]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        spread(hash)
    }

    /// A stream of numbers for one purpose.
    pub(crate) fn stream(self, parts: &[&str]) -> Stream {
        Stream { state: self.number(parts) }
    }

    pub(crate) fn uuid(self, parts: &[&str]) -> Uuid {
        let mut s = self.stream(parts);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&s.next().to_be_bytes());
        bytes[8..].copy_from_slice(&s.next().to_be_bytes());
        Builder::from_random_bytes(bytes).into_uuid()
    }

    /// Characters as Kubernetes appends them to a generated name.
    pub(crate) fn suffix(self, parts: &[&str], length: usize) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut s = self.stream(parts);
        (0..length).map(|_| char::from(ALPHABET[s.below(ALPHABET.len())])).collect()
    }
}

pub(crate) struct Stream {
    state: u64,
}

impl Stream {
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        spread(self.state)
    }

    /// A number from 0 to `limit` - 1; 0 where there is no room.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % limit).unwrap_or_default()
    }
}

fn spread(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_names_give_the_same_and_others_differ() {
        let a = Chance::new(1);
        assert_eq!(a.uuid(&["ns", "vm"]), a.uuid(&["ns", "vm"]));
        assert_ne!(a.uuid(&["ns", "vm"]), a.uuid(&["n", "svm"]));
        assert_ne!(a.uuid(&["ns", "vm"]), Chance::new(2).uuid(&["ns", "vm"]));
        assert_eq!(a.uuid(&["x"]).get_version_num(), 4);
        assert_eq!(a.suffix(&["x"], 5).len(), 5);
    }
}
