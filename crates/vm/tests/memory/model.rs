//! Random accesses of many regions, compared with a model that searches all regions for each
//! access.

use proptest::prelude::*;
use selkie_isa::{
    Version,
    layout::{HEAP_START, INPUT_START, STACK_START},
};
use selkie_vm::{Access, MemoryMap, NoHost, Trap};

use crate::guest::{Spec, access, buffers, by_each_engine, config, ro, rw};

/// Returns where an access is by the rules: the last region that starts at or before it decides.
fn model(specs: &[Spec], access: Access, vaddr: u64, len: u64) -> Option<(usize, usize)> {
    let index = specs.iter().rposition(|spec| spec.vaddr <= vaddr)?;
    let spec = &specs[index];
    let mut offset = vaddr - spec.vaddr;
    if let Some(frame_bytes) = spec.gap {
        let slot = offset / frame_bytes;
        if slot % 2 == 1 {
            return None;
        }
        offset = slot / 2 * frame_bytes + offset % frame_bytes;
    }
    let fits = offset.checked_add(len).is_some_and(|end| end <= spec.len as u64);
    let allowed = spec.writable || access == Access::Load;
    (fits && allowed).then(|| (index, usize::try_from(offset).expect("regions are small")))
}

/// Returns the name of the region in the error for an address.
fn name(specs: &[Spec], vaddr: u64) -> &'static str {
    let spec = specs.iter().rfind(|spec| spec.vaddr <= vaddr);
    let within = spec.is_some_and(|spec| {
        let span = spec.len as u64 * if spec.gap.is_some() { 2 } else { 1 };
        vaddr - spec.vaddr < span
    });
    match vaddr >> 32 {
        _ if !within => "unallocated",
        1 => "program",
        3 => "heap",
        4 => "input",
        _ => "allocated",
    }
}

/// A load or store near the start of a region.
#[derive(Clone, Debug)]
struct Probe {
    region: prop::sample::Index,
    from_start: i64,
    size: u64,
    store: bool,
}

fn probes(count: usize) -> impl Strategy<Value = Vec<Probe>> {
    let probe = (any::<prop::sample::Index>(), -12_i64..28, 0_u32..4, any::<bool>()).prop_map(
        |(region, from_start, size, store)| Probe { region, from_start, size: 1 << size, store },
    );
    prop::collection::vec(probe, count)
}

/// Returns the regions of a program, then `count` regions of the input, close to each other.
fn regions(count: usize) -> impl Strategy<Value = Vec<Spec>> {
    let input = prop::collection::vec((0_usize..24, 0_u64..6, any::<bool>()), count);
    input.prop_map(|input| {
        let mut specs = vec![ro(1 << 32, 40), rw(STACK_START, 64).gapped(16), rw(HEAP_START, 32)];
        let mut vaddr = INPUT_START;
        for (len, hole, writable) in input {
            // Most regions are adjacent.
            vaddr += hole.saturating_sub(4);
            specs.push(if writable { rw(vaddr, len) } else { ro(vaddr, len) });
            vaddr += len as u64;
        }
        specs
    })
}

/// Makes every access by an instruction and by a slice, as syscalls do, and compares all bytes
/// written.
fn check(specs: &[Spec], probes: &[Probe]) {
    by_each_engine(|| check_once(specs, probes));
}

fn check_once(specs: &[Spec], probes: &[Probe]) {
    let mut expected = buffers(specs);
    let mut actual = buffers(specs);
    let mapped = specs.iter().zip(&mut actual).map(|(spec, buffer)| spec.region(buffer)).collect();
    let mut map = MemoryMap::new(mapped, &config(false), Version::V0).unwrap();
    for (number, probe) in (1_u64..).zip(probes) {
        let value = number.wrapping_mul(0x0123_4567_89ab_cdef);
        let Probe { size, from_start, .. } = *probe;
        let len = usize::try_from(size).expect("accesses are small");
        let vaddr = specs[probe.region.index(specs.len())].vaddr.wrapping_add_signed(from_start);
        let kind = if probe.store { Access::Store } else { Access::Load };
        let place = model(specs, kind, vaddr, size);
        let bytes = place.map(|(index, offset)| (index, offset..offset + len));
        if let (true, Some((index, range))) = (probe.store, bytes.clone()) {
            expected[index][range].copy_from_slice(&u64::to_le_bytes(value)[..len]);
        }
        assert_eq!(map.locate(kind, vaddr, size).ok(), place.map(|(at, it)| (at, it as u64)));
        match (access(&mut map, kind, size, vaddr, value, &mut NoHost), bytes) {
            (Ok(loaded), Some((index, range))) => {
                let slice = map.slice(vaddr, size).unwrap();
                assert_eq!(slice, &expected[index][range]);
                let wide = slice.iter().rev().fold(0, |wide, byte| wide << 8 | u64::from(*byte));
                assert_eq!(loaded, if probe.store { 0 } else { wide }, "{probe:?}");
            }
            (Err(Trap::AccessViolation { region, .. }), None) => {
                assert_eq!(region, name(specs, vaddr), "{vaddr:#x}");
            }
            (Err(Trap::StackAccessViolation { frame, .. }), None) => {
                let offset = vaddr.cast_signed() - STACK_START.cast_signed();
                assert_eq!(frame, offset / 4096, "{vaddr:#x}");
                assert!((-1..=64).contains(&frame));
            }
            (result, place) => panic!("{probe:?} at {vaddr:#x}: {result:?}, but {place:?}"),
        }
    }
    drop(map);
    assert_eq!(actual, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn map_of_three_regions_agrees_with_the_model(specs in regions(3), probes in probes(60)) {
        check(&specs, &probes);
    }

    #[test]
    fn map_of_thirty_three_regions_agrees_with_the_model(specs in regions(33), probes in probes(200)) {
        check(&specs, &probes);
    }

    #[test]
    fn map_of_three_hundred_regions_agrees_with_the_model(specs in regions(300), probes in probes(200)) {
        check(&specs, &probes);
    }
}

/// A program that accesses many regions in turn gets the bytes of each, in whatever order.
#[test]
fn accesses_that_alternate_between_regions_read_the_right_bytes() {
    by_each_engine(|| {
        let specs: Vec<Spec> = (0..300).map(|at| rw(INPUT_START + at * 8, 8)).collect();
        let mut buffers = buffers(&specs);
        let mapped =
            specs.iter().zip(&mut buffers).map(|(spec, buffer)| spec.region(buffer)).collect();
        let mut map = MemoryMap::new(mapped, &config(false), Version::V3).unwrap();
        for step in [1, 2, 7, 149, 299] {
            for turn in 0..900_u64 {
                // Sometimes the same region two or three times.
                let at = turn / (1 + turn % 3) * step % 300;
                let loaded =
                    access(&mut map, Access::Load, 1, INPUT_START + at * 8, 0, &mut NoHost);
                assert_eq!(loaded.unwrap(), at % 255 + 1);
            }
        }
    });
}
