//! Generates random cases, each from a seed and an index.
//!
//! | module | what it owns |
//! |---|---|
//! | [`world`] | the state with which every case begins |
//! | [`scene`] | the accounts of one case |
//! | [`system`], [`token`], [`tables`], [`loader`], [`precompile`], [`vote`], [`zk`] | their instructions |
//! | [`program`] | programs in assembly that invoke others |
//! | [`message`], [`encode`] | instructions to bytes |
//! | [`mutate`] | mutations of instructions, messages and bytes |

pub(crate) mod encode;
pub(crate) mod ids;
pub(crate) mod loader;
pub(crate) mod message;
mod mutate;
mod precompile;
mod program;
mod proofs;
mod scene;
mod system;
mod tables;
mod token;
mod vote;
pub(crate) mod world;
mod zk;

use std::collections::BTreeSet;

use self::{
    ids::*,
    loader::Deployments,
    message::{Config, Draft, Format, Instruction, r},
    program::Programs,
    scene::Scene,
    token::Tokens,
    vote::Votes,
    world::{EPOCH, SLOT, VOTE_ACCOUNT, World},
};
use crate::{
    agave::{ALWAYS_ON, NEW_GATES},
    case::{Case, Features, Key},
    rng::Rng,
};

/// The subject of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    System,
    Token,
    Token2022,
    Associated,
    Tables,
    Loader,
    Precompiles,
    Programs,
    Vote,
    Zk,
    Mixed,
}

const THEMES: [(Theme, usize); 11] = [
    (Theme::System, 14),
    (Theme::Token, 10),
    (Theme::Token2022, 8),
    (Theme::Associated, 5),
    (Theme::Tables, 6),
    (Theme::Loader, 12),
    (Theme::Precompiles, 4),
    (Theme::Programs, 34),
    (Theme::Vote, 7),
    (Theme::Zk, 3),
    (Theme::Mixed, 7),
];

impl Theme {
    pub(crate) fn named(name: &str) -> Option<Self> {
        THEMES.iter().map(|it| it.0).find(|it| format!("{it:?}").eq_ignore_ascii_case(name))
    }
}

/// Limits on the cases to generate.
pub(crate) struct Choice {
    pub(crate) features: FeatureChoice,
    /// All themes if empty.
    pub(crate) themes: Vec<Theme>,
}

/// Features that a case may switch: some inactive on mainnet, some active.
const INACTIVE: [&str; 13] = [
    "HTW2pSyErTj4BV6KBM9NZ9VBUJVxt7sacNWcf76wtzb3",
    "5TuppMutoyzhUSfuYdhgzD47F92GL1g89KpCZQKqedxP",
    "s512oDwgx8hjMnaQjXfqqrZroVj4HvC6TkN3iSSWXCh",
    "6TkHkRmP7JZy1fdM6fg5uXn76wChQBWGokHBJzrLB3mj",
    "9LZdXeKGeBV6hRLdxS1rHbHoEUsKqesCC2ZAPTPKJAbK",
    "B8JJXCy5amZyWG9r7EnUYLwzXSXTxG7GZ1qZ1qggo83g",
    "7VgiehxNxu53KdxgLspGQY8myE6f7UokaWa4jsGcaSz",
    "ptr9umikaeAS7ZBBp2fsfRhie16F1V2jCKA2y6gXNAK",
    "ExtendProgCheckedWi11BeDe1eted11111111111111",
    "TestFeature11111111111111111111111111111111",
    "expH2ppKPW2ANEdEmAjfhSEcnBQJfmoX4FjuNpe9ttg",
    "CR3dVN2Yoo95Y96kLSTaziWDAQT2MNEpiWh5cqVq2pNE",
    "8aXvSuopd1PUj7UhehfXJRg6619RHp8ZvwTyyJHdUYsj",
];

/// The features that the code of some release still reads.
const ACTIVE: [&str; 8] = [
    "EDGMC5kxFxGk4ixsNkGt8bW7QL5hDMXnbwaZvYMwNfzF",
    "BY4JhHLahVzS9ynfDz4exzGPbVXhFmJvEyMWsXbDBqME",
    "LTDSzjZKFJMKHYpNycG1FrWwGGTaFFwqEFjB5GGLNVD",
    "5xXZc66h4UdB6Yq7FzdBxBiRAFMMScMLwHxk2QZDaNZL",
    "YbbRLkvenrocjGPGyoQE4wjnvYzTgfsk38NFmcYK7a5",
    "6sPDzwyARRExKH52LECxcGoqziH8G7SZofwuxi8Ja331",
    "txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL",
    "zkexuyPRdyTVbZqEAREueqL2xvvoBhRgth9xGSc1tMN",
];

/// Which features a case switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureChoice {
    Mainnet,
    Any,
}

