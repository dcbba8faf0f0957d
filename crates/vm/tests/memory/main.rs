//! Guest memory, through the public interface and through loads and stores of programs.

mod guest;
mod hook;
mod model;

use selkie_isa::{
    Version,
    layout::{HEAP_START, INPUT_START, STACK_START},
};
use selkie_vm::{Access, Config, MemoryMap, NoHost, Region, Trap};

use crate::guest::{Spec, access, by_each_engine, ro, rw, with_map};

const I: u64 = INPUT_START;
const S: u64 = STACK_START;

/// Returns the number in the error of mapping these regions, if it fails.
fn refused(specs: &[Spec], aligned: bool, version: Version) -> Option<usize> {
    with_map(specs, aligned, version, |map| match map {
        Ok(_) => None,
        Err(Trap::InvalidMemoryRegion(index)) => Some(index),
        Err(trap) => panic!("{trap}"),
    })
}

#[test]
fn regions_may_touch_but_not_overlap() {
    let check = |specs: &[Spec], expected: Option<usize>| {
        assert_eq!(refused(specs, false, Version::V3), expected, "{specs:?}");
    };
    check(&[rw(I, 8), rw(I + 8, 8)], None);
    check(&[rw(I, 9), rw(I + 8, 8)], Some(1));
    // The error names the second region of the first pair, in the order of addresses.
    check(&[rw(I + 16, 8), rw(I + 12, 8), rw(I, 8)], Some(2));
    check(&[ro(0, 8), rw(I, 9), rw(I + 8, 9), rw(I + 16, 8)], Some(2));
    check(&[rw(I, 8), rw(I, 8)], Some(1));
    // Empty regions overlap nothing.
    check(&[rw(I, 0), rw(I, 0), rw(I, 8), rw(I + 8, 0)], None);
    check(&[rw(I, 8), rw(I + 4, 0)], Some(1));
    check(&[], None);
}

#[test]
fn gaps_count_as_part_of_their_region() {
    let check = |next: u64, expected: Option<usize>| {
        let specs = [rw(S, 8192).gapped(4096), rw(S + next, 8)];
        assert_eq!(refused(&specs, false, Version::V0), expected);
    };
    check(0x4000, None);
    check(0x3fff, Some(1));
    check(0x2000, Some(1));
}

#[test]
fn with_aligned_memory_a_window_holds_one_region() {
    let check = |specs: &[Spec], version, aligned, expected: Option<usize>| {
        assert_eq!(refused(specs, aligned, version), expected, "{specs:?}");
    };
    let two = [rw(I, 8), rw(I + 8, 8)];
    check(&two, Version::V3, true, Some(4));
    check(&two, Version::V3, false, None);
    // V4 always has aligned memory.
    check(&two, Version::V4, false, Some(4));
    check(&[rw(I, 0), rw(I, 8)], Version::V0, true, Some(4));
    check(&[rw(I, 8), rw(HEAP_START + 8, 8), ro(1 << 32, 8)], Version::V0, true, None);
    // The table of windows has a maximum length.
    check(&[rw(u64::MAX - 8, 8)], Version::V3, true, Some(0xffff_ffff));
    check(&[rw(u64::MAX - 8, 8)], Version::V3, false, None);
}

/// Returns where an access is, as `(region, offset)`.
fn located(map: &MemoryMap<'_>, access: Access, vaddr: u64, len: u64) -> Option<(usize, u64)> {
    map.locate(access, vaddr, len).ok()
}

#[test]
fn an_access_is_within_one_region() {
    let specs = [rw(I, 8), ro(I + 8, 8), rw(I + 20, 4)];
    with_map(&specs, false, Version::V3, |map| {
        let map = map.unwrap();
        let load = |vaddr, len| located(&map, Access::Load, vaddr, len);
        assert_eq!(load(I, 8), Some((0, 0)));
        assert_eq!(load(I + 7, 1), Some((0, 7)));
        assert_eq!(load(I + 7, 2), None);
        assert_eq!(load(I + 8, 8), Some((1, 0)));
        assert_eq!(load(I + 16, 1), None);
        assert_eq!(load(I + 20, 4), Some((2, 0)));
        assert_eq!(load(I + 20, u64::MAX), None);
        assert_eq!(load(I - 1, 1), None);
        assert_eq!(load(u64::MAX, 8), None);
        assert_eq!(located(&map, Access::Store, I, 8), Some((0, 0)));
        assert_eq!(located(&map, Access::Store, I + 8, 1), None);
        assert_eq!(located(&map, Access::Store, I + 8, 0), None);
    });
}

