//! Coverage as one page of HTML without scripts. What was not executed is marked by a sign in the
//! margin, besides its colour.

use core::fmt::Write as _;

use super::{Files, ReadSource, Share, SourceFile, shares};
use crate::text::{escaped, percent, thousands};

/// As many files are shown with their lines at first.
const OPEN_MAX: usize = 8;

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px system-ui,sans-serif;margin:2rem auto;max-width:72rem;\
padding:0 1rem}table{border-collapse:collapse}th,td{padding:.2rem .8rem;text-align:right}\
th:first-child,td:first-child{text-align:left}pre{font:13px ui-monospace,monospace;overflow-x:auto;\
line-height:1.45}.count{display:inline-block;width:9ch;text-align:right;opacity:.7}\
.miss{background:#ff4d4d33}.part{background:#ffb70333}summary{cursor:pointer;font-weight:600;\
padding:.4rem 0}";

/// Renders the page. Sources that cannot be read have only their numbers.
pub(super) fn html(files: &Files, source: ReadSource<'_>) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\"><title>Coverage</title>\
         <style>{STYLE}</style></head><body>\n<h1>Coverage</h1>\n<table><thead><tr><th \
         scope=\"col\">File</th><th scope=\"col\">Lines</th><th scope=\"col\">Functions</th><th \
         scope=\"col\">Branches</th></tr></thead>\n<tbody>\n"
    );
    let row = |page: &mut String, name: &str, shares: [Share; 3]| {
        let cells = shares
            .map(|it| format!("<td>{} ({}/{})</td>", percent(it.hit, it.found), it.hit, it.found));
        let _ = writeln!(page, "<tr><td>{name}</td>{}</tr>", cells.concat());
    };
    for (index, (path, file)) in files.iter().enumerate() {
        let name = format!("<a href=\"#file-{index}\">{}</a>", escaped(path));
        let shares = [file.line_share(), file.function_share(), file.branch_share()];
        row(&mut page, &name, shares);
    }
    row(&mut page, "All", shares(files));
    page += "</tbody></table>\n";
    // A few sources are read at once, of many the one that is chosen.
    let open = if files.len() <= OPEN_MAX { " open" } else { "" };
    for (index, (path, file)) in files.iter().enumerate() {
        let _ = writeln!(
            page,
            "<details id=\"file-{index}\"{open}><summary>{}</summary>\n<pre>{}</pre></details>",
            escaped(path),
            lines(file, source(path).as_deref())
        );
    }
    page += "</body></html>\n";
    page
}

fn lines(file: &SourceFile, source: Option<&str>) -> String {
    let last = file.lines.keys().last().copied().unwrap_or_default();
    let texts: Vec<&str> = match source {
        Some(source) => source.lines().collect(),
        None => vec![""; usize::try_from(last).unwrap_or_default().min(100_000)],
    };
    let mut html = String::new();
    for (number, text) in (1_u32..).zip(texts) {
        let count = file.lines.get(&number);
        if source.is_none() && count.is_none() {
            continue;
        }
        let branches = file.branches.get(&number).map(Vec::as_slice).unwrap_or_default();
        let is_partial = branches.iter().any(|it| (it.taken == 0) != (it.not_taken == 0));
        let (class, sign) = match count {
            Some(0) => ("miss", "✗"),
            Some(_) if is_partial => ("part", "◐"),
            _ => ("", " "),
        };
        let count = count.map_or_else(String::new, |count| thousands(*count));
        let _ = writeln!(
            html,
            "<span class=\"{class}\"><span class=\"count\">{count}</span> {sign} {number:5}  {}\
             </span>",
            escaped(text)
        );
    }
    html
}
