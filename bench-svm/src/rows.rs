//! The rows of the table, and how each is measured.

use core::time::Duration;

use selkie::programs;
use selkie_bench_seam::{Calls, Failure, Side, Start, World};

use crate::{
    report::{
        Figure,
        Goal::{self, Like, Ratio},
        Line,
    },
    scene::{Besides, Scene},
};

/// Work that is measured on both sides.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    goals: &'static [Goal],
    /// Only one turn of so many is taken; slow work needs fewer.
    every: u32,
    work: Work,
}

#[derive(Clone, Copy)]
enum Work {
    Call(Call),
    /// Makes a new world.
    Open(Start),
    /// Adds Token-2022.
    Add,
    /// Adds Token-2022 and sends it one transaction.
    AddAndSend,
}

/// Calls of one method of [`World`], each with one transaction.
#[derive(Clone, Copy)]
struct Call {
    scene: Scene,
    besides: Besides,
    verifies_signatures: bool,
    /// Whether the method makes the transactions itself.
    is_test: bool,
    method: fn(&mut (dyn World + 'static), usize) -> Result<Calls, Failure>,
    /// Transactions in a turn.
    count: usize,
}

/// Transactions in a turn: enough for the clock, few enough to fit between disturbances.
const CALLS: usize = 20;

/// Sends transactions.
const fn send(scene: Scene) -> Work {
    Work::Call(sending(scene))
}

const fn sending(scene: Scene) -> Call {
    Call {
        scene,
        besides: Besides::Nothing,
        verifies_signatures: false,
        is_test: false,
        method: World::send,
        count: CALLS,
    }
}

/// Sends transactions whose signatures are checked.
const fn send_verified(scene: Scene) -> Work {
    Work::Call(Call { verifies_signatures: true, ..sending(scene) })
}

/// Signs transactions, sends them, checks the results and reads an account, with checked signatures.
const fn test(scene: Scene) -> Work {
    Work::Call(Call {
        verifies_signatures: true,
        is_test: true,
        method: World::sign_send_read,
        ..sending(scene)
    })
}

/// Sends transactions to a world with so many other programs.
const fn send_among(scene: Scene, programs: u32) -> Work {
    Work::Call(Call { besides: Besides::Programs(programs), ..sending(scene) })
}

/// Simulates transactions.
const fn simulate(scene: Scene) -> Work {
    Work::Call(Call { method: World::simulate, ..sending(scene) })
}

/// Takes a snapshot, sends a transaction and restores the snapshot, in a world with so many other
/// accounts.
const fn restore(scene: Scene, accounts: u32) -> Work {
    Work::Call(Call {
        besides: Besides::Accounts(accounts),
        method: World::send_and_restore,
        count: CALLS / 4,
        ..sending(scene)
    })
}

const P_TOKEN: Scene = Scene::Token(&programs::TOKEN);
const SPL_TOKEN: Scene = Scene::Token(&programs::SPL_TOKEN);
const TOKEN_2022: Scene = Scene::Token(&programs::TOKEN_2022);

const fn row(name: &'static str, goals: &'static [Goal], every: u32, work: Work) -> Row {
    Row { name, goals, every, work }
}

const SYSTEM: &str = "system transfer";
const RESTORE: &str = "snapshot, transfer, restore; 60";

/// Every row, in the order of the table.
#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    row("sign, send, check, read",               &[Ratio(8.0)],                     1,  test(Scene::System)),
    row("no-op program",                         &[Ratio(10.0)],                    1,  send(Scene::NoOp)),
    row(SYSTEM,                                  &[Ratio(5.0)],                     1,  send(Scene::System)),
    row("system transfer, 400 programs",         &[Ratio(5.0), Like(SYSTEM, 1.1)],  1,  send_among(Scene::System, 400)),
    row("system transfer, signatures checked",   &[Ratio(2.0)],                     1,  send_verified(Scene::System)),
    row("p-token transfer",                      &[Ratio(10.0)],                    1,  send(P_TOKEN)),
    row("p-token transfer, simulated",           &[],                               1,  simulate(P_TOKEN)),
    row("spl-token 3.5.0 transfer",              &[Ratio(8.0)],                     1,  send(SPL_TOKEN)),
    row("token-2022 transfer",                   &[],                               1,  send(TOKEN_2022)),
    row("associated-token create",               &[Ratio(10.0)],                    4,  send(Scene::Associated)),
    row("new()",                                 &[Ratio(50.0)],                    10, Work::Open(Start::Default)),
    row("new(), no programs on both",            &[],                               10, Work::Open(Start::Bare)),
    row("add token-2022",                        &[Ratio(4.0)],                     10, Work::Add),
    row("add token-2022, first transfer",        &[],                               10, Work::AddAndSend),
    row(RESTORE,                                 &[],                               2,  restore(Scene::System, 60)),
    row("snapshot, transfer, restore; 1000",     &[Like(RESTORE, 1.5)],             4,  restore(Scene::System, 1_000)),
    row("snapshot, transfer, restore; 100000",   &[Like(RESTORE, 1.5)],             20, restore(Scene::System, 100_000)),
];

impl Row {
    /// Warms up, then runs one side `times` times.
    pub(crate) fn repeat(&self, side: &dyn Side, times: u32) -> Result<(), Failure> {
        if let Work::Call(call) = self.work {
            // The last warm-up is a whole turn, so that all buffers have their final size.
            let times = times as usize;
            let mut world = call.open(side, 2 * call.count + times)?;
            (call.method)(&mut *world, call.count)?;
            (call.method)(&mut *world, call.count)?;
            (call.method)(&mut *world, times)?;
            return Ok(());
        }
        (0..=times).try_for_each(|_| self.work.time(side).map(drop))
    }
}

impl Work {
    /// Does the work once, and returns the time of its measured part. A turn's calls are one piece
    /// of work.
    fn time(self, side: &dyn Side) -> Result<Duration, Failure> {
        match self {
            Self::Call(call) => {
                let mut world = call.open(side, call.count)?;
                Ok((call.method)(&mut *world, call.count)?.time)
            }
            Self::Open(start) => side.time_open(start),
            Self::Add => Ok(add_token_2022(side)?.1),
            Self::AddAndSend => {
                let (mut world, added) = add_token_2022(side)?;
                TOKEN_2022.set_up(&mut *world)?;
                world.queue(&TOKEN_2022.transactions(world.blockhash(), 1))?;
                Ok(added + world.send(1)?.time)
            }
        }
    }
}

impl Call {
    /// Opens a world in which so many transactions wait.
    fn open(&self, side: &dyn Side, transactions: usize) -> Result<Box<dyn World>, Failure> {
        let mut world = side.open(Scene::START, self.verifies_signatures)?;
        self.scene.set_up(&mut *world)?;
        self.besides.set_up(&mut *world)?;
        match self.is_test {
            true => world.prepare(&self.scene.test(transactions)),
            false => world.queue(&self.scene.transactions(world.blockhash(), transactions))?,
        }
        Ok(world)
    }

