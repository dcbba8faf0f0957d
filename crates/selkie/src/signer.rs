//! Signers of transactions: keypairs, which sign when a signature is read, and all others, which sign at
//! once.

use std::{rc::Rc, sync::Arc};

use selkie_svm::KeyMap;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_signer::{Signer, SignerError, null_signer::NullSigner};

/// A type that signs transactions: a [`Keypair`], a pointer to one, or any `dyn` [`Signer`].
///
/// The signature of a [`Keypair`] is made when it is read, which saves most of the time of a transaction.
/// A `dyn Signer` may do anything when it is asked to sign: it signs at once, and its signature is verified.
///
/// A list of signers has one type. A `&dyn Signer` and keypairs make one of `&dyn Signer`; of several other
/// types, the first is cast, `&alice as &dyn Signer`:
///
/// ```
/// use selkie::{Keypair, Signer, Svm, address, keypair, system};
///
/// fn pay(svm: &mut Svm, payer: &dyn Signer, owner: &Keypair) {
///     let transfer = system::transfer(&owner.pubkey(), &address("bob"), 1_000_000);
///     svm.send_instructions(&[transfer], &[payer, owner]).expect("both have lamports");
/// }
///
/// let (alice, carol) = (keypair("alice"), keypair("carol"));
/// let mut svm = Svm::new();
/// svm.airdrop(&alice.pubkey(), 10_000_000)?;
/// svm.airdrop(&carol.pubkey(), 10_000_000)?;
/// pay(&mut svm, &alice, &carol);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to sign transactions",
    note = "pass it as `&dyn Signer`: `&[&signer as &dyn Signer]`"
)]
pub trait AsSigner {
    /// Returns the signer.
    fn as_signer(&self) -> AnySigner<'_>;
}

/// A list of signers: an array, a slice or a vector, of the signers or of references to them.
pub trait SignerList {
    /// Returns the signers.
    fn signers(&self) -> Vec<AnySigner<'_>>;
}

impl<S: AsSigner> SignerList for [S] {
    fn signers(&self) -> Vec<AnySigner<'_>> {
        self.iter().map(S::as_signer).collect()
    }
}

impl<S: AsSigner, const N: usize> SignerList for [S; N] {
    fn signers(&self) -> Vec<AnySigner<'_>> {
        self.as_slice().signers()
    }
}

impl<S: AsSigner> SignerList for Vec<S> {
    fn signers(&self) -> Vec<AnySigner<'_>> {
        self.as_slice().signers()
    }
}

impl<L: SignerList + ?Sized> SignerList for &L {
    fn signers(&self) -> Vec<AnySigner<'_>> {
        (**self).signers()
    }
}

/// A keypair, or another signer.
#[derive(Clone, Copy)]
pub enum AnySigner<'s> {
    /// A keypair, whose signatures may be made later.
    Keypair(&'s Keypair),
    /// A signer that signs at once.
    Other(&'s dyn Signer),
}

impl<'s> AnySigner<'s> {
    /// Returns the keypair; `None` of another signer.
    #[must_use]
    pub fn keypair(self) -> Option<&'s Keypair> {
        match self {
            Self::Keypair(keypair) => Some(keypair),
            Self::Other(_) => None,
        }
    }

    fn signer(self) -> &'s dyn Signer {
        match self {
            Self::Keypair(keypair) => keypair,
            Self::Other(signer) => signer,
        }
    }
}

impl Signer for AnySigner<'_> {
    fn try_pubkey(&self) -> Result<Pubkey, SignerError> {
        self.signer().try_pubkey()
    }

    fn try_sign_message(&self, message: &[u8]) -> Result<Signature, SignerError> {
        self.signer().try_sign_message(message)
    }

    fn is_interactive(&self) -> bool {
        self.signer().is_interactive()
    }
}

/// Shows the address alone.
impl core::fmt::Debug for AnySigner<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "AnySigner({})", self.pubkey())
    }
}

