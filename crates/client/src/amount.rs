//! Parses and formats amounts of SOL and tokens.

use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};

/// The number of decimals of SOL.
pub const SOL_DECIMALS: u8 = 9;

/// Parses an amount such as `1.5` exactly, and returns it in the smallest unit.
pub fn parse(text: &str, decimals: u8) -> Result<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_number(whole) || !is_number(fraction) {
        return Err(Failure::new(format!("`{text}` is not an amount")))
            .advise("amounts look like 2 or 1.5");
    }
    let fraction = fraction.trim_end_matches('0');
    let missing = usize::from(decimals)
        .checked_sub(fraction.len())
        .ok_or_else(|| Failure::new(format!("`{text}` has more than {decimals} decimals")))?;
    let digits = format!("{whole}{fraction}{}", "0".repeat(missing));
    digits.trim_start_matches('0').parse().or_else(|error: std::num::ParseIntError| {
        if digits.bytes().all(|byte| byte == b'0') {
            return Ok(0);
        }
        Err(error).with_context(|| format!("`{text}` is more than 64 bits can hold"))
    })
}

/// Parses an amount of SOL or lamports (`1.5`, `1.5sol`, `5000lamports`), and returns lamports.
pub fn parse_sol(text: &str) -> Result<u64> {
    let lower = text.to_lowercase();
    if let Some(lamports) = lower.strip_suffix("lamports").or(lower.strip_suffix("lamport")) {
        return parse(lamports.trim_end(), 0);
    }
    let sol = lower.strip_suffix("sol").unwrap_or(&lower).trim_end();
    parse(sol, SOL_DECIMALS).advise("amounts are in SOL: 2, 1.5, or 5000lamports")
}

/// Formats an amount of the smallest unit as [`parse`] reads it: `1.5`.
pub fn show(amount: u64, decimals: u8) -> String {
    let width = usize::from(decimals) + 1;
    let digits = format!("{amount:0width$}");
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(decimals));
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

/// Formats lamports as SOL.
pub fn sol(lamports: u64) -> String {
    format!("{} SOL", show(lamports, SOL_DECIMALS))
}

/// Parses the decimals of a mint.
pub fn parse_decimals(text: &str) -> Result<u8> {
    match text.parse() {
        Ok(decimals) if decimals <= 19 => Ok(decimals),
        _ => Err(Failure::new(
            "a mint has 0 to 19 decimals: more than 19 leave no whole token in 64 bits",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_exactly_or_rejected() {
        for (text, decimals, amount) in [
            ("0", 9, 0),
            ("1.5", 9, 1_500_000_000),
            (".5", 1, 5),
            ("2.", 0, 2),
            ("007", 0, 7),
            ("0.000000001", 9, 1),
            ("1.500", 1, 15),
            ("18446744073709551615", 0, u64::MAX),
            ("0.0000000000000000001", 19, 1),
        ] {
            assert_eq!(parse(text, decimals).expect("it is an amount"), amount, "{text}");
        }
        for text in ["", ".", "-1", "1e3", "1.23", "18446744073709551616", "1.8446744073709551616"]
        {
            assert!(parse(text, 1).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_in_sol_unless_they_end_in_lamports() {
        assert_eq!(parse_sol("1.5").expect("it is an amount"), 1_500_000_000);
        assert_eq!(parse_sol("2 SOL").expect("it is an amount"), 2_000_000_000);
        assert_eq!(parse_sol("5000lamports").expect("it is an amount"), 5000);
        assert!(parse_sol("1.5lamports").is_err() && parse_sol("sol").is_err());
    }

    #[test]
    fn amounts_are_shown_without_trailing_zeros() {
        for (amount, decimals, text) in [
            (0, 9, "0"),
            (1_500_000_000, 9, "1.5"),
            (5, 1, "0.5"),
            (7, 0, "7"),
            (1, 9, "0.000000001"),
        ] {
            assert_eq!(show(amount, decimals), text);
        }
    }
}
