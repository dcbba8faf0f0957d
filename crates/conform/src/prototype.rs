//! Fixtures of prototypes: loaders that were written as programs, and never put to use.
//!
//! Each had an address of its own, and recorded what the loader itself would do, but for compute
//! units, for addresses that it derived from its own, and for what [`Prototype::differences`] says
//! and nothing else.

use prost::Message;
use selkie_fixture::{Instruction, InstructionFixture, firedancer};
use selkie_svm::{Feature, FeatureSet, Loader, NATIVE_LOADER, Pubkey};

use crate::{
    BadVector, Context, Verdict,
    features::FeatureIds,
    fixture::FixtureKind,
    instr::{self, Case},
};

/// A loader that was written as a program.
pub(crate) struct Prototype {
    pub(crate) kind: FixtureKind,
    address: Pubkey,
    loader: Loader,
    /// What switches the loader on, if it needs that.
    feature: Option<Feature>,
    /// The loader's number of an instruction, by the prototype's, if they are not the same.
    numbers: &'static [u8],
    differences: &'static [Difference],
}

/// Where a prototype did something that its loader does not.
struct Difference {
    what: &'static str,
    /// Whether an instruction, by its own number, shows it.
    concerns: fn(&Instruction, u8) -> bool,
}

pub(crate) const V3: FixtureKind =
    FixtureKind { name: "Firedancer: loader v3", compared: "result, accounts, return data" };
pub(crate) const V4: FixtureKind =
    FixtureKind { name: "Firedancer: loader v4", compared: "result, accounts, return data" };

const PROTOTYPES: &[Prototype] = &[
    Prototype {
        kind: V3,
        address: Pubkey::from_str_const("CoreBPFLoaderUpgradeab1e1111111111111111111"),
        loader: Loader::V3,
        feature: None,
        numbers: &[],
        differences: &[Difference {
            what: "recorded by a prototype of loader v3, which derived addresses from its own",
            concerns: |_, number| number == V3_DEPLOY,
        }],
    },
    // It was made after the loader of agave 2.1. That of 2.3 copies as well, under number 1.
    Prototype {
        kind: V4,
        address: Pubkey::from_str_const("CoreBPFLoaderV41111111111111111111111111111"),
        loader: Loader::V4,
        feature: Some(Feature::LoaderV4),
        numbers: &[0, 2, 3, 4, 5, 6],
        differences: &[
            Difference {
                what: "recorded when loader v4 asked a new program to sign, which it does no more",
                concerns: |it, number| {
                    number == V4_TRUNCATE
                        && it.instruction_accounts.first().is_some_and(|program| !program.is_signer)
                },
            },
            Difference {
                what: "recorded when loader v4 deployed from another account, which Copy does now",
                concerns: |it, number| number == V4_DEPLOY && it.instruction_accounts.len() > 2,
            },
        ],
    },
];

/// Numbers of the prototypes.
const V3_DEPLOY: u8 = 2;
const V4_TRUNCATE: u8 = 1;
const V4_DEPLOY: u8 = 2;

impl Prototype {
    /// The prototype at an address.
    pub(crate) fn of(address: &Pubkey) -> Option<&'static Self> {
        PROTOTYPES.iter().find(|it| it.address == *address)
    }

    /// Judges the loader by what its prototype did.
    pub(crate) fn judge(
        &self,
        mut fixture: InstructionFixture,
        bytes: &[u8],
        context: &Context,
    ) -> Result<Verdict, BadVector> {
        let number = fixture.input.data.first().copied().unwrap_or_default();
        self.replace(&mut fixture);
        let InstructionFixture { input, output } = &fixture;
        let ids: FeatureIds = input.features.iter().copied().collect();
        let mut case = Case::new(input, self.features(ids.features()));
        case.is_another_build = true;
        if let Some(slot) = slot(bytes)
            && let Some(mut clock) = case.environment.sysvars.clock()
        {
            clock.slot = slot;
            case.environment.sysvars.set_clock(&clock);
        }
        let verdict = case.judge(&instr::Expected::recorded(output), context)?;
        let Verdict::Failed(_) = verdict else { return Ok(verdict) };
        let difference = self.differences.iter().find(|it| (it.concerns)(input, number));
        Ok(difference.map_or(verdict, |it| Verdict::Skipped(it.what.to_owned())))
    }

    fn features(&self, features: FeatureSet) -> FeatureSet {
        self.feature.map_or(features, |feature| features.with(feature))
    }

    /// Puts the loader in the place of its prototype.
    fn replace(&self, fixture: &mut InstructionFixture) {
        let InstructionFixture { input, output } = fixture;
        let loader = self.loader.address();
        let replace = |key: &mut Pubkey| {
            if *key == self.address {
                *key = loader;
            }
        };
        replace(&mut input.program_id);
        for account in input.accounts.iter_mut().chain(&mut output.accounts) {
            replace(&mut account.address);
            replace(&mut account.owner);
            if account.address == loader {
                account.owner = NATIVE_LOADER;
            }
        }
        if let Some(number) = input.data.first_mut()
            && let Some(known) = self.numbers.get(usize::from(*number))
        {
            *number = *known;
        }
    }
}

/// The slot that a fixture was recorded in. There is no account of the clock among its accounts.
fn slot(bytes: &[u8]) -> Option<u64> {
    let fixture = firedancer::InstrFixture::decode(bytes).ok()?;
    fixture.input?.slot_context.map(|it| it.slot)
}
