//! Links of documents: each leads to a file, a folder or a heading of the repository, and each page of
//! the book is in its table of contents.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::files::Files;

/// The folder of the book's pages.
pub(crate) const BOOK: &str = "docs/";
/// The book's table of contents.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// Sources and transcripts that tests read; they are no documents.
const TESTDATA: &str = "testdata/";

/// A link `[label](target)`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link<'a> {
    pub(crate) target: &'a str,
    pub(crate) label: Range<usize>,
    /// From the bracket before the label to the parenthesis behind the target.
    pub(crate) whole: Range<usize>,
}

/// Returns the links of a document, without those in code.
pub(crate) fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    for prose in prose(text) {
        // Where the brackets that are still open begin.
        let mut open = Vec::new();
        let mut at = prose.start;
        while let Some(found) = text[at..prose.end].find(['`', '[', ']']) {
            let here = at + found;
            at = here + 1;
            match text.as_bytes()[here] {
                b'`' => at = code_end(&text[..prose.end], here),
                b'[' => open.push(here),
                _ => {
                    let Some(start) = open.pop() else { continue };
                    let rest = &text[at..prose.end];
                    let target = rest.strip_prefix('(').and_then(|it| it.split_once(')'));
                    let Some((target, _)) = target else { continue };
                    let end = at + target.len() + 2;
                    links.push(Link { target, label: start + 1..here, whole: start..end });
                    at = end;
                }
            }
        }
    }
    links
}

/// Returns the end of the code that begins with backticks at `start`, or that of these backticks if
/// there is none.
fn code_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let paragraph = rest.find("\n\n").map_or(text.len(), |it| start + it);
    let mut at = start + ticks;
    while let Some(found) = text[at.min(paragraph)..paragraph].find('`') {
        let here = at + found;
        let run = text[here..paragraph].len() - text[here..paragraph].trim_start_matches('`').len();
        at = here + run;
        if run == ticks {
            return at;
        }
    }
    start + ticks
}

/// The parts of a document that are not in fences of code.
fn prose(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut at, mut start, mut fence) = (0, 0, None);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
        match fence {
            None if ticks >= 3 => {
                parts.push(start..at);
                fence = Some(ticks);
            }
            Some(opened) if ticks >= opened && trimmed.trim_matches('`').trim().is_empty() => {
                fence = None;
                start = at + line.len();
            }
            _ => {}
        }
        at += line.len();
    }
    if fence.is_none() {
        parts.push(start..at);
    }
    parts
}

/// Returns the anchors of a document's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let lines = prose(text).into_iter().flat_map(|it| text[it].lines());
    let headings = lines.filter_map(|line| {
        let heading = line.trim_start_matches('#');
        (1..=6).contains(&(line.len() - heading.len())).then(|| heading.strip_prefix(' '))?
    });
    let anchor = |heading: &str| {
        let base = anchor(heading);
        let count = counts.entry(base.clone()).or_default();
        *count += 1;
        if *count == 1 { base } else { format!("{base}-{}", *count - 1) }
    };
    headings.map(anchor).collect()
}

/// Returns the anchor of a heading: its letters and digits in lower case, with `-` for spaces.
fn anchor(heading: &str) -> String {
    let mut plain = heading.trim().to_owned();
    for link in links(heading.trim()).into_iter().rev() {
        let label = plain[link.label].to_owned();
        plain.replace_range(link.whole, &label);
    }
    let kept = |it: char| match it {
        ' ' => Some('-'),
        '-' | '_' => Some(it),
        _ => it.is_alphanumeric().then_some(it),
    };
    plain.to_lowercase().chars().filter_map(kept).collect()
}

/// Returns the path in the repository that a link of a document leads to, if it leads there.
pub(crate) fn resolve<'a>(document: &str, target: &'a str) -> Option<(String, Option<&'a str>)> {
    if target.contains(':') {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(a, b)| (a, Some(b)));
    if path.is_empty() {
        return Some((document.to_owned(), anchor));
    }
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some((parts.join("/"), anchor))
}

