//! The transactions of all vectors: their replays have the recorded results, and the sum of a profile
//! is the compute units of the transaction.

use std::{fs, io::Read as _, path::Path, sync::Arc};

use ruzstd::decoding::StreamingDecoder;
use selkie_conform::{Context, context::Elfs};
use selkie_replay::{ReplayFile, Timeline};
use selkie_report::{Profile, Programs, profile::FrameKind, trace};

fn check(timeline: &Timeline, programs: &mut Programs) {
    let id = timeline.id();
    let units = timeline.receipt().compute_units;
    let mut profile = Profile::default();
    profile.add(timeline, programs);
    let sum: u64 = profile.nodes().iter().map(|node| node.units).sum();
    assert_eq!((profile.units, sum), (units, units), "{id}");
    let calls = trace::calls(timeline);
    assert_eq!(calls.iter().map(|call| call.own_units).sum::<u64>(), units, "{id}");
    let roots = profile.nodes().iter().zip(profile.total_units());
    let roots = roots.filter(|(node, _)| node.parent.is_none());
    assert_eq!(roots.map(|(_, total)| total).sum::<u64>(), units, "{id}");
    let programs = profile.nodes().iter().filter(|node| node.frame.kind == FrameKind::Program);
    let invocations = timeline.invocations().len() as u64;
    assert_eq!(programs.map(|node| node.calls).sum::<u64>(), invocations, "{id}");
}

#[test]
fn the_profiles_of_all_vectors_add_up() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors/mainnet");
    let path = vectors.join("svm.jsonl.zst");
    let elfs = selkie_testdata::elfs();
    let folder = elfs.first().and_then(|path| path.parent()).map(Path::to_owned);
    let context = Context::new(&path, Arc::new(Elfs::new(folder))).unwrap();
    let packed = fs::read(&path).unwrap();
    let mut text = String::new();
    StreamingDecoder::new(packed.as_slice()).unwrap().read_to_string(&mut text).unwrap();
    let mut programs = Programs::default();
    let (mut count, mut units) = (0, 0);
    for line in text.lines() {
        let file = ReplayFile::parse(line).unwrap();
        let replay = &file.replays()[0];
        let blob = |name: &str| context.blob(name).ok().map(|bytes| bytes.to_vec());
        let timeline = Timeline::new(replay, &blob).unwrap();
        assert_eq!(timeline.differences(), [""; 0], "{}", timeline.id());
        check(&timeline, &mut programs);
        count += 1;
        units += timeline.receipt().compute_units;
    }
    assert_eq!(count, 714);
    assert!(units > 10_000_000, "{units}");
}
