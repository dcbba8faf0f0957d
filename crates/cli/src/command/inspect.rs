//! `selkie inspect`: questions about a transaction as JSON, and a page that shows it.

use std::io::{self, BufRead as _, Read as _, Write as _};

use anyhow::{Result, anyhow};
use selkie_replay::{Timeline, query};
use selkie_report::{
    Profile,
    profile::table::{Libraries, Tables},
};
use serde_json::json;

use super::trace;
use crate::{
    args::replay::InspectArgs,
    files, recording, replays,
    ui::{STRONG, Status, Ui},
};

/// The longest request.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

/// The page, in which this text stands for the data.
const PAGE: &str = include_str!("inspect.html");
const DATA: &str = "\"SELKIE_DATA\"";

pub(crate) fn run(ui: &mut Ui, args: &InspectArgs) -> Result<Status> {
    if args.methods {
        return show_methods(ui);
    }
    let (path, url) = (args.path.as_deref(), args.node.url.as_deref());
    let opened = recording::open_or_newest(ui, path, args.test.as_deref(), url, &args.call)?;
    let Ok(mut recordings) = opened else { return Ok(Status::Failure) };
    let chosen = recordings.choose(args.transaction, args.test.as_deref())?;
    let timeline = recordings.timeline(chosen)?;
    match &args.output {
        Some(output) => {
            files::write(output, page(ui, &timeline, args)?)?;
            Ok(Status::Success)
        }
        None => answer(ui, &timeline),
    }
}

fn show_methods(ui: &mut Ui) -> Result<Status> {
    if ui.json {
        let method = |it: &query::Method| json!({ "name": it.name, "about": it.about });
        ui.object(&json!({ "methods": query::METHODS.iter().map(method).collect::<Vec<_>>() }))?;
        return Ok(Status::Success);
    }
    for method in query::METHODS {
        writeln!(ui.out, "{STRONG}{}{STRONG:#} {}", method.name, method.about)?;
    }
    Ok(Status::Success)
}

/// Answers the requests of the standard input, one for each line.
fn answer(ui: &mut Ui, timeline: &Timeline) -> Result<Status> {
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(REQUEST_BYTES_MAX).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(Status::Success);
        }
        if line.len() as u64 == REQUEST_BYTES_MAX {
            return Err(anyhow!("a request has more than {REQUEST_BYTES_MAX} bytes"));
        }
        let line = String::from_utf8_lossy(&line);
        if !line.trim().is_empty() {
            writeln!(ui.out, "{}", query::answer(timeline, &line))?;
            ui.out.flush()?;
        }
    }
}

/// Returns the page with the data of a transaction.
fn page(ui: &mut Ui, timeline: &Timeline, args: &InspectArgs) -> Result<String> {
    let mut programs = replays::programs(&args.symbols)?;
    programs.add(timeline);
    let mut profile = Profile::default();
    profile.add(timeline, &mut programs);
    replays::warn(ui, &programs)?;
    replays::warn_without_lines(ui, &programs)?;
    let mut data = trace::as_json(timeline, &programs);
    data["profile"] = Tables::of(&profile, Libraries::RolledUp).to_json();
    // Text of the transaction must not end the script that holds it.
    let data = data.to_string().replace('<', "\\u003c");
    let (before, after) = PAGE.split_once(DATA).expect("the page has a place for the data");
    Ok([before, &data, after].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_one_place_for_the_data() {
        assert_eq!(PAGE.matches(DATA).count(), 1);
    }
}
