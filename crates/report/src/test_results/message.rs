//! What a test has printed that failed: where it panicked, and its message.

/// Returns where a test panicked, and its message without the receipt, which is shown by itself.
#[must_use]
pub fn message(output: &[String]) -> (Option<String>, Vec<String>) {
    let panicked = output.iter().enumerate().find_map(|(index, line)| {
        let (_, at) = line.strip_prefix("thread '")?.split_once(" panicked at ")?;
        Some((index, at.trim_end_matches(':').to_owned()))
    });
    let (start, at) = panicked.map_or((0, None), |(index, at)| (index.saturating_add(1), Some(at)));
    let mut lines = Vec::new();
    for line in output.iter().skip(start) {
        let is_end = line.starts_with("stack backtrace:")
            || line.starts_with("note: run with `RUST_BACKTRACE");
        if is_end {
            break;
        }
        let is_receipt = line.contains("transaction ") && is_result(line);
        if is_receipt && line.starts_with("transaction ") {
            break;
        }
        lines.push(line.clone());
        if is_receipt {
            break;
        }
    }
    while lines.last().is_some_and(|it| it.trim().is_empty()) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|it| it.trim().is_empty()).count();
    (at, lines.split_off(blank))
}

/// Whether a line has the words by which receipts begin.
fn is_result(line: &str) -> bool {
    [" failed: ", " was dropped: ", " paid its fee ", " succeeded"]
        .iter()
        .any(|it| line.contains(it))
}

#[cfg(test)]
mod tests {
    use super::message;

    fn split(text: &str) -> (Option<String>, Vec<String>) {
        message(&text.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn messages_end_before_the_receipt() {
        let text = "\n\
            thread 'it' (7) panicked at tests/vault.rs:32:66:\n\
            called `Result::unwrap()` on an `Err` value: transaction 5g failed: Error\n  \
            instruction #0\n  log:\n    Program\n\
            note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let (at, lines) = split(text);
        assert_eq!(at.as_deref(), Some("tests/vault.rs:32:66"));
        assert_eq!(
            lines,
            ["called `Result::unwrap()` on an `Err` value: transaction 5g failed: Error"]
        );
        let text = "thread 'it' (7) panicked at tests/vault.rs:9:1:\n\
            1 expectation does not hold\n  lamports: expected 1, found 2\ntransaction 5g succeeded\n  used 1";
        assert_eq!(
            split(text).1,
            ["1 expectation does not hold", "  lamports: expected 1, found 2"]
        );
        let text = "printed\nError: nothing works\n";
        assert_eq!(
            split(text),
            (None, vec!["printed".to_owned(), "Error: nothing works".to_owned()])
        );
    }
}