/// The accounts of one case, by theme.
#[derive(Default)]
struct Props {
    token: Option<Tokens>,
    token_2022: Option<Tokens>,
    deployments: Option<Deployments>,
    programs: Option<Programs>,
    votes: Option<Votes>,
}

pub(crate) fn generate(world: &World, seed: u64, index: u64, choice: &Choice) -> Case {
    let mut scene = Scene::new(Rng::new(seed, index), world);
    let theme = match choice.themes.as_slice() {
        [] => pick_theme(&mut scene.rng),
        themes => scene.rng.pick(themes),
    };
    let mut props = Props::default();
    let sigverify = scene.rng.chance(6);
    let mut transactions = Vec::new();
    let mut seen = BTreeSet::new();
    let mut nonce_is_new = true;
    // Assembling programs takes longer than running them.
    let count =
        if theme == Theme::Programs { 4 + scene.rng.below(8) } else { 1 + scene.rng.below(6) };
    for _ in 0..count {
        let again = !transactions.is_empty() && scene.odd(4);
        if again {
            let last: &Vec<u8> = transactions.last().expect("it is not empty");
            transactions.push(last.clone());
            continue;
        }
        let draft = draft(&mut scene, theme, &mut props, &mut nonce_is_new);
        collect(&draft, &mut seen);
        transactions.push(finish(&mut scene, &draft, sigverify, &mut seen));
    }
    scene.prune(&seen);
    let features = match choice.features {
        FeatureChoice::Mainnet => Features::default(),
        FeatureChoice::Any => {
            let active: Vec<_> = ACTIVE.into_iter().filter(|it| !ALWAYS_ON.contains(it)).collect();
            let inactive = [&INACTIVE[..], NEW_GATES].concat();
            let (on, off) = (scene.rng.pick(&inactive), scene.rng.pick(&active));
            match scene.rng.below(3) {
                0 => Features { on: Vec::new(), off: vec![id(off)] },
                1 => Features { on: vec![id(on)], off: vec![id(off)] },
                _ => Features { on: vec![id(on)], off: Vec::new() },
            }
        }
    };
    Case {
        id: format!("oracle/{theme:?}_{seed}_{index}").to_lowercase(),
        slot: SLOT,
        epoch: EPOCH,
        features,
        sigverify,
        lamports_per_signature: 5000,
        blockhashes: world.blockhashes.clone(),
        already_processed: scene.odd(2),
        epoch_total_stake: 400_000_000_000_000_000,
        vote_stakes: vec![(VOTE_ACCOUNT, 123_456_789)],
        accounts: scene.accounts,
        transactions,
    }
}

fn id(text: &str) -> Key {
    crate::vector::key(text).expect("it is an address")
}

fn pick_theme(rng: &mut Rng) -> Theme {
    let mut at = rng.below(THEMES.iter().map(|it| it.1).sum());
    for (theme, weight) in THEMES {
        if at < weight {
            return theme;
        }
        at -= weight;
    }
    unreachable!("the weights were added up")
}

/// One or more instructions of a theme that belong together.
fn instructions(scene: &mut Scene<'_>, theme: Theme, props: &mut Props) -> Vec<Instruction> {
    match theme {
        Theme::System if scene.odd(3) => system::large(scene),
        Theme::System => vec![system::instruction(scene)],
        Theme::Token => {
            let tokens = props.token.get_or_insert_with(|| Tokens::new(scene, TOKEN));
            tokens.instructions(scene)
        }
        Theme::Token2022 => {
            let tokens = props.token_2022.get_or_insert_with(|| Tokens::new(scene, TOKEN_2022));
            tokens.instructions(scene)
        }
        Theme::Associated => {
            let is_new = scene.rng.chance(40);
            let tokens = if is_new {
                props.token_2022.get_or_insert_with(|| Tokens::new(scene, TOKEN_2022))
            } else {
                props.token.get_or_insert_with(|| Tokens::new(scene, TOKEN))
            };
            vec![tokens.associated(scene)]
        }
        Theme::Tables => {
            if scene.tables.is_empty() {
                let keys = (0..scene.rng.below(12)).map(|_| scene.anybody()).collect();
                scene.add_table(keys);
            }
            vec![tables::instruction(scene)]
        }
        Theme::Loader => {
            let deployments = props.deployments.get_or_insert_with(|| Deployments::new(scene));
            deployments.instructions(scene)
        }
        Theme::Precompiles => vec![precompile::instruction(scene)],
        Theme::Programs => {
            let programs = props.programs.get_or_insert_with(|| Programs::new(scene));
            vec![programs.instruction(scene)]
        }
        Theme::Vote => {
            let votes = props.votes.get_or_insert_with(|| Votes::new(scene));
            vec![votes.instruction(scene)]
        }
        Theme::Zk => vec![zk::instruction(scene)],
        Theme::Mixed => {
            if scene.rng.chance(25) {
                return vec![token::memo(scene)];
            }
            if scene.rng.chance(10) {
                return vec![other(scene)];
            }
            let theme = pick_theme(&mut scene.rng);
            if theme == Theme::Mixed { Vec::new() } else { instructions(scene, theme, props) }
        }
    }
}

