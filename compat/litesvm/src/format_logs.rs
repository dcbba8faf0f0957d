//! Logs in colour.

/// Escape sequences that begin a colour.
const FAILURE: &str = "\u{1b}[1;38;5;9m";
const PROGRAM_LOG: &str = "\u{1b}[32m";
const WARNING: &str = "\u{1b}[1;38;5;243m";
const RUNTIME: &str = "\u{1b}[38;5;239m";
const END: &str = "\u{1b}[0m";

/// Words that mark a failure, if a colon or a space follows.
const FAILURE_WORDS: [&str; 5] = ["error", "err", "failure", "failed", "fail"];

/// Returns the lines with a colour each: failures in red, what programs log in green, the runtime's
/// lines in grey. The prefix of program logs is left out.
pub(crate) fn format_logs(logs: &[String]) -> String {
    logs.iter().filter(|line| !line.is_empty()).map(|line| format_line(line)).collect()
}

fn format_line(line: &str) -> String {
    let program_log = line.strip_prefix("Program log:").map(str::trim_start);
    let text = program_log.unwrap_or(line);
    let colour = if is_failure(text) {
        FAILURE
    } else if text.to_lowercase().contains("signer privilege escalated") {
        WARNING
    } else if program_log.is_some() {
        PROGRAM_LOG
    } else {
        RUNTIME
    };
    format!("{colour}{text}{END}\n")
}

fn is_failure(text: &str) -> bool {
    let text = text.to_lowercase();
    let follows = |rest: &str| rest.starts_with(": ") || rest.starts_with(' ');
    FAILURE_WORDS.iter().any(|word| {
        text.match_indices(word).any(|(at, _)| text.get(at + word.len()..).is_some_and(follows))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_tell_failures_from_logs() {
        let logs = ["Program log: Error: no", "Program log: yes", "", "Program X success"];
        let lines = "\u{1b}[1;38;5;9mError: no\u{1b}[0m\n\
                     \u{1b}[32myes\u{1b}[0m\n\
                     \u{1b}[38;5;239mProgram X success\u{1b}[0m\n";
        assert_eq!(format_logs(&logs.map(str::to_owned)), lines);
    }
}
