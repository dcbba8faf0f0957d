//! Checks of a function, each with an error of 512 bytes, as Anchor's programs have them for each account: they fit
//! into a stack frame if their errors share one place of it.

#[derive(Clone)]
pub struct Failure {
    words: [u64; 60],
}

impl Failure {
    #[inline(always)]
    fn with(mut self, name: u64) -> Self {
        self.words[59] = name;
        self
    }
}

#[inline(never)]
fn check(at: u64) -> Result<u64, Failure> {
    match at % 256 {
        0 => Ok(at / 256),
        code => Err(Failure { words: [code; 60] }),
    }
}

#[inline(never)]
fn all(at: u64) -> Result<u64, Failure> {
    let a = check(at).map_err(|it| it.with(1))?;
    let b = check(at + a).map_err(|it| it.with(2))?;
    let c = check(at + b).map_err(|it| it.with(3))?;
    let d = check(at + c).map_err(|it| it.with(4))?;
    let e = check(at + d).map_err(|it| it.with(5))?;
    let f = check(at + e).map_err(|it| it.with(6))?;
    let g = check(at + f).map_err(|it| it.with(7))?;
    let h = check(at + g).map_err(|it| it.with(8))?;
    let i = check(at + h).map_err(|it| it.with(9))?;
    let j = check(at + i).map_err(|it| it.with(10))?;
    Ok(a + b + c + d + e + f + g + h + i + j)
}

/// # Safety
///
/// The loader passes the input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn entrypoint(input: *const u64) -> u64 {
    match all(unsafe { *input.add(2) }) {
        Ok(sum) => sum,
        Err(it) => it.words[0] + it.words[59],
    }
}
