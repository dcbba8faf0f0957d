//! Numbers and byte strings as frozen programs and frozen machine code hold them: little-endian.

pub(crate) fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

pub(crate) fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// Writes bytes, preceded by their number.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend(bytes);
}

/// Writes records of words, preceded by their number.
pub(crate) fn put_words<const N: usize>(out: &mut Vec<u8>, records: &[[u32; N]]) {
    put_u64(out, records.len() as u64);
    out.reserve(size_of_val(records));
    for word in records.iter().flatten() {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// Reads frozen bytes. It never reads past the end, and allocates no more than the bytes call for.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn len(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok()
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.len()?;
        self.take(len)
    }

    pub(crate) fn words<const N: usize>(&mut self) -> Option<Vec<[u32; N]>> {
        let len = self.len()?.checked_mul(N * size_of::<u32>())?;
        let words = self.take(len)?.as_chunks().0;
        Some(words.as_chunks().0.iter().map(|record| record.map(u32::from_le_bytes)).collect())
    }
}
