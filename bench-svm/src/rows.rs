//! One row for each thing that is measured.

use core::time::Duration;

use selkie::{address, ids, programs};
use selkie_bench_seam::{Calls, Failure, Side, Start, World};

use crate::{
    report::{
        Goal::{self, Like, Ratio},
        Line,
    },
    scene::{Scene, no_op, wallet},
};

/// Something to be measured on both sides.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    goals: &'static [Goal],
    work: Work,
    /// One turn of so many is taken: what takes long needs no more.
    every: u32,
}

#[derive(Clone, Copy)]
enum Work {
    /// Sends transactions.
    Send(Scene),
    /// The same where signatures are checked.
    SendVerified(Scene),
    /// Sends transactions where there are so many programs more.
    SendAmong(Scene, u32),
    /// Simulates transactions.
    Simulate(Scene),
    /// Keeps the state, sends a transaction and goes back, where there are so many accounts.
    Restore(Scene, u32),
    /// Makes a new world.
    Open(Start),
    /// Adds Token-2022.
    Add,
    /// Adds Token-2022 and sends it one transaction.
    AddAndSend,
}

const P_TOKEN: Scene = Scene::Token(&programs::TOKEN);
const SPL_TOKEN: Scene = Scene::Token(&programs::SPL_TOKEN);
const TOKEN_2022: Scene = Scene::Token(&programs::TOKEN_2022);

const fn row(name: &'static str, goals: &'static [Goal], every: u32, work: Work) -> Row {
    Row { name, goals, work, every }
}

const SYSTEM: &str = "system transfer";
const RESTORE: &str = "snapshot, transfer, restore; 60";

/// What is measured, in the order of the table.
#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    row("no-op program",                         &[Ratio(10.0)],                    1,  Work::Send(Scene::NoOp)),
    row(SYSTEM,                                  &[Ratio(5.0)],                     1,  Work::Send(Scene::System)),
    row("system transfer, 400 programs",         &[Ratio(5.0), Like(SYSTEM, 1.1)],  1,  Work::SendAmong(Scene::System, 400)),
    row("system transfer, signatures checked",   &[],                               1,  Work::SendVerified(Scene::System)),
    row("p-token transfer",                      &[Ratio(10.0)],                    1,  Work::Send(P_TOKEN)),
    row("p-token transfer, simulated",           &[],                               1,  Work::Simulate(P_TOKEN)),
    row("spl-token 3.5.0 transfer",              &[Ratio(8.0)],                     1,  Work::Send(SPL_TOKEN)),
    row("token-2022 transfer",                   &[],                               1,  Work::Send(TOKEN_2022)),
    row("associated-token create",               &[Ratio(10.0)],                    4,  Work::Send(Scene::Associated)),
    row("new()",                                 &[Ratio(50.0)],                    10, Work::Open(Start::Default)),
    row("new(), no programs on both",            &[],                               10, Work::Open(Start::Bare)),
    row("add token-2022",                        &[Ratio(4.0)],                     10, Work::Add),
    row("add token-2022, first transfer",        &[],                               10, Work::AddAndSend),
    row(RESTORE,                                 &[],                               2,  Work::Restore(Scene::System, 60)),
    row("snapshot, transfer, restore; 1000",     &[Like(RESTORE, 1.5)],             4,  Work::Restore(Scene::System, 1_000)),
    row("snapshot, transfer, restore; 100000",   &[Like(RESTORE, 1.5)],             20, Work::Restore(Scene::System, 100_000)),
];

/// The sides, and how often they take turns.
pub(crate) struct Bench {
    pub(crate) theirs: Option<Box<dyn Side>>,
    pub(crate) ours: Box<dyn Side>,
    pub(crate) turns: u32,
}

/// The least times of calls, and the units that each used.
struct Least {
    theirs: Option<Duration>,
    ours: Duration,
    units: Option<u64>,
}