#[test]
fn an_empty_access_may_be_at_the_end_of_a_region() {
    with_map(&[rw(I, 8), ro(I + 10, 8)], false, Version::V3, |map| {
        let map = map.unwrap();
        let load = |vaddr| located(&map, Access::Load, vaddr, 0);
        assert_eq!(load(I + 8), Some((0, 8)));
        assert_eq!(load(I + 9), None);
        assert_eq!(load(I + 10), Some((1, 0)));
        assert_eq!(load(I - 1), None);
        assert_eq!(map.slice(I + 8, 0).unwrap(), []);
    });
}

#[test]
fn of_regions_with_the_same_start_the_later_decides() {
    with_map(&[rw(I, 0), ro(I, 8), rw(I + 8, 0)], false, Version::V3, |map| {
        let map = map.unwrap();
        assert_eq!(located(&map, Access::Load, I, 8), Some((1, 0)));
        // Behind the second region, an empty one starts, which refuses all accesses but empty ones.
        assert_eq!(located(&map, Access::Load, I + 8, 0), Some((2, 0)));
        assert_eq!(located(&map, Access::Load, I + 8, 1), None);
        assert_eq!(map.region_index(I + 8), Some(2));
        assert_eq!(map.region_index(I - 1), None);
    });
}

#[test]
fn windows_without_a_region_hold_an_empty_one() {
    with_map(&[rw(I + 4, 8), ro(1 << 32, 8)], true, Version::V3, |map| {
        let map = map.unwrap();
        let lens: Vec<u64> = map.regions().iter().map(Region::len).collect();
        assert_eq!(lens, [0, 8, 0, 0, 8]);
        assert_eq!(map.region_index(3 << 32), Some(3));
        assert_eq!(map.region_index(5 << 32), None);
        assert_eq!(located(&map, Access::Load, I + 4, 8), Some((4, 0)));
        assert_eq!(located(&map, Access::Load, I, 1), None);
        assert_eq!(located(&map, Access::Load, I + 5, 8), None);
        // With aligned memory, what precedes a region does not matter.
        assert_eq!(map.region_index(I), Some(4));
    });
}

#[test]
fn gaps_are_left_out_of_offsets() {
    with_map(&[rw(S, 0x3000).gapped(0x1000)], true, Version::V0, |map| {
        let map = map.unwrap();
        let load = |offset, len| located(&map, Access::Load, S + offset, len);
        assert_eq!(load(0xfff, 1), Some((2, 0xfff)));
        assert_eq!(load(0x1000, 1), None);
        assert_eq!(load(0x1fff, 8), None);
        assert_eq!(load(0x2000, 1), Some((2, 0x1000)));
        assert_eq!(load(0x4fff, 1), Some((2, 0x2fff)));
        // Only the first byte must be outside of gaps; the end must be within the buffer.
        assert_eq!(load(0xffc, 8), Some((2, 0xffc)));
        assert_eq!(load(0, 0x3000), Some((2, 0)));
        assert_eq!(load(0, 0x3001), None);
        assert_eq!(load(0x4ffc, 8), None);
    });
}