    /// Takes a turn. One uncounted call precedes it, since the other side's turn has evicted this
    /// side from the processor's caches.
    fn turn(&self, world: &mut Box<dyn World>) -> Result<Calls, Failure> {
        (self.method)(&mut **world, 1)?;
        (self.method)(&mut **world, self.count)
    }
}

/// Both sides, and the number of turns.
pub(crate) struct Bench {
    pub(crate) litesvm: Option<Box<dyn Side>>,
    pub(crate) selkie: Box<dyn Side>,
    pub(crate) turns: u32,
}

/// Times of LiteSVM's turns and of Selkie's, and the compute units of a transaction.
#[derive(Default)]
struct Times {
    litesvm: Vec<Duration>,
    selkie: Vec<Duration>,
    compute_units: Option<u64>,
}

impl Bench {
    /// Measures a row.
    pub(crate) fn measure(&self, row: &Row) -> Result<Line, Failure> {
        let turns = self.turns.div_ceil(row.every).max(3);
        let (times, count) = match row.work {
            Work::Call(call) => (self.calls(call, turns), call.count as u64),
            work => (self.work(work, turns), 1),
        };
        let times = times.map_err(|failure| format!("{}: {failure}", row.name))?;
        Ok(Line {
            name: row.name,
            first: Figure::us(times.litesvm, count),
            second: Figure::us(times.selkie, count).ok_or("there is no turn")?,
            compute_units: times.compute_units,
            goals: row.goals,
        })
    }

    /// Measures work that takes its own time. In each turn it is done twice and the faster one
    /// counts, since the other side's turn has evicted this side from the processor's caches.
    fn work(&self, work: Work, turns: u32) -> Result<Times, Failure> {
        let twice = |side: &dyn Side| Ok::<_, Failure>(work.time(side)?.min(work.time(side)?));
        let mut times = Times::default();
        for _ in 0..turns {
            if let Some(side) = &self.litesvm {
                times.litesvm.push(twice(&**side)?);
            }
            times.selkie.push(twice(&*self.selkie)?);
        }
        Ok(times)
    }

    /// Measures calls. The sides must agree on the compute units of each turn, and on the accounts
    /// that were written in the end.
    fn calls(&self, call: Call, turns: u32) -> Result<Times, Failure> {
        // The first turn warms up.
        let transactions = (call.count + 1) * (turns as usize + 1);
        let open = |side: &dyn Side| call.open(side, transactions);
        let mut litesvm = self.litesvm.as_deref().map(open).transpose()?;
        let mut selkie = open(&*self.selkie)?;
        let mut times = Times::default();
        for turn in 0..=turns {
            let there = litesvm.as_mut().map(|world| call.turn(world)).transpose()?;
            let here = call.turn(&mut selkie)?;
            if let Some(there) = there
                && there.compute_units != here.compute_units
            {
                let [there, here] = [there, here].map(|it| it.compute_units);
                return Err(format!("compute units differ: {there} there, {here} here"));
            }
            if turn > 0 {
                times.litesvm.extend(there.map(|it| it.time));
                times.selkie.push(here.time);
            }
            times.compute_units = Some(here.compute_units);
        }
        if let Some(litesvm) = litesvm {
            agree_on_accounts(call.scene, &*litesvm, &*selkie)?;
        }
        Ok(times)
    }
}

fn agree_on_accounts(scene: Scene, litesvm: &dyn World, selkie: &dyn World) -> Result<(), Failure> {
    for key in scene.changed() {
        let [there, here] = [litesvm, selkie].map(|world| world.account(&key.to_bytes()));
        if there != here {
            return Err(format!("{key} differs: {there:?} there, {here:?} here"));
        }
    }
    Ok(())
}

/// A new world with Token-2022, and the time that it took to add it.
fn add_token_2022(side: &dyn Side) -> Result<(Box<dyn World>, Duration), Failure> {
    let program = &programs::TOKEN_2022;
    let mut world = side.open(Start::Bare, false)?;
    let loader = program.loader.address().to_bytes();
    let time = world.add_program(program.id.to_bytes(), program.elf(), loader)?;
    Ok((world, time))
}