/// What a turn consists of.
type Call = fn(&mut (dyn World + 'static), usize) -> Result<Calls, Failure>;

/// Transactions in a turn: enough for the clock, few enough to fit between disturbances.
const CALLS: usize = 20;

impl Bench {
    /// Measures a row.
    pub(crate) fn measure(&self, row: &Row) -> Result<Line, Failure> {
        let turns = self.turns.div_ceil(row.every).max(3);
        let least = match row.work {
            Work::Send(scene) => self.calls(scene, turns, CALLS, false, &nothing, World::send),
            Work::SendVerified(scene) => {
                self.calls(scene, turns, CALLS, true, &nothing, World::send)
            }
            Work::SendAmong(scene, count) => {
                let add = |world: &mut dyn World| add_programs(world, count);
                self.calls(scene, turns, CALLS, false, &add, World::send)
            }
            Work::Simulate(scene) => {
                self.calls(scene, turns, CALLS, false, &nothing, World::simulate)
            }
            Work::Restore(scene, count) => {
                let add = |world: &mut dyn World| add_accounts(world, count);
                self.calls(scene, turns, CALLS / 4, false, &add, World::send_and_restore)
            }
            Work::Open(start) => self.times(turns, &|side| side.time_open(start)),
            Work::Add => self.times(turns, &|side| Ok(add_token_2022(side)?.1)),
            Work::AddAndSend => self.times(turns, &|side| {
                let (mut world, added) = add_token_2022(side)?;
                TOKEN_2022.set_up(&mut *world)?;
                world.queue(&TOKEN_2022.transactions(world.blockhash(), 1))?;
                Ok(added + world.send(1)?.time)
            }),
        };
        let Least { theirs, ours, units } = least.map_err(|why| format!("{}: {why}", row.name))?;
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        Ok(Line { name: row.name, theirs: theirs.map(us), ours: us(ours), units, goals: row.goals })
    }

    /// Takes the time of what tells it itself, by turns. In each it is done twice, and the second
    /// time counts if it was faster, since the other side leaves nothing in the caches.
    fn times(
        &self,
        turns: u32,
        time: &dyn Fn(&dyn Side) -> Result<Duration, Failure>,
    ) -> Result<Least, Failure> {
        let twice = |side: &dyn Side| Ok::<_, Failure>(time(side)?.min(time(side)?));
        let mut least = Least { theirs: None, ours: Duration::MAX, units: None };
        for _ in 0..turns {
            if let Some(side) = &self.theirs {
                let time = twice(&**side)?;
                least.theirs = Some(least.theirs.map_or(time, |it| it.min(time)));
            }
            least.ours = least.ours.min(twice(&*self.ours)?);
        }
        Ok(least)
    }

    /// Takes the time of calls with transactions, by turns, and sees to it that both sides succeed
    /// and agree: on the units of each turn, and on what the accounts are afterwards. One call more
    /// goes before those of a turn, and does not count: the other side leaves nothing in the caches.
    fn calls(
        &self,
        scene: Scene,
        turns: u32,
        count: usize,
        verifies_signatures: bool,
        set_up: &dyn Fn(&mut dyn World) -> Result<(), Failure>,
        call: Call,
    ) -> Result<Least, Failure> {
        let open = |side: &dyn Side| {
            let mut world = side.open(Scene::START, verifies_signatures)?;
            scene.set_up(&mut *world)?;
            set_up(&mut *world)?;
            // The first turn is there to warm up.
            let all = (count + 1) * (turns as usize + 1);
            world.queue(&scene.transactions(world.blockhash(), all))?;
            Ok::<_, Failure>(world)
        };
        let mut theirs = self.theirs.as_deref().map(open).transpose()?;
        let mut ours = open(&*self.ours)?;
        let mut least = Least { theirs: None, ours: Duration::MAX, units: None };
        let warm = |world: &mut Box<dyn World>| {
            call(&mut **world, 1)?;
            call(&mut **world, count)
        };
        for turn in 0..=turns {
            let b = theirs.as_mut().map(warm).transpose()?;
            let a = warm(&mut ours)?;
            if let Some(b) = b {
                if a.units != b.units {
                    return Err(format!("units differ: {} there, {} here", b.units, a.units));
                }
                if turn > 0 {
                    least.theirs = Some(least.theirs.map_or(b.time, |it| it.min(b.time)));
                }
            }
            if turn > 0 {
                least.ours = least.ours.min(a.time);
            }
            least.units = Some(a.units);
        }
        if let Some(theirs) = theirs {
            for key in scene.changed() {
                let [there, here] = [&theirs, &ours].map(|world| world.account(&key.to_bytes()));
                if there != here {
                    return Err(format!("{key} differs: {there:?} there, {here:?} here"));
                }
            }
        }
        let each = |time: Duration| time / count as u32;
        Ok(Least { theirs: least.theirs.map(each), ours: each(least.ours), units: least.units })
    }
}

fn nothing(_: &mut dyn World) -> Result<(), Failure> {
    Ok(())
}

fn add_programs(world: &mut dyn World, count: u32) -> Result<(), Failure> {
    let elf = no_op();
    (0..count).try_for_each(|index| {
        let id = address(&format!("program {index}")).to_bytes();
        world.add_program(id, &elf, ids::bpf_loader_upgradeable::ID.to_bytes()).map(drop)
    })
}

fn add_accounts(world: &mut dyn World, count: u32) -> Result<(), Failure> {
    (0..count).try_for_each(|index| {
        world.set_account(address(&format!("account {index}")).to_bytes(), wallet())
    })
}

/// A new world with Token-2022, and the time that it took to add it.
fn add_token_2022(side: &dyn Side) -> Result<(Box<dyn World>, Duration), Failure> {
    let program = &programs::TOKEN_2022;
    let mut world = side.open(Start::Bare, false)?;
    let loader = program.loader.address().to_bytes();
    let time = world.add_program(program.id.to_bytes(), program.elf(), loader)?;
    Ok((world, time))
}
