//! The wire form of transactions, as far as vectors of kind `svm` are run: legacy ones and those
//! of version 0 that look nothing up in address tables.

use selkie_svm::{AccountMeta, Instruction, Pubkey};

/// Marks a message with a version in the lower bits of its first byte.
const VERSIONED: u8 = 0x80;

/// A transaction that was read.
pub(crate) struct Transaction {
    /// The addresses of its accounts; the first one pays.
    pub(crate) keys: Vec<Pubkey>,
    pub(crate) instructions: Vec<Instruction>,
}

/// Reads a transaction.
///
/// # Errors
/// Why it is none that can be run here: a reason to skip the vector.
pub(crate) fn read(wire: &[u8]) -> Result<Transaction, String> {
    if wire.first().is_some_and(|byte| byte & VERSIONED != 0) {
        return Err("transactions of version 1 are not supported yet".to_owned());
    }
    let mut reader = Reader(wire);
    let message = reader.message();
    let message = match (message, reader.0) {
        (Some(message), []) if !message.is_versioned => message,
        (Some(message), [0]) if message.is_versioned => message,
        (Some(Message { is_versioned: true, .. }), [_, ..]) => {
            return Err("address lookup tables are not supported yet".to_owned());
        }
        _ => return Err("the transaction cannot be read".to_owned()),
    };
    message.resolve().ok_or_else(|| "the transaction names accounts that it has not".to_owned())
}

/// A message as it is written: instructions name accounts by their places.
struct Message<'a> {
    is_versioned: bool,
    rights: Rights,
    keys: Vec<Pubkey>,
    /// Program, accounts and data.
    instructions: Vec<(u8, &'a [u8], &'a [u8])>,
}

impl Message<'_> {
    fn resolve(self) -> Option<Transaction> {
        let Self { rights, keys, instructions, .. } = self;
        let meta = |&index: &u8| {
            let index = usize::from(index);
            Some(AccountMeta {
                pubkey: *keys.get(index)?,
                is_signer: index < rights.signers,
                is_writable: rights.is_writable(index),
            })
        };
        let instructions = instructions.into_iter().map(|(program, accounts, data)| {
            Some(Instruction {
                program_id: *keys.get(usize::from(program))?,
                accounts: accounts.iter().map(meta).collect::<Option<_>>()?,
                data: data.to_vec(),
            })
        });
        Some(Transaction { instructions: instructions.collect::<Option<_>>()?, keys })
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    /// A length of up to three groups of seven bits.
    fn len(&mut self) -> Option<usize> {
        let mut len = 0;
        for shift in [0, 7, 14] {
            let byte = self.byte()?;
            len |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(len);
            }
        }
        None
    }

    /// A length, and as many bytes.
    fn sized(&mut self) -> Option<&'a [u8]> {
        let len = self.len()?;
        self.bytes(len)
    }

    /// The message behind the signatures, up to its address lookups.
    fn message(&mut self) -> Option<Message<'a>> {
        let signatures = self.len()?;
        self.bytes(signatures * 64)?;
        let is_versioned = self.0.first()? & VERSIONED != 0;
        if is_versioned {
            self.byte()?;
        }
        let [signers, signers_readonly, others_readonly] =
            [usize::from(self.byte()?), usize::from(self.byte()?), usize::from(self.byte()?)];
        let count = self.len()?;
        let mut keys = Vec::new();
        for _ in 0..count {
            keys.push(Pubkey::try_from(self.bytes(32)?).ok()?);
        }
        let _blockhash = self.bytes(32)?;
        let rights = Rights {
            signers,
            signers_writable: signers.checked_sub(signers_readonly)?,
            others_writable: count.checked_sub(others_readonly)?,
        };
        let mut instructions = Vec::new();
        for _ in 0..self.len()? {
            instructions.push((self.byte()?, self.sized()?, self.sized()?));
        }
        Some(Message { is_versioned, rights, keys, instructions })
    }
}

/// What the transaction's header says of its accounts, by their place: signers first, and among
/// signers and others those first that are writable.
struct Rights {
    signers: usize,
    signers_writable: usize,
    /// One past the last of the others that are writable.
    others_writable: usize,
}

impl Rights {
    fn is_writable(&self, index: usize) -> bool {
        index < if index < self.signers { self.signers_writable } else { self.others_writable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transaction: three accounts, the first a writable signer, the last read-only; one
    /// instruction of the last, with the first two and a byte of data.
    fn wire() -> Vec<u8> {
        let keys = [1, 2, 3].map(|byte| [byte; 32]).concat();
        [&[1][..], &[0; 64], &[1, 0, 1, 3], &keys, &[0; 32], &[1, 2, 2, 0, 1, 1, 9]].concat()
    }

    #[test]
    fn rights_are_in_the_header() {
        let key = |byte| Pubkey::new_from_array([byte; 32]);
        let transaction = read(&wire()).unwrap();
        let accounts = vec![AccountMeta::new(key(1), true), AccountMeta::new(key(2), false)];
        let instruction = Instruction { program_id: key(3), accounts, data: vec![9] };
        assert_eq!(transaction.instructions, [instruction]);
        assert_eq!(transaction.keys, [1, 2, 3].map(key));
    }

    #[test]
    fn cut_transactions_are_none() {
        for len in 0..wire().len() {
            assert!(read(&wire()[..len]).is_err(), "cut at {len}");
        }
        assert!(read(&[&wire()[..], &[1]].concat()).is_err());
    }
}
