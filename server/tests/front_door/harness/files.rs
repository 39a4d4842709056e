//! Files that people upload, as small as they can be.

/// A disk that is so large, with nothing on it.
pub(crate) fn qcow2(megabytes: u64) -> Vec<u8> {
    let mut out = vec![0; 1024];
    out[..8].copy_from_slice(b"QFI\xfb\0\0\0\x03");
    out[20..24].copy_from_slice(&16u32.to_be_bytes());
    out[24..32].copy_from_slice(&(megabytes << 20).to_be_bytes());
    out[36..40].copy_from_slice(&1u32.to_be_bytes());
    out[40..48].copy_from_slice(&512u64.to_be_bytes());
    out
}

/// A disc with nothing on it.
pub(crate) fn iso() -> Vec<u8> {
    let mut out = vec![0; 20 * 2048];
    out[0x8001..0x8006].copy_from_slice(b"CD001");
    out[0x8050..0x8054].copy_from_slice(&20u32.to_le_bytes());
    out
}
