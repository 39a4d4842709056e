//! PNG, as far as a picture of a screen needs it: three bytes a pixel, rows as they are.
use flate2::{Compression, Crc, write::ZlibEncoder};
use std::io::{Result, Write};

pub(super) fn encode(width: usize, height: usize, rgb: &[u8]) -> Result<Vec<u8>> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = Vec::with_capacity(13);
    for size in [width, height] {
        head.extend_from_slice(&(size as u32).to_be_bytes());
    }
    head.extend_from_slice(&[8, 2, 0, 0, 0]);
    chunk(&mut out, b"IHDR", &head);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    for row in rgb.chunks_exact(width * 3) {
        packed.write_all(&[0])?;
        packed.write_all(row)?;
    }
    chunk(&mut out, b"IDAT", &packed.finish()?);
    chunk(&mut out, b"IEND", &[]);
    Ok(out)
}

fn chunk(out: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend_from_slice(name);
    out.extend_from_slice(data);
    let mut sum = Crc::new();
    sum.update(&out[start..]);
    out.extend_from_slice(&sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    #[test]
    fn a_picture_has_its_size_its_rows_and_right_sums() {
        let png = encode(2, 2, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).expect("a picture");
        let (mut at, mut names, mut rows) = (8, Vec::new(), Vec::new());
        while at < png.len() {
            let length = u32::from_be_bytes([png[at], png[at + 1], png[at + 2], png[at + 3]]) as usize;
            let (body, sum) = (&png[at + 4..at + 8 + length], &png[at + 8 + length..at + 12 + length]);
            let mut right = Crc::new();
            right.update(body);
            assert_eq!(sum, right.sum().to_be_bytes());
            if body.starts_with(b"IDAT") {
                ZlibDecoder::new(&body[4..]).read_to_end(&mut rows).expect("deflate");
            }
            names.push(body[..4].to_vec());
            at += 12 + length;
        }
        assert_eq!(names, [b"IHDR", b"IDAT", b"IEND"]);
        assert_eq!(rows, [0, 1, 2, 3, 4, 5, 6, 0, 7, 8, 9, 10, 11, 12]);
    }
}
