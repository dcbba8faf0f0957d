//! The steps from files to a program.

use std::collections::BTreeMap;

use selkie_elf::write::{self, Image, TEXT_OFFSET_MIN};
use selkie_isa::layout::STACK_FRAME_BYTES;

use crate::{
    Input, LinkError, Options, Statics, debug,
    describe::Description,
    error::Errors,
    icf::fold,
    input,
    layout::{self, Layout},
    legal::{Inexpressible, Legal, identity, legalise},
    object::{Object, SectionKind},
    program::{AtomId, Body, HEAP_START as HEAP_START_NAME, Location, Program},
    report::Linked,
    routines, symbols,
    trace::{Live, Pointer, trace},
};

/// The maximum length of a section name that the loader accepts until V2: 16 bytes including the
/// NUL (anza sbpf: `elf_parser`).
const LOADER_NAME_BYTES_MAX: usize = 15;

/// What to do about a function that needs more stack than a frame has.
const LARGE_FRAME: &str = "move large values to the heap (`Box` in Rust), or the code that uses them \
    into functions of their own that are not inlined (`#[inline(never)]` in Rust)";

/// The same for V0, where V3 would give the function more frames.
const LARGE_FRAME_WITH_GAPS: &str = "build for V3, where functions can have several frames; or move large \
    values to the heap (`Box` in Rust), or the code that uses them into functions of their own that are not \
    inlined (`#[inline(never)]` in Rust)";

/// Links objects and archives to a program.
///
/// # Errors
/// All errors of the first step that fails, at most 200.
pub fn link(inputs: &[Input<'_>], options: &Options) -> Result<Linked, Vec<LinkError>> {
    let mut errors = Errors::default();
    let objects = read(inputs, options, &mut errors)?;
    let mut program = Program::new(objects, &mut errors);
    let linked = link_program(&mut program, options, errors);
    linked.map_err(|mut errors| {
        let line = |object: usize, section, offset| {
            debug::line_of(&program.objects[object], section, offset)
        };
        let users = |object, section, offset| program.kept_by(object, section, offset);
        errors.iter_mut().for_each(|error| error.find_origin(line, users));
        errors
    })
}

/// Reads the inputs, and checks that they are for the version to link for.
fn read<'a>(
    inputs: &[Input<'a>],
    options: &'a Options,
    errors: &mut Errors,
) -> Result<Vec<Object<'a>>, Vec<LinkError>> {
    if options.version.dynamic_frames() {
        let message = format!("cannot link for {}: its stack frames are dynamic", options.version);
        return Err(vec![LinkError::new(message).help("link for v0 or v3")]);
    }
    let provided = |name: &str| routines::provides(name) || name == HEAP_START_NAME;
    let objects = input::read(inputs, &options.entry, provided, errors);
    for object in &objects {
        let Some(version) = object.version.filter(|it| *it != options.version) else { continue };
        let message = format!("assembled for {version}, but linked for {}", options.version);
        let help =
            format!("assemble it with --arch {}, or link with --arch {version}", options.version);
        errors.push(LinkError::new(message).object(&object.name).help(help));
    }
    Ok(objects)
}

fn link_program(
    program: &mut Program<'_>,
    options: &Options,
    mut errors: Errors,
) -> Result<Linked, Vec<LinkError>> {
    errors.check()?;
    let entry = program.entry(&options.entry).map_err(|it| vec![it])?;
    let mut live = trace(program, entry, &mut errors);
    errors.check()?;
    check_statics(program, &live, options, &mut errors);
    let folded = fold(program, &mut live, entry, options.icf);
    let legal = legalise_all(program, &live, options, &mut errors);
    errors.check()?;
    let layout = Layout::new(program, &live, legal, options.version, &mut errors);
    let (text, syscalls) = layout::text(program, &layout, &mut errors);
    let rodata = layout::rodata(program, &live, &layout, &mut errors);
    errors.check()?;

    let parts = symbols::parts(program, &layout);
    let mut symbols = symbols::symbols(program, &layout);
    symbols.extend(parts.iter().map(symbols::of_part));
    let strip = options.strip && !exceeds(&layout);
    let debug = if strip { Vec::new() } else { debug::sections(program, &layout) };
    let whole = Image {
        version: options.version,
        text: &text,
        text_offset: TEXT_OFFSET_MIN,
        rodata: &rodata,
        entry_pc: layout.functions.get(&entry).map_or(0, |it| it.start),
        syscalls: &syscalls,
        symbols: &symbols,
        debug: &debug,
        strip,
    };
    let mut elf = write::write(&whole);
    check_stack(program, &layout, &elf, &mut errors);
    errors.check()?;
    let mut debug_elf = None;
    let is_too_long = |&(name, _): &(&str, Vec<u8>)| name.len() > LOADER_NAME_BYTES_MAX;
    if !options.version.strict_elf() && debug.iter().any(is_too_long) {
        let loadable = write::write(&Image { debug: &[], ..whole });
        debug_elf = Some(core::mem::replace(&mut elf, loadable));
    }
    let description = Description { program, live: &live, folded: &folded, layout: &layout };
    Ok(Linked { debug_elf, ..description.of(elf) })
}

