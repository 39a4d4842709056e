//! Good files with random damage: whatever comes, an answer does, and nothing panics.
mod common;
use common::{OVF, good, iso, qcow2, vmdk};
use ovf::{Envelope, Manifest, read_ova, recognise};
use rand::{Rng, SeedableRng, rngs::StdRng};

/// Something is flipped, cut out, doubled, or replaced by what is known to hurt.
fn damaged(rng: &mut StdRng, good: &[u8]) -> Vec<u8> {
    const TOKENS: [&[u8]; 12] = [
        b"<",
        b">",
        b"&",
        b"\"",
        b"]]>",
        b"<!--",
        b"<![CDATA[",
        b"\xff\xfe",
        b"../",
        b"-1",
        b"18446744073709551615",
        b"\0",
    ];
    let mut bytes = good.to_vec();
    for _ in 0..rng.random_range(1..6) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..5) {
            0 => bytes[at] = rng.random(),
            1 => bytes[at] ^= 1 << rng.random_range(0..8),
            2 => bytes.truncate(at),
            3 => {
                let end = (at + rng.random_range(1..200)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let token = TOKENS[rng.random_range(0..TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn whatever_is_damaged_an_answer_comes() {
    let mut rng = StdRng::seed_from_u64(20);
    let (mut taken, mut refused) = (0, 0);
    let mut count = |ok: bool| if ok { taken += 1 } else { refused += 1 };
    for _ in 0..3000 {
        count(Envelope::parse(&damaged(&mut rng, OVF.as_bytes())).is_ok());
        let ova = damaged(&mut rng, &good());
        count(read_ova(ova.as_slice(), ova.len() as u64).is_ok());
        // a length that is not the file's
        count(read_ova(ova.as_slice(), rng.random::<u64>() >> rng.random_range(0..64)).is_ok());
        for image in [vmdk(), qcow2(1 << 30), iso(20)] {
            let image = damaged(&mut rng, &image);
            count(recognise("x", &image, rng.random::<u64>() >> rng.random_range(0..64)).is_ok());
        }
        let manifest = damaged(&mut rng, b"SHA256(shop.ovf)= aa\nSHA1(disk1.vmdk)= bb\n");
        count(Manifest::parse(&String::from_utf8_lossy(&manifest)).is_ok());
    }
    assert!(taken > 100 && refused > 5000, "{taken} taken, {refused} refused");
}
