//! Memory that clients can make the server hold: [`Budget`], and [`Text`], which is counted as it grows.
//!
//! Invariant: text for a client is written through [`Text`], or counted by a [`Hold`] before it is made.
//! Otherwise a small request might ask for more memory than there is.

use core::ops::Range;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use serde::Serialize;

use crate::error::RpcError;

/// The bytes that clients hold at the same time.
#[derive(Debug)]
pub(crate) struct Budget {
    held: AtomicUsize,
    bytes_max: usize,
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// Creates a budget of which nothing is held.
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { held: AtomicUsize::new(0), bytes_max })
    }

    /// Holds bytes; `None` if there are not enough.
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> Option<Hold> {
        let mut hold = Hold { budget: Arc::clone(self), bytes: 0 };
        hold.grow(bytes).then_some(hold)
    }

    /// Returns the bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Relaxed)
    }
}

impl Hold {
    /// Holds more bytes; returns whether there are enough.
    fn grow(&mut self, bytes: usize) -> bool {
        let max = self.budget.bytes_max;
        let add = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= max);
        let fits = self.budget.held.fetch_update(Relaxed, Relaxed, add).is_ok();
        if fits {
            self.bytes = self.bytes.saturating_add(bytes);
        }
        fits
    }

    /// Gives back all but `bytes`.
    fn shrink_to(&mut self, bytes: usize) {
        let spare = self.bytes.saturating_sub(bytes);
        self.budget.held.fetch_sub(spare, Relaxed);
        self.bytes = self.bytes.min(bytes);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Relaxed);
    }
}

/// The length up to which a text is made where it is asked for, and not on a thread of its own, in
/// bytes: that takes tens of microseconds.
pub(crate) const QUICK_BYTES_MAX: usize = 64 * 1024;

/// The length up to which a text does not count, in bytes: short answers always have space.
const FREE_BYTES: usize = 16 * 1024;

/// Why a text cannot grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Full {
    /// It has reached its own limit.
    Text,
    /// All texts together have reached the budget.
    Budget,
}

/// A text that is written for a client, within its own limit and within the budget.
#[derive(Debug)]
pub(crate) struct Text {
    bytes: Vec<u8>,
    /// The bytes that were ever written, also those that were taken back: they took time.
    written: usize,
    bytes_max: usize,
    hold: Hold,
    full: Option<Full>,
}

impl Text {
    /// Creates an empty text.
    pub(crate) fn new(budget: &Arc<Budget>, bytes_max: usize) -> Self {
        let hold = Hold { budget: Arc::clone(budget), bytes: 0 };
        Self { bytes: Vec::new(), written: 0, bytes_max, hold, full: None }
    }

