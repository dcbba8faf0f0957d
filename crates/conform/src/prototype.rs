//! Fixtures of prototypes: loaders written as sBPF programs, which were never used.
//!
//! Each prototype had its own address and behaved like the loader, except for compute units,
//! addresses derived from its own, and the cases in [`Prototype::differences`].

use std::sync::Arc;

use prost::Message;
use selkie_fixture::{Instruction, InstructionFixture, firedancer};
use selkie_svm::{Feature, FeatureSet, Loader, NATIVE_LOADER, Pubkey};

use crate::{BadVector, Context, Verdict, features::FeatureIds, fixture_kind::FixtureKind, instr};

/// A loader written as a program.
pub(crate) struct Prototype {
    pub(crate) kind: FixtureKind,
    address: Pubkey,
    loader: Loader,
    /// The feature that activates the loader, if there is one.
    feature: Option<Feature>,
    /// The loader's discriminant for each of the prototype's; empty if they are the same.
    numbers: &'static [u8],
    differences: &'static [Difference],
}

/// A case in which a prototype behaved unlike its loader.
struct Difference {
    reason: &'static str,
    /// Returns whether an instruction, with the prototype's discriminant, is such a case.
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
            reason: "recorded by a prototype of loader v3, which derived addresses from its own",
            concerns: |_, number| number == V3_DEPLOY,
        }],
    },
    // It follows the loader of agave 2.1. That of 2.3 has the new instruction Copy, number 1.
    Prototype {
        kind: V4,
        address: Pubkey::from_str_const("CoreBPFLoaderV41111111111111111111111111111"),
        loader: Loader::V4,
        feature: Some(Feature::LoaderV4),
        numbers: &[0, 2, 3, 4, 5, 6],
        differences: &[
            Difference {
                reason: "recorded when loader v4 required a new program to sign",
                concerns: |it, number| {
                    number == V4_TRUNCATE
                        && it.instruction_accounts.first().is_some_and(|program| !program.is_signer)
                },
            },
            Difference {
                reason: "recorded when loader v4 deployed from another account; Copy replaced that",
                concerns: |it, number| number == V4_DEPLOY && it.instruction_accounts.len() > 2,
            },
        ],
    },
];

/// Discriminants of the prototypes' instructions.
const V3_DEPLOY: u8 = 2;
const V4_TRUNCATE: u8 = 1;
const V4_DEPLOY: u8 = 2;

impl Prototype {
    /// Returns the prototype at an address.
    pub(crate) fn of(address: &Pubkey) -> Option<&'static Self> {
        PROTOTYPES.iter().find(|it| it.address == *address)
    }

    /// Judges the loader by the recorded result of its prototype.
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
        let mut case = instr::case(input, self.features(ids.features()), context);
        let sysvars = &mut Arc::make_mut(&mut case.environment).sysvars;
        if let Some(slot) = slot(bytes)
            && let Some(mut clock) = sysvars.clock()
        {
            clock.slot = slot;
            sysvars.set_clock(&clock);
        }
        let expected = instr::Expected::recorded(output);
        let verdict = instr::judge(&case, &expected, true, context)?;
        let Verdict::Failed(_) = verdict else { return Ok(verdict) };
        let difference = self.differences.iter().find(|it| (it.concerns)(input, number));
        Ok(difference.map_or(verdict, |it| Verdict::Skipped(it.reason.to_owned())))
    }

    fn features(&self, features: FeatureSet) -> FeatureSet {
        self.feature.map_or(features, |feature| features.with(feature))
    }

    /// Replaces the prototype by the loader.
    fn replace(&self, fixture: &mut InstructionFixture) {
        let InstructionFixture { input, output } = fixture;
        let loader = self.loader.address();
        let replace = |key: &mut Pubkey| {
            if *key == self.address {
                *key = loader;
            }
        };
        replace(&mut input.program_id);
        let inputs = input.accounts.iter_mut().map(|it| (&mut it.address, &mut it.owner));
        let outputs = output.accounts.iter_mut().map(|it| (&mut it.address, &mut it.owner));
        for (address, owner) in inputs.chain(outputs) {
            replace(address);
            replace(owner);
            if *address == loader {
                *owner = NATIVE_LOADER;
            }
        }
        if let Some(number) = input.data.first_mut()
            && let Some(known) = self.numbers.get(usize::from(*number))
        {
            *number = *known;
        }
    }
}

/// Returns the slot of a fixture, whose accounts do not include the clock sysvar.
fn slot(bytes: &[u8]) -> Option<u64> {
    let fixture = firedancer::InstrFixture::decode(bytes).ok()?;
    fixture.input?.slot_context.map(|it| it.slot)
}