/// Returns what is wrong with the links of the documents.
pub(crate) fn broken(files: &Files) -> Vec<String> {
    let is_document = |path: &str| path.ends_with(".md") && !path.starts_with(TESTDATA);
    let documents = files.iter().filter(|(path, _)| is_document(path));
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut findings = Vec::new();
    for (document, text) in documents {
        for link in links(text) {
            let target = link.target;
            let leads = match resolve(document, target) {
                None if target.contains(':') => true,
                None => false,
                Some((path, None)) => files.contains(&path) || files.is_folder(&path),
                Some((path, Some(_))) if !path.ends_with(".md") => files.contains(&path),
                Some((path, Some(anchor))) => files.get(&path).is_some_and(|text| {
                    known.entry(path).or_insert_with(|| anchors(text)).contains(anchor)
                }),
            };
            if !leads {
                let line = text[..link.whole.start].matches('\n').count() + 1;
                findings.push(format!("{document}:{line}: the link leads nowhere: {target}"));
            }
        }
    }
    findings
}

/// Returns the pages that the book's table of contents lacks, and what is no page.
pub(crate) fn missing_pages(files: &Files) -> Vec<String> {
    let Some(summary) = files.get(SUMMARY) else { return Vec::new() };
    let listed = links(summary).into_iter().filter_map(|it| Some(resolve(SUMMARY, it.target)?.0));
    let listed: BTreeSet<String> = listed.collect();
    let is_page = |path: &str| path.starts_with(BOOK) && path.ends_with(".md") && path != SUMMARY;
    let pages: BTreeSet<&str> =
        files.iter().map(|(path, _)| path).filter(|it| is_page(it)).collect();
    let missing = pages.iter().filter(|it| !listed.contains(**it));
    let missing = missing.map(|it| format!("{SUMMARY}: does not list {it}"));
    let others = listed.iter().filter(|it| !pages.contains(it.as_str()));
    missing.chain(others.map(|it| format!("{SUMMARY}: {it} is no page of {BOOK}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<&str> {
        links(text).into_iter().map(|it| it.target).collect()
    }

    #[test]
    fn links_in_code_are_none() {
        let text = "[a](b) and [`c`](d.md#e), `[no](no)` [two\nlines](f)\n```sh\n[no](no)\n```\n\
                    ````md\n```\n[no](no)\n```\n````\n`open\n\n[g](h) list[2] [i] (j) [`k[0]`](l)";
        assert_eq!(targets(text), ["b", "d.md#e", "f", "h", "l"]);
    }

    #[test]
    fn anchors_are_those_of_github() {
        let text = "# A `b_c`, d's E!\n```\n# no\n```\n## A `b_c`, d's E!\n### [See](x) – 2.0\n#no";
        let expected = ["a-b_c-ds-e", "a-b_c-ds-e-1", "see--20"];
        assert_eq!(anchors(text), expected.map(str::to_owned).into());
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let text = "[1](b.md#one) [2](../src/x.rs) [3](../src) [4](https://x/y) [5](#top)\n\
                    [6](b.md#two) [7](c.md)\n[8](../../x) [9](#one)";
        let files =
            [("docs/a.md", &*format!("# Top\n{text}")), ("docs/b.md", "## One"), ("src/x.rs", "")];
        let found = ["3: the link leads nowhere: b.md#two", "3: the link leads nowhere: c.md"]
            .into_iter()
            .chain(["4: the link leads nowhere: ../../x", "4: the link leads nowhere: #one"]);
        let found: Vec<String> = found.map(|it| format!("docs/a.md:{it}")).collect();
        assert_eq!(broken(&Files::from(files)), found);
    }

    #[test]
    fn pages_that_the_summary_lacks_are_found() {
        let files = [
            ("docs/SUMMARY.md", "- [A](a.md)\n- [X](../x.md)"),
            ("docs/a.md", ""),
            ("docs/b.md", ""),
        ];
        assert_eq!(
            missing_pages(&Files::from(files)),
            [
                "docs/SUMMARY.md: does not list docs/b.md",
                "docs/SUMMARY.md: x.md is no page of docs/"
            ]
        );
    }
}
