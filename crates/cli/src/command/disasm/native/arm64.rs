//! Machine instructions of Arm64 as text.

use disarm64::{decoder, format_insn::format_insn_pc};

use super::Decoded;

pub(super) const NAME: &str = "Arm64";

/// Decodes instructions that start at an offset.
pub(super) fn decode(bytes: &[u8], start: u64) -> Vec<Decoded> {
    let (words, rest) = bytes.as_chunks();
    let words = words.iter().map(|word| u32::from_le_bytes(*word));
    let words = (start..).step_by(4).zip(words).map(|(offset, word)| decode_word(word, offset));
    let rest = rest.iter().map(|byte| Decoded {
        len: 1,
        mnemonic: ".byte".to_owned(),
        operands: format!("{byte:#04x}"),
        target: None,
    });
    words.chain(rest).collect()
}

fn decode_word(word: u32, offset: u64) -> Decoded {
    let mut text = String::new();
    let is_known =
        decoder::decode(word).is_some_and(|insn| format_insn_pc(offset, &mut text, &insn).is_ok());
    if !is_known {
        text = format!(".inst {word:#010x}");
    }
    let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
    Decoded {
        len: 4,
        mnemonic: mnemonic.to_owned(),
        operands: operands.trim().to_owned(),
        target: target(word, offset),
    }
}

/// Returns where a branch leads to whose distance is a constant.
fn target(word: u32, offset: u64) -> Option<u64> {
    let is_conditional = word >> 24 == 0x54 || word >> 25 & 0x3f == 0x1a;
    let distance = match word >> 26 & 0x1f {
        5 => (word << 6).cast_signed() >> 6,
        _ if is_conditional => (word << 8).cast_signed() >> 13,
        _ => return None,
    };
    Some(offset.wrapping_add_signed(4 * i64::from(distance)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_text_and_branches_a_target() {
        let cases = [
            (0xd280_00a1, "movz", "x1, #0x5, lsl #0x0", None),
            (0xf100_0cc6, "subs", "x6, x6, #0x3", None),
            (0x54ff_ffc3, "b.cc", "0x38", Some(0x38)),
            (0xb400_0041, "cbz", "x1, 0x48", Some(0x48)),
            (0x3500_0041, "cbnz", "w1, 0x48", Some(0x48)),
            (0x1400_0001, "b", "0x44", Some(0x44)),
            (0x97ff_ffff, "bl", "0x3c", Some(0x3c)),
            (0xd65f_03c0, "ret", "x30", None),
            (0xffff_ffff, ".inst", "0xffffffff", None),
        ];
        for (word, mnemonic, operands, target) in cases {
            let insn = decode_word(word, 0x40);
            assert_eq!((&*insn.mnemonic, &*insn.operands), (mnemonic, operands));
            assert_eq!(insn.target, target, "{mnemonic}");
        }
    }
}