/// How many keypairs are kept.
const KEYPAIRS_MAX: usize = 1024;

/// The keypairs that have signed, by address. Each is copied once, since a copy takes longer than a
/// transaction. A keypair's address is made of its secret: keypairs with one address are equal.
#[derive(Clone, Default)]
pub(crate) struct Keyring(KeyMap<Arc<Keypair>>);

impl Keyring {
    /// Returns the keypairs of signers; `None` if one of them is another signer.
    pub(crate) fn keypairs(&mut self, signers: &[AnySigner<'_>]) -> Option<Vec<Arc<Keypair>>> {
        signers.iter().map(|it| it.keypair().map(|it| self.share(it))).collect()
    }

    fn share(&mut self, keypair: &Keypair) -> Arc<Keypair> {
        let address = keypair.pubkey();
        if let Some(known) = self.0.get(&address) {
            return Arc::clone(known);
        }
        if self.0.len() >= KEYPAIRS_MAX {
            self.0.clear();
        }
        let shared = Arc::new(keypair.insecure_clone());
        self.0.insert(address, Arc::clone(&shared));
        shared
    }
}

/// Shows no keys.
impl core::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Keyring({})", self.0.len())
    }
}

impl AsSigner for Keypair {
    fn as_signer(&self) -> AnySigner<'_> {
        AnySigner::Keypair(self)
    }
}

impl AsSigner for AnySigner<'_> {
    fn as_signer(&self) -> AnySigner<'_> {
        *self
    }
}

impl AsSigner for NullSigner {
    fn as_signer(&self) -> AnySigner<'_> {
        AnySigner::Other(self)
    }
}

impl AsSigner for dyn Signer + '_ {
    fn as_signer(&self) -> AnySigner<'_> {
        AnySigner::Other(self)
    }
}

impl AsSigner for dyn Signer + Send + '_ {
    fn as_signer(&self) -> AnySigner<'_> {
        AnySigner::Other(self)
    }
}

impl AsSigner for dyn Signer + Send + Sync + '_ {
    fn as_signer(&self) -> AnySigner<'_> {
        AnySigner::Other(self)
    }
}

impl<S: AsSigner + ?Sized> AsSigner for &S {
    fn as_signer(&self) -> AnySigner<'_> {
        (**self).as_signer()
    }
}

impl<S: AsSigner + ?Sized> AsSigner for Box<S> {
    fn as_signer(&self) -> AnySigner<'_> {
        (**self).as_signer()
    }
}

impl<S: AsSigner + ?Sized> AsSigner for Rc<S> {
    fn as_signer(&self) -> AnySigner<'_> {
        (**self).as_signer()
    }
}

impl<S: AsSigner + ?Sized> AsSigner for Arc<S> {
    fn as_signer(&self) -> AnySigner<'_> {
        (**self).as_signer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keypair_is_copied_once() {
        let (alice, bob) = (Keypair::new_from_array([1; 32]), Keypair::new_from_array([2; 32]));
        let mut keyring = Keyring::default();
        let first = keyring.keypairs(&[alice.as_signer(), bob.as_signer()]).unwrap();
        let again = keyring.keypairs(&[bob.as_signer(), alice.as_signer()]).unwrap();
        assert!(Arc::ptr_eq(&first[0], &again[1]) && Arc::ptr_eq(&first[1], &again[0]));
        assert_eq!((first[0].to_bytes(), first[1].to_bytes()), (alice.to_bytes(), bob.to_bytes()));
        let other = NullSigner::new(&alice.pubkey());
        assert!(keyring.keypairs(&[bob.as_signer(), other.as_signer()]).is_none());
        for number in 0..2000_u16 {
            let mut seed = [3; 32];
            seed[..2].copy_from_slice(&number.to_le_bytes());
            keyring.share(&Keypair::new_from_array(seed));
            assert!(keyring.0.len() <= KEYPAIRS_MAX, "{keyring:?}");
        }
    }
}