fn legalise_all(
    program: &Program<'_>,
    live: &Live,
    options: &Options,
    errors: &mut Errors,
) -> BTreeMap<AtomId, Legal> {
    let mut legal = BTreeMap::new();
    for (&atom, items) in &live.functions {
        if program.version(atom).is_some() {
            legal.insert(atom, identity(items));
            continue;
        }
        match legalise(items, options.version) {
            Ok(it) => _ = legal.insert(atom, it),
            Err((slot, Inexpressible { message, help })) => {
                let start = match program.atoms[atom.0].body {
                    Body::Part { start, .. } => start,
                    _ => 0,
                };
                let offset = start + u64::from(slot) * 8;
                let error = LinkError::new(message).help(help).offset(offset);
                errors.push(program.attribute(atom, error).symbol(program.atoms[atom.0].name));
            }
        }
    }
    legal
}

/// Checks that writable variables start as zeros, and that the options allow them.
fn check_statics(program: &mut Program<'_>, live: &Live, options: &Options, errors: &mut Errors) {
    for (&atom, pointers) in &live.data {
        if program.atoms[atom.0].kind == SectionKind::ReadOnly {
            continue;
        }
        let (reason, help, offset) = match first_initialized(program, atom, pointers) {
            Some(offset) => (
                "has a nonzero initial value",
                "make it `const`, or set it where the program starts: the loader has no writable \
                 data segment",
                offset as u64,
            ),
            None if options.statics == Statics::Refuse => {
                ("would be placed in the heap", "allow statics, or use the stack or an account", 0)
            }
            None => continue,
        };
        let name = program.variable(Location { atom, offset: offset.cast_signed() });
        let mut message =
            format!("the writable variable `{}` {reason}", selkie_inspect::demangle(name));
        if let Some(&(user, location)) = program.users.get(&atom) {
            let user = selkie_inspect::demangle(program.atoms[user.0].name);
            // Without -fdata-sections all variables of a file are in one atom.
            message += &match program.variable(location) {
                used if used == name => format!("; `{user}` uses it"),
                used => format!("; `{user}` uses `{used}` of the same section"),
            };
        }
        errors.push(program.attribute(atom, LinkError::new(message).help(help)));
    }
}

/// Returns the offset of the first byte of a data atom that is not 0 or belongs to a pointer.
fn first_initialized(program: &Program<'_>, atom: AtomId, pointers: &[Pointer]) -> Option<usize> {
    let data = match program.atoms[atom.0].body {
        Body::Part { object, section, .. } => program.objects[object].sections[section].data,
        _ => &[],
    };
    let nonzero = data.iter().position(|&byte| byte != 0);
    let pointer = pointers.first().and_then(|it| usize::try_from(it.offset).ok());
    [nonzero, pointer].into_iter().flatten().min()
}

/// Returns whether a stack frame is too large.
fn exceeds(layout: &Layout) -> bool {
    layout.functions.values().any(|it| it.legal.stack > it.legal.frames * STACK_FRAME_BYTES)
}

/// Reports stack frames that are too large, with the source line of the instruction that uses the
/// lowest byte.
fn check_stack(program: &Program<'_>, layout: &Layout, elf: &[u8], errors: &mut Errors) {
    if !exceeds(layout) {
        return;
    }
    let source = selkie_inspect::SourceMap::load(elf);
    for (&atom, placed) in &layout.functions {
        let bytes = placed.legal.stack;
        if bytes <= placed.legal.frames * STACK_FRAME_BYTES {
            continue;
        }
        let excess = bytes - STACK_FRAME_BYTES;
        let message = format!(
            "Stack offset of -{bytes} exceeded max offset of -{STACK_FRAME_BYTES} by {excess} \
             bytes, please minimize large stack variables"
        );
        let name = program.atoms[atom.0].name;
        let is_compiled = program.version(atom).is_none();
        let help = match is_compiled && layout.version.stack_frame_gaps() {
            true => LARGE_FRAME_WITH_GAPS,
            false => LARGE_FRAME,
        };
        let mut error = LinkError::new(message).symbol(name).help(help).large_frame();
        let pc = placed.legal.deepest.and_then(|slot| placed.slot(slot)).unwrap_or(placed.start);
        // Where a library's code is inlined, the user's call of it.
        let own = source.own_line_at(pc).or_else(|| source.own_line_at(placed.start));
        error.source = own.or_else(|| source.line_at(pc)).map(|it| it.to_string());
        error.kept_by = program.users_of(atom);
        errors.push(program.attribute(atom, error));
    }
}
