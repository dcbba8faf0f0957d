//! Decodes, encodes and disassembles any word: every instruction must give the same word again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selkie_isa::{Insn, NoNames, Slot, Version, insn::instructions};

fuzz_target!(|text: &[u8]| {
    for version in Version::ALL {
        for (pc, insn) in instructions(version, text) {
            let slot = Slot::read(text, pc).expect("instructions stay within the text");
            assert_eq!(Slot::from_word(slot.to_word()), slot);
            let Some(insn) = insn else { continue };
            let (word, tail) = insn.encode();
            assert_eq!(word, slot.to_word(), "{insn:?}");
            let words: Vec<u8> =
                [Some(word), tail].into_iter().flatten().flat_map(u64::to_le_bytes).collect();
            assert_eq!(Insn::decode(version, &words, 0), Some(insn));
            assert!(!insn.display(pc, &NoNames).to_string().is_empty());
        }
    }
});
