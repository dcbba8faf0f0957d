//! Reading and writing of DWARF numbers.

/// A reader of numbers at a position in a slice.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let bytes = self.bytes.get(self.position..self.position.checked_add(count)?)?;
        self.position += count;
        Some(bytes)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(*self.take(2)?.first_chunk()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    pub(super) fn uleb(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }
}

pub(super) fn put_uleb(bytes: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        bytes.push(if value == 0 { low } else { low | 0x80 });
        if value == 0 {
            return;
        }
    }
}

/// Encodes a number in exactly `length` bytes; a number that does not fit becomes the largest one
/// that does.
pub(super) fn uleb_of_length(value: u64, length: usize) -> Vec<u8> {
    let max = u32::try_from(7 * length).ok().and_then(|bits| 1_u64.checked_shl(bits));
    let mut value = max.map_or(value, |max| value.min(max - 1));
    let mut bytes = Vec::with_capacity(length);
    for index in 0..length {
        let low = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        bytes.push(if index + 1 < length { low | 0x80 } else { low });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uleb_of_length_pads_or_saturates() {
        for (value, length) in [(5, 1), (5, 3), (300, 2), (300, 5)] {
            let bytes = uleb_of_length(value, length);
            assert_eq!(bytes.len(), length);
            assert_eq!(Reader::new(&bytes, 0).uleb(), Some(value));
        }
        assert_eq!(Reader::new(&uleb_of_length(300, 1), 0).uleb(), Some(127));
    }
}
