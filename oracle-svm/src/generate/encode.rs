//! Serialization of instruction data, little endian.

use crate::case::Key;

/// A growing buffer.
#[derive(Clone, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub(crate) fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn key(self, key: &Key) -> Self {
        self.bytes(key)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends bytes as bincode does: the length as a `u64` first.
    pub(crate) fn string(self, text: &[u8]) -> Self {
        self.u64(text.len() as u64).bytes(text)
    }

    /// Pads with zeros to `len` bytes.
    pub(crate) fn padded(mut self, len: usize) -> Vec<u8> {
        self.0.resize(self.0.len().max(len), 0);
        self.0
    }
}

/// Appends a length in compact form, seven bits per byte.
pub(crate) fn compact(len: usize) -> Vec<u8> {
    let (mut rest, mut bytes) = (len, Vec::new());
    loop {
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
