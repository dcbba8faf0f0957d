//! Flame graphs as SVG: a row for each depth, outermost at the top, as wide as its compute units.
//! Works without scripts; titles show the numbers.

use core::fmt::Write as _;

use super::{FrameKind, Profile};
use crate::text::{escaped, percent, thousands};

const WIDTH: u64 = 1200;
const ROW_HEIGHT: u64 = 18;
const HEADER_HEIGHT: u64 = 34;
/// Narrower frames are left out, since they cannot be seen.
const WIDTH_MIN_TENTHS: u64 = 2;
/// The width of a character, in tenths of a pixel.
const CHARACTER_TENTHS: u64 = 66;

/// The styles of frames: by colour, and by pattern, for those who do not see colours.
const STYLE: &str = "\
text{font:11px ui-monospace,monospace;fill:#1b1b1b}\
.program{fill:#8ecae6}.function{fill:#ffd166}.inlined{fill:#ffe8ae}\
.syscall{fill:url(#hatch)}.runtime{fill:#cfcfcf}rect{stroke:#fff;stroke-width:.5}\
@media(prefers-color-scheme:dark){.background{fill:#1b1b1b}.heading{fill:#eee}}";

/// Renders a flame graph.
pub(super) fn svg(profile: &Profile) -> String {
    let totals = profile.total_units();
    let places = places(profile, &totals);
    let depth = places.iter().map(|place| place.depth + 1).max().unwrap_or(1);
    let height = HEADER_HEIGHT + depth * ROW_HEIGHT + 10;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"Flame graph of compute units\">\n<style>{STYLE}</style>\n<defs><pattern \
         id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect width=\"6\" \
         height=\"6\" fill=\"#b7e4c7\"/><path d=\"M0 6L6 0\" stroke=\"#74a98a\"/></pattern></defs>\n\
         <rect class=\"background\" width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    let (units, count) = (thousands(profile.units), thousands(profile.transactions));
    let noun = if profile.transactions == 1 { "transaction" } else { "transactions" };
    let _ = writeln!(
        svg,
        "<text class=\"heading\" x=\"6\" y=\"20\">{units} compute units, {count} {noun}</text>"
    );
    for place in &places {
        draw(&mut svg, profile, place);
    }
    svg += "</svg>\n";
    svg
}

/// Where a frame is drawn, in tenths of a pixel and rows.
struct Place {
    node: usize,
    start: u64,
    width: u64,
    depth: u64,
    units: u64,
}

/// Places each frame below its caller, after its siblings.
fn places(profile: &Profile, totals: &[u64]) -> Vec<Place> {
    let mut offsets: Vec<u64> = vec![0; totals.len()];
    let mut depths: Vec<u64> = vec![0; totals.len()];
    // The compute units that the callees of each frame, and the outermost ones, have taken so far.
    let mut taken: Vec<u64> = vec![0; totals.len()];
    let mut taken_outermost = 0;
    let mut places = Vec::new();
    let whole = u128::from(profile.units.max(1));
    let scaled = |units: u64| {
        u64::try_from(u128::from(units) * u128::from(WIDTH * 10) / whole).unwrap_or(WIDTH * 10)
    };
    for (node, it) in profile.nodes().iter().enumerate() {
        let before = match it.parent {
            Some(parent) => {
                depths[node] = depths[parent] + 1;
                let before = offsets[parent] + taken[parent];
                taken[parent] += totals[node];
                before
            }
            None => {
                taken_outermost += totals[node];
                taken_outermost - totals[node]
            }
        };
        offsets[node] = before;
        let (start, end) = (scaled(before), scaled(before + totals[node]));
        let (width, depth, units) = (end - start, depths[node], totals[node]);
        places.push(Place { node, start, width, depth, units });
    }
    places.retain(|place| place.width >= WIDTH_MIN_TENTHS);
    places
}

fn draw(svg: &mut String, profile: &Profile, place: &Place) {
    let frame = &profile.nodes()[place.node].frame;
    let tenths = |value: u64| format!("{}.{}", value / 10, value % 10);
    let y = HEADER_HEIGHT + place.depth * ROW_HEIGHT;
    let (name, kind) = (escaped(&frame.name), frame.kind.name());
    let (x, width) = (tenths(place.start), tenths(place.width));
    let share = percent(place.units, profile.units);
    let own = thousands(profile.nodes()[place.node].units);
    let _ = write!(
        svg,
        "<g><title>{name}\n{kind}, {} compute units ({share}), {own} of its own</title><rect \
         class=\"{kind}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{ROW_HEIGHT}\"/>",
        thousands(place.units)
    );
    let room = usize::try_from(place.width.saturating_sub(60) / CHARACTER_TENTHS).unwrap_or(0);
    if room >= 3 {
        let shown: String = frame.name.chars().take(room).collect();
        let shown = match shown.len() < frame.name.len() {
            true => format!("{}…", shown.chars().take(room - 1).collect::<String>()),
            false => shown,
        };
        let (x, y) = (tenths(place.start + 30), y + 13);
        let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\">{}</text>", escaped(&shown));
    }
    let _ = writeln!(svg, "</g>");
    debug_assert!(matches!(frame.kind, FrameKind::Program) || place.depth > 0, "programs call");
}
