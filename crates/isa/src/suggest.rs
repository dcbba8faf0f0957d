//! Suggestions for misspelt names.

/// Limit for the pairs of characters that one search compares, which take a few milliseconds:
/// enough to compare a usual name with ten thousand others.
const WORK_MAX: usize = 1 << 22;

/// Returns the candidate most similar to `name`, if one is similar enough to be a misspelling of
/// it: at most one letter in five may differ, since in short words a few letters make another word.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = match name.len() {
        0..=5 => 1,
        6..=9 => 2,
        _ => 3,
    };
    let mut work = 0;
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= allowed && *candidate != name)
        .take_while(|candidate| {
            work += candidate.len() * name.len();
            work <= WORK_MAX
        })
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the edit distance of `a` and `b`, with transpositions and without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substituted.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_recognized() {
        let known =
            ["sol_log_", "sol_log_64_", "sol_set_return_data", "mov64", "vote", "vault", "ata"];
        let check = |typo, meant| assert_eq!(nearest(typo, known), meant, "{typo}");
        check("sol_lgo_", Some("sol_log_"));
        check("sol_log", Some("sol_log_"));
        check("SOL_LOG_", Some("sol_log_"));
        check("sol_set_retrun_data", Some("sol_set_return_data"));
        check("mvo64", Some("mov64"));
        check("vaul", Some("vault"));
        check("vuat", None);
        check("tva", None);
        check("print", None);
    }

    #[test]
    fn other_words_of_the_same_length_are_not_meant() {
        for (word, known) in
            [("nope", "vote"), ("abc", "ata"), ("token", "stake"), ("main", "mint")]
        {
            assert_eq!(nearest(word, [known]), None, "{word}");
        }
    }

    #[test]
    fn the_most_similar_name_is_meant() {
        assert_eq!(nearest("counte", ["count", "counter"]), Some("count"));
        assert_eq!(nearest("coutner", ["count", "counter"]), Some("counter"));
    }
}
