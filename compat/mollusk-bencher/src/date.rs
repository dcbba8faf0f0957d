//! The time, as headings show it.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// Returns the time, as `2026-01-31 23:59:59 UTC`.
pub(crate) fn now() -> String {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format(elapsed.as_secs())
}

fn format(seconds: u64) -> String {
    let (year, month, day) = date(seconds / SECONDS_PER_DAY);
    let second = seconds % SECONDS_PER_DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Returns year, month and day of a day since 1970.
fn date(mut day: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for days in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(format(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(format(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(format(1_767_225_599), "2025-12-31 23:59:59 UTC");
    }
}
