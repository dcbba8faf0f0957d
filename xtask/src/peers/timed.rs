//! What work takes.

use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike as _,
};

/// What some work took.
#[derive(Clone, Copy)]
pub(super) struct Took {
    pub(super) wall: Duration,
    /// The time of all processors, of the processes that were started.
    pub(super) cpu: Duration,
}

/// Does some work, and returns what it took.
#[allow(clippy::disallowed_methods, reason = "measures the time of suites")]
pub(super) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Took)> {
    let (begun, cpu) = (Instant::now(), cpu_time()?);
    let result = work()?;
    Ok((result, Took { wall: begun.elapsed(), cpu: cpu_time()?.saturating_sub(cpu) }))
}

fn cpu_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let time = usage.user_time() + usage.system_time();
    Ok(Duration::from_micros(time.num_microseconds().unsigned_abs()))
}