    /// Creates an empty text with the same limits.
    pub(crate) fn another(&self) -> Self {
        Self::new(&self.hold.budget, self.bytes_max)
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes, which no longer count.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the text as UTF-8.
    pub(crate) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes).expect("texts are written as UTF-8")
    }

    /// Adds a value as JSON.
    ///
    /// # Errors
    /// If it does not fit. Then a part of it is there, which the caller takes back.
    pub(crate) fn json(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), RpcError> {
        let written = serde_json::to_writer(&mut *self, value);
        written.map_err(|error| self.error(&error))
    }

    /// Adds text that is JSON already.
    ///
    /// # Errors
    /// As for [`Text::json`].
    pub(crate) fn raw(&mut self, text: &str) -> Result<(), RpcError> {
        self.add(text.as_bytes())
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// As for [`Text::json`].
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Result<(), RpcError> {
        let written = io::Write::write_all(self, bytes);
        written.map_err(|error| self.error(&error))
    }

    /// Returns whether the last thing did not fit since all texts together are too long.
    pub(crate) fn is_busy(&self) -> bool {
        self.full == Some(Full::Budget)
    }

    /// Returns the limit of this text.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Adds a list of values.
    ///
    /// # Errors
    /// As for [`Text::json`], and those of the values.
    pub(crate) fn list<T: Serialize>(
        &mut self,
        values: impl IntoIterator<Item = Result<T, RpcError>>,
    ) -> Result<(), RpcError> {
        self.raw("[")?;
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                self.raw(",")?;
            }
            self.json(&value?)?;
        }
        self.raw("]")
    }

    /// Adds a part of the text again.
    ///
    /// # Errors
    /// As for [`Text::json`].
    pub(crate) fn repeat(&mut self, range: Range<usize>) -> Result<(), RpcError> {
        if let Err(full) = self.grow(range.len()) {
            self.full = Some(full);
            return Err(self.error(&"no space"));
        }
        self.bytes.extend_from_within(range);
        Ok(())
    }

    /// Takes back what was added after the first `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
        self.full = None;
        let wanted = len.saturating_mul(2);
        if self.bytes.capacity() > wanted {
            self.bytes.shrink_to(wanted);
            self.hold.shrink_to(self.bytes.capacity().saturating_sub(FREE_BYTES));
        }
    }

    /// Adds a short text that must be there even if it does not fit.
    pub(crate) fn force(&mut self, text: &[u8]) {
        self.bytes.reserve_exact(text.len());
        self.bytes.extend_from_slice(text);
    }

    /// Holds bytes that are needed to make a part of the text.
    ///
    /// # Errors
    /// If there are not enough.
    pub(crate) fn hold(&self, bytes: usize) -> Result<Hold, RpcError> {
        let hold = self.hold.budget.hold(bytes);
        hold.ok_or_else(|| RpcError::too_busy(self.hold.budget.bytes_max))
    }

    /// Makes space for `more` bytes: twice the space if the budget allows that.
    fn grow(&mut self, more: usize) -> Result<(), Full> {
        let len = self.bytes.len();
        self.written = self.written.saturating_add(more);
        if self.written > self.bytes_max {
            return Err(Full::Text);
        }
        let needed = len.saturating_add(more);
        // What was forced may have made more space than is held.
        let mut held = self.hold.bytes.saturating_add(FREE_BYTES);
        if needed > held {
            let twice = held.saturating_mul(2).clamp(needed, self.bytes_max.max(needed));
            let wanted = [twice, needed].into_iter();
            let mut fits = wanted.filter(|it| self.hold.grow(it.saturating_sub(held)));
            held = fits.next().ok_or(Full::Budget)?;
        }
        let capacity = self.bytes.capacity();
        if needed > capacity {
            let wanted = capacity.saturating_mul(2).clamp(needed, held);
            self.bytes.reserve_exact(wanted.saturating_sub(len));
        }
        Ok(())
    }

    /// Returns the error of a write that failed with `error`.
    pub(crate) fn error(&self, error: &impl core::fmt::Display) -> RpcError {
        match self.full {
            Some(Full::Text) => RpcError::too_long(self.bytes_max),
            Some(Full::Budget) => RpcError::too_busy(self.hold.budget.bytes_max),
            None => RpcError::internal(error),
        }
    }
}

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(full) = self.grow(bytes.len()) {
            self.full = Some(full);
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(bytes: usize) -> String {
        "a".repeat(bytes)
    }

    #[test]
    fn a_text_ends_at_its_limit_and_at_that_of_all() {
        let budget = Budget::new(100_000);
        let mut one = Text::new(&budget, 60_000);
        one.json(&long(40_000)).unwrap();
        assert!((40_002 - FREE_BYTES..=60_000).contains(&budget.held()), "{}", budget.held());
        assert_eq!(one.json(&long(40_000)), Err(RpcError::too_long(60_000)));
        one.truncate(40_002);
        let mut other = Text::new(&budget, 200_000);
        assert_eq!(other.json(&long(110_000)), Err(RpcError::too_busy(100_000)));
        drop(one);
        let mut other = Text::new(&budget, 200_000);
        other.json(&long(110_000)).unwrap();
        drop(other);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn what_is_taken_back_leaves_memory_and_counts_as_written() {
        let budget = Budget::new(1_000_000);
        let mut text = Text::new(&budget, 100_000);
        text.json(&long(90_000)).unwrap();
        text.truncate(0);
        assert_eq!(budget.held(), 0);
        assert_eq!(text.json(&long(20_000)), Err(RpcError::too_long(100_000)));
    }

    #[test]
    fn what_is_forced_makes_no_space_for_more() {
        let budget = Budget::new(100_000);
        let mut text = Text::new(&budget, 1_000_000);
        text.json(&long(90_000)).unwrap();
        text.force(&[b'a'; 30_000]);
        assert_eq!(text.json(&long(10)), Err(RpcError::too_busy(100_000)));
        assert!(text.bytes.capacity() < 150_000 && budget.held() <= 100_000);
    }

    #[test]
    fn short_texts_have_space_when_there_is_none() {
        let budget = Budget::new(0);
        let mut text = Text::new(&budget, 100_000);
        text.json(&long(1000)).unwrap();
        assert_eq!(text.json(&long(FREE_BYTES)), Err(RpcError::too_busy(0)));
    }
}
