//! Token amounts as clients see them, with Token-2022's interest and scaling.

use selkie_layout::token::extension::{InterestBearingConfig, ScaledUiAmount};
use serde_json::{Value, json};

const SECONDS_PER_YEAR: f64 = 60.0 * 60.0 * 24.0 * 365.24;
const BASIS_POINTS: f64 = 10_000.0;

/// How a mint's amounts are shown: its decimals, and the rate or multiplier of its extensions.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// The mint's decimals.
    pub(crate) decimals: u8,
    factor: Factor,
}

/// What an amount is multiplied by at a certain time.
#[derive(Clone, Debug)]
enum Factor {
    One,
    /// Interest accrued so far: the product of both exponentials.
    Interest(Option<f64>),
    /// The multiplier in force; the product is truncated.
    Multiplier(f64),
}

impl Scale {
    /// Creates the scale of a mint without extensions.
    pub(crate) const fn new(decimals: u8) -> Self {
        Self { decimals, factor: Factor::One }
    }

    /// Adds the interest-bearing configuration, by its state's bytes, at a Unix time.
    pub(crate) fn with_interest(mut self, state: &[u8], now: i64) -> Self {
        if let Some(interest) = InterestBearingConfig::at_start_of(state) {
            self.factor = Factor::Interest(interest_factor(&interest, now));
        }
        self
    }

    /// Adds the scaled-amount configuration, by its state's bytes, at a Unix time.
    pub(crate) fn with_multiplier(mut self, state: &[u8], now: i64) -> Self {
        if let Some(it) = ScaledUiAmount::at_start_of(state) {
            let is_new = now >= it.new_multiplier_effective_timestamp;
            self.factor =
                Factor::Multiplier(if is_new { it.new_multiplier } else { it.multiplier });
        }
        self
    }
}

/// Returns the product of the growth before and since the rate was updated. `None` if a time span
/// overflows.
fn interest_factor(it: &InterestBearingConfig, now: i64) -> Option<f64> {
    let updated = it.last_update_timestamp;
    let before = updated.checked_sub(it.initialization_timestamp)?;
    let before = growth(it.pre_update_average_rate, before);
    let since = growth(it.current_rate, now.checked_sub(updated)?);
    Some(before * since)
}

#[allow(clippy::cast_precision_loss, reason = "the program computes with the same precision")]
fn growth(rate: i16, seconds: i64) -> f64 {
    let product = i128::from(rate).saturating_mul(i128::from(seconds));
    (product as f64 / SECONDS_PER_YEAR / BASIS_POINTS).exp()
}

/// Returns `{amount, decimals, uiAmount, uiAmountString}`.
#[allow(clippy::cast_precision_loss, reason = "clients get floating-point amounts")]
pub(crate) fn token_amount(amount: u64, scale: &Scale) -> Value {
    let decimals = scale.decimals;
    let divisor = 10_f64.powi(i32::from(decimals));
    let scaled = match scale.factor {
        Factor::One => None,
        Factor::Interest(factor) => {
            Some(factor.map(|factor| fixed(amount as f64 * (factor / divisor), decimals)))
        }
        Factor::Multiplier(multiplier) => {
            Some(Some(fixed((amount as f64 * multiplier).trunc() / divisor, decimals)))
        }
    };
    let (number, text) = match scaled {
        None => (plain_number(amount, decimals), plain_text(amount, decimals)),
        Some(text) => {
            let number = text.as_ref().and_then(|text| text.parse::<f64>().ok());
            (number, text.unwrap_or_default())
        }
    };
    json!({
        "amount": amount.to_string(),
        "decimals": decimals,
        "uiAmount": number,
        "uiAmountString": text,
    })
}

/// Returns the amount as a number; `None` if 10 to the power of `decimals` overflows.
#[allow(clippy::cast_precision_loss, reason = "clients get floating-point amounts")]
fn plain_number(amount: u64, decimals: u8) -> Option<f64> {
    10_u64.checked_pow(u32::from(decimals)).map(|divisor| amount as f64 / divisor as f64)
}

/// Returns the amount with a decimal point and without zeros at the end.
fn plain_text(amount: u64, decimals: u8) -> String {
    let decimals = usize::from(decimals);
    let mut text = format!("{amount:0width$}", width = decimals.saturating_add(1));
    if decimals > 0 {
        text.insert(text.len().saturating_sub(decimals), '.');
        trim(&mut text);
    }
    text
}

fn fixed(number: f64, decimals: u8) -> String {
    let mut text = format!("{number:.*}", usize::from(decimals));
    if decimals > 0 {
        trim(&mut text);
    }
    text
}

fn trim(text: &mut String) {
    let len = text.trim_end_matches('0').trim_end_matches('.').len();
    text.truncate(len);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(amount: u64, decimals: u8, number: Value, text: &str) {
        let shown = token_amount(amount, &Scale::new(decimals));
        assert_eq!(shown["uiAmount"], number);
        assert_eq!(shown["uiAmountString"], text);
    }

    #[test]
    fn amounts_are_shown_with_their_decimals() {
        check(1_500_000, 6, json!(1.5), "1.5");
        check(1, 9, json!(1e-9), "0.000000001");
        check(0, 9, json!(0.0), "0");
        check(7, 0, json!(7.0), "7");
        check(1, 20, Value::Null, "0.00000000000000000001");
    }

    #[test]
    fn a_multiplier_is_applied_from_its_time_on() {
        let mut state = vec![0; 32];
        state.extend_from_slice(&2_f64.to_le_bytes());
        state.extend_from_slice(&100_i64.to_le_bytes());
        state.extend_from_slice(&3_f64.to_le_bytes());
        let at = |now| token_amount(100, &Scale::new(2).with_multiplier(&state, now));
        assert_eq!(at(99)["uiAmountString"], "2");
        assert_eq!(at(100)["uiAmountString"], "3");
    }

    #[test]
    fn interest_is_continuous() {
        let mut state = vec![0; 32];
        state.extend_from_slice(&0_i64.to_le_bytes());
        state.extend_from_slice(&500_i16.to_le_bytes());
        state.extend_from_slice(&0_i64.to_le_bytes());
        state.extend_from_slice(&500_i16.to_le_bytes());
        let year = 31_556_736;
        let shown = token_amount(1_000_000_000, &Scale::new(9).with_interest(&state, year));
        assert_eq!(shown["uiAmountString"], "1.051271096");
    }
}