/// An instruction for a program without a theme.
fn other(scene: &mut Scene<'_>) -> Instruction {
    let somebody = scene.anybody();
    let known = [VOTE, STAKE, ZK_ELGAMAL, NATIVE_LOADER, CLOCK, CONFIG, LOADER_V4, COMPUTE_BUDGET];
    let program = if scene.rng.chance(30) { somebody } else { scene.rng.pick(&known) };
    let metas = (0..scene.rng.below(4)).map(|_| {
        let key = scene.anybody();
        if scene.rng.chance(50) { r(key) } else { message::w(key) }
    });
    let metas = metas.collect();
    let data = encode::Bytes::new().u32(scene.rng.below(20) as u32);
    Instruction::new(program, metas, data)
}

fn draft(scene: &mut Scene<'_>, theme: Theme, props: &mut Props, nonce_is_new: &mut bool) -> Draft {
    let mut draft = scene.draft();
    if scene.rng.chance(12) && (*nonce_is_new || scene.odd(30)) {
        *nonce_is_new = false;
        // A durable nonce transaction.
        let index = scene.rng.below(scene.nonces.len());
        let (nonce, authority, value) = scene.nonces[index];
        draft.blockhash = value;
        let mut advance = system::advance(nonce, authority);
        match scene.roll(40, 4, 100) {
            0 => advance.metas.truncate(scene.rng.below(3)),
            1 => advance.metas[0].writable = false,
            2 => advance.data.push(0),
            3 => draft.payer = nonce,
            _ => {}
        }
        draft.instructions.push(advance);
    }
    let budget = if theme == Theme::Zk { zk::budget(scene) } else { system::budget(scene) };
    draft.instructions.extend(budget);
    for _ in 0..scene.rng.pick(&[1, 1, 1, 2, 2, 3, 4, 0]) {
        let mut more = instructions(scene, theme, props);
        draft.instructions.append(&mut more);
    }
    if scene.rng.chance(8) {
        let more = system::transfer(scene);
        draft.instructions.push(more);
    }
    draft.format = format(scene, &draft);
    mutate::draft(scene, &mut draft);
    draft
}

fn format(scene: &mut Scene<'_>, draft: &Draft) -> Format {
    match scene.rng.below(10) {
        0 | 1 => {
            if scene.rng.chance(60) {
                let mut keys: Vec<Key> = draft
                    .instructions
                    .iter()
                    .flat_map(|it| it.metas.iter().map(|it| it.key))
                    .collect();
                keys.retain(|_| scene.rng.chance(80));
                keys.truncate(200);
                scene.add_table(keys);
            }
            let count = scene.rng.below(scene.tables.len().min(2) + 1);
            Format::V0(scene.tables.iter().rev().take(count).cloned().collect())
        }
        2 => Format::V1(Config {
            priority_fee: scene.rng.chance(40).then(|| scene.rng.word() % 1_000_000),
            compute_units: (!scene.odd(12)).then_some(if !scene.odd(25) {
                1_400_000
            } else {
                scene.rng.below(1_500_000) as u32
            }),
            loaded_size: (!scene.odd(12)).then_some(if !scene.odd(20) {
                64 * 1024 * 1024
            } else {
                scene.rng.below(1_000_000) as u32
            }),
            heap: scene.rng.chance(30).then(|| 1024 * (32 + scene.rng.below(225) as u32)),
        }),
        _ => Format::Legacy,
    }
}

fn collect(draft: &Draft, seen: &mut BTreeSet<Key>) {
    seen.insert(draft.payer);
    for instruction in &draft.instructions {
        seen.insert(instruction.program);
        seen.extend(instruction.metas.iter().map(|it| it.key));
    }
    if let Format::V0(tables) = &draft.format {
        for (table, keys) in tables {
            seen.insert(*table);
            seen.extend(keys);
        }
    }
}

fn finish(
    scene: &mut Scene<'_>,
    draft: &Draft,
    sigverify: bool,
    seen: &mut BTreeSet<Key>,
) -> Vec<u8> {
    let mut message = draft.message();
    mutate::message(scene, &mut message);
    seen.extend(&message.keys);
    let world = scene.world;
    let find = |key: &Key| world.secret(key);
    let mut bytes = message.sign(sigverify.then_some(&find), &mut scene.rng);
    mutate::bytes(scene, &mut bytes);
    bytes
}
