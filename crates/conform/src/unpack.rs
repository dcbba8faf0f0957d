//! Decompression of Zstandard files, with checks for damage and decompression bombs.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::StreamingDecoder;

/// The constant part of the limit in bytes for unpacked files; archives of zeros are small.
const UNPACKED_BYTES_BASE: u64 = 64 << 20;
/// The part of that limit for each packed byte. Vectors need up to 80.
const UNPACKED_BYTES_PER_BYTE: u64 = 128;

/// The maximum length in bytes of a file's first line; a line that names a fixture is shorter.
const FIRST_LINE_BYTES_MAX: u64 = 1 << 20;

const FRAME_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The upper bytes of the magic number of skippable frames, which parallel packers write.
const SKIPPABLE_MAGIC: [u8; 3] = [0x2a, 0x4d, 0x18];

/// Returns the content of a file, unpacked if it is packed.
pub(crate) fn unpack(file: Vec<u8>) -> io::Result<Vec<u8>> {
    if !file.starts_with(&FRAME_MAGIC) && skipped_frame(&file).is_none() {
        return Ok(file);
    }
    let bytes_max = UNPACKED_BYTES_BASE + UNPACKED_BYTES_PER_BYTE * file.len() as u64;
    let (mut rest, mut content) = (file.as_slice(), Vec::new());
    while !rest.is_empty() {
        match skipped_frame(rest) {
            Some(after) => rest = after,
            None => unpack_frame(&mut rest, &mut content, bytes_max)?,
        }
    }
    Ok(content)
}

/// Returns the first line of a file, packed or not, without unpacking the rest.
pub(crate) fn first_line(mut file: &[u8]) -> io::Result<Vec<u8>> {
    while let Some(after) = skipped_frame(file) {
        file = after;
    }
    if !file.starts_with(&FRAME_MAGIC) {
        return read_line(file);
    }
    let frame = StreamingDecoder::new(file).map_err(io::Error::other)?;
    read_line(BufReader::new(frame))
}

fn read_line(from: impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(FIRST_LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn unpack_frame(rest: &mut &[u8], content: &mut Vec<u8>, bytes_max: u64) -> io::Result<()> {
    let mut frame = StreamingDecoder::new(rest).map_err(io::Error::other)?;
    let left = bytes_max.saturating_sub(content.len() as u64);
    let unpacked = frame.by_ref().take(left).read_to_end(content)? as u64;
    if unpacked == left {
        return Err(io::Error::other(format!("it has more than {} MiB unpacked", bytes_max >> 20)));
    }
    let written = frame.decoder.get_checksum_from_data();
    let wrong_checksum = written.is_some() && written != frame.decoder.get_calculated_checksum();
    // A frame without a size has 0 here.
    let size = frame.decoder.content_size();
    if wrong_checksum || ![0, unpacked].contains(&size) {
        return Err(io::Error::other("its size or checksum does not match: it is damaged"));
    }
    Ok(())
}

/// Returns the bytes after a skippable frame; `None` if the bytes do not begin with one.
fn skipped_frame(bytes: &[u8]) -> Option<&[u8]> {
    let (&[kind, magic @ ..], rest) = bytes.split_first_chunk::<4>()?;
    if kind >> 4 != 5 || magic != SKIPPABLE_MAGIC {
        return None;
    }
    let (length, rest) = rest.split_first_chunk()?;
    rest.get(usize::try_from(u32::from_le_bytes(*length)).ok()?..)
}

#[cfg(test)]
mod tests {
    use twox_hash::XxHash64;

    use super::*;

    /// Returns a frame with one raw block: magic, descriptor (single segment, checksum), size, block
    /// header (last, raw, size), content, checksum.
    fn frame(content: &str) -> Vec<u8> {
        let len = u8::try_from(content.len()).unwrap();
        let block = (u32::from(len) << 3 | 1).to_le_bytes();
        let checksum = XxHash64::oneshot(0, content.as_bytes()).to_le_bytes();
        let header = [&FRAME_MAGIC[..], &[0x24, len], &block[..3]].concat();
        [&header[..], content.as_bytes(), &checksum[..4]].concat()
    }

    #[test]
    fn several_frames_are_unpacked_in_sequence() {
        let skipped = [0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
        let packed = [&skipped[..], &frame("one "), &skipped, &frame("two")].concat();
        assert_eq!(unpack(packed).unwrap(), b"one two");
        assert_eq!(unpack(b"plain".to_vec()).unwrap(), b"plain");
    }

    #[test]
    fn a_decompression_bomb_is_refused() {
        // Blocks of 128 KiB that repeat one byte, in a window of 1 MiB.
        let block = [&((128_u32 << 10) << 3 | 1 << 1).to_le_bytes()[..3], &[0]].concat();
        let bomb = [&FRAME_MAGIC[..], &[0, 0x50], &block.repeat(600)].concat();
        let refused = unpack(bomb).unwrap_err();
        assert_eq!(refused.to_string(), "it has more than 64 MiB unpacked");
    }

    #[test]
    fn the_first_line_is_read_without_the_rest_of_the_file() {
        let skipped = [0x5f, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
        let packed = [&skipped[..], &frame("one\ntwo\n"), b"damaged"].concat();
        assert_eq!(first_line(&packed).unwrap(), b"one\n");
        assert_eq!(first_line(b"one\ntwo").unwrap(), b"one\n");
        assert_eq!(first_line(b"").unwrap(), b"");
    }

    #[test]
    fn every_damaged_byte_and_every_truncation_is_an_error() {
        let whole = frame("some content");
        for index in 4..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 4;
            assert!(unpack(damaged).is_err(), "byte {index}");
        }
        for length in 4..whole.len() {
            assert!(unpack(whole[..length].to_vec()).is_err(), "cut at {length}");
        }
    }
}
