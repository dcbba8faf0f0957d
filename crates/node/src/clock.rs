//! Clocks: where a node's time comes from.

use core::{fmt, time::Duration};
use std::{
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

/// A clock that a node reads.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the time since the Unix epoch.
    fn now(&self) -> Duration;
}

/// The clock of the host.
#[derive(Clone, Copy, Default, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that others are given")]
    fn now(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

/// A clock that stands still until it is advanced, for tests.
#[derive(Debug)]
pub struct ManualClock(Mutex<Duration>);

impl ManualClock {
    /// Creates a clock that shows this time since the Unix epoch.
    #[must_use]
    pub fn at(now: Duration) -> Self {
        Self(Mutex::new(now))
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = now.saturating_add(by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