/// Returns the text of the error of loading one byte.
fn refusal(map: &MemoryMap<'_>, vaddr: u64) -> String {
    match map.locate(Access::Load, vaddr, 1) {
        Err(Trap::AccessViolation { region, .. }) => region.to_owned(),
        Err(Trap::StackAccessViolation { frame, .. }) => format!("frame {frame}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_name_a_frame_near_the_stack_and_a_region_elsewhere() {
    let specs = [ro(1 << 32, 8), rw(S, 64 * 4096), rw(3 << 32, 8), rw(I, 8)];
    with_map(&specs, true, Version::V3, |map| {
        let map = map.unwrap();
        let check = |vaddr, expected: &str| assert_eq!(refusal(&map, vaddr), expected);
        check(S - 8191, "frame -1");
        check(S - 4096, "frame -1");
        check(S - 4095, "frame 0");
        check(S - 8192, "unallocated");
        check(S + 64 * 4096, "frame 64");
        check(S + 65 * 4096, "unallocated");
        check(I + 8, "unallocated");
        check(0, "unallocated");
        check(u64::MAX, "unallocated");
        let long = map.locate(Access::Store, I + 1, 8).unwrap_err().to_string();
        assert_eq!(
            long,
            "Access violation writing 8 bytes at address 0x400000001 (in input region)"
        );
    });
    with_map(&specs, true, Version::V1, |map| {
        assert_eq!(refusal(&map.unwrap(), S + 64 * 4096), "unallocated");
    });
}

#[test]
fn slices_are_bounded_and_copies_may_overlap() {
    with_map(&[rw(I, 8), ro(I + 8, 8)], false, Version::V3, |map| {
        let mut map = map.unwrap();
        map.slice_mut(I, 8).unwrap().copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        map.copy(I + 2, I, 6).unwrap();
        assert_eq!(map.slice(I, 8).unwrap(), [1, 2, 1, 2, 3, 4, 5, 6]);
        map.copy(I, I + 3, 5).unwrap();
        assert_eq!(map.slice(I, 8).unwrap(), [2, 3, 4, 5, 6, 4, 5, 6]);
        map.copy(I, I + 8, 8).unwrap();
        assert_eq!(map.slice(I, 8).unwrap(), [2; 8]);
        assert!(map.slice(I, 9).is_err());
        assert!(map.slice_mut(I + 8, 1).is_err());
        assert!(map.slice_mut(I + 1, u64::MAX).is_err());
        // The destination is checked first.
        let refused = map.copy(I + 8, I + 100, 1).unwrap_err();
        assert!(matches!(refused, Trap::AccessViolation { access: Access::Store, .. }));
        let refused = map.copy(I, I + 9, 8).unwrap_err();
        assert!(matches!(refused, Trap::AccessViolation { access: Access::Load, .. }));
    });
}

#[test]
fn loads_and_stores_of_every_size_end_with_their_region() {
    by_each_engine(|| {
        let specs = [rw(I, 24), ro(I + 24, 24)];
        for size in [1, 2, 4, 8] {
            with_map(&specs, false, Version::V3, |map| {
                let mut map = map.unwrap();
                // Twice, since the second access of a region may take the fast path.
                for vaddr in (I..I + 50).flat_map(|vaddr| [vaddr, vaddr]) {
                    let first = vaddr + size <= I + 24;
                    let second = vaddr >= I + 24 && vaddr + size <= I + 48;
                    let load = access(&mut map, Access::Load, size, vaddr, 0, &mut NoHost);
                    assert_eq!(load.is_ok(), first || second, "{size} bytes at {vaddr:#x}");
                    let store = access(&mut map, Access::Store, size, vaddr, 0, &mut NoHost);
                    assert_eq!(store.is_ok(), first, "{size} bytes at {vaddr:#x}");
                }
            });
        }
    });
}

#[test]
fn a_region_reports_what_it_was_made_with() {
    let mut bytes = [1, 2, 3, 4];
    let region = Region::writable(I, &mut bytes).reserve(2).protected().with_payload(7);
    assert_eq!(
        (region.vaddr(), region.len(), region.is_writable(), region.payload()),
        (I, 2, false, Some(7))
    );
    assert_eq!((region.bytes(), region.vaddr_end()), (&[1, 2][..], I + 2));
    let map = MemoryMap::new(vec![region], &Config::default(), Version::V3).unwrap();
    assert!(map.slice(I, 2).is_ok() && map.slice(I, 3).is_err());
}
