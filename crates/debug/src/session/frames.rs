//! Frames, variables and values of the present moment.

use selkie_inspect::Location;

use super::{Model, Session};
use crate::{
    expr::{Expr, ExprError, Operand, Operands},
    history::{Activation, ActivationGuest, FrameId, Moment},
    info::{Scope, Variable},
    value::{Contents, Format, Value, View},
};

/// The frames that are listed.
const FRAMES_MAX: usize = 1024;

/// The bytes of memory that are read at once.
const MEMORY_BYTES_MAX: usize = 1 << 20;

/// A function that was called and has not returned, or an inlined call.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The name of the function.
    pub name: String,
    /// The position in the function, with the path as it is on this machine.
    pub location: Option<Location>,
    /// The position as it is told: with a short path.
    pub place: Option<String>,
    /// The index of the program.
    pub program: usize,
    /// The instruction to be executed, or the call that has not returned.
    pub pc: u32,
    /// The activation that the frame belongs to. Inlined calls belong to that of their function.
    pub frame: FrameId,
    /// Whether it is an inlined call.
    pub is_inlined: bool,
    /// Whether the position is in the user's own code.
    pub is_own: bool,
    /// The index of the activation among those of the moment.
    activation: usize,
    scope: Option<Scope>,
}

/// A value as it is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// Its name, or the expression.
    pub name: String,
    /// The name of its type.
    pub type_name: String,
    /// Its text.
    pub text: String,
    /// How many parts it has.
    pub children: u64,
    /// Whether it is a parameter of the function.
    pub is_parameter: bool,
    /// The value.
    pub value: Value,
}

impl Shown {
    fn new(view: View<'_>, name: &str, value: Value, format: Format) -> Self {
        Self {
            name: name.to_owned(),
            type_name: view.info.type_of(&value.ty).name,
            text: view.text(&value, format),
            children: view.child_count(&value),
            is_parameter: false,
            value,
        }
    }
}

impl Model {
    /// Returns the frames of a moment, the innermost one first.
    pub(crate) fn frames(&self, moment: &dyn Moment) -> Vec<Frame> {
        let activations = moment.activations();
        let frames = activations.iter().enumerate();
        frames.flat_map(|(index, it)| self.frames_of(index, it)).take(FRAMES_MAX).collect()
    }

    /// Returns the name of the function that a moment is in, inlined calls apart.
    pub(crate) fn called(&self, moment: &dyn Moment) -> String {
        let program = self.programs.get(moment.program());
        program.map_or_else(String::new, |it| it.function_at(moment.pc()))
    }

    /// Returns a recorded position as it is told: with the path on this machine if that is another one,
    /// and else with a short path.
    fn told(&self, at: &Location, program: usize) -> String {
        let local = self.paths.local(&at.file);
        let own = self.programs.get(program).map(|it| it.info.own());
        let file = match own {
            Some(own) if local == at.file => own.short(&at.file).into_owned(),
            _ => local,
        };
        Location { file, ..at.clone() }.to_string()
    }

    /// Returns the frames of an activation: its inlined calls, and its function.
    fn frames_of(&self, index: usize, activation: &Activation) -> Vec<Frame> {
        let Activation { frame, program, pc, .. } = *activation;
        let own = self.programs.get(program).map(|it| it.info.own());
        let is_own = |it: &Location| own.is_some_and(|own| own.contains(&it.file));
        let made = |name, location: Option<Location>, scope: Option<Scope>| Frame {
            name,
            is_own: location.as_ref().is_some_and(is_own),
            place: location.as_ref().map(|it| self.told(it, program)),
            location: location.map(|it| Location { file: self.paths.local(&it.file), ..it }),
            program,
            pc,
            frame,
            is_inlined: scope.as_ref().is_some_and(|it| it.is_inlined),
            activation: index,
            scope,
        };
        let Some(of) = self.programs.get(program) else { return Vec::new() };
        let info = &of.info;
        let mut location = info.location(pc);
        let scopes = info.scopes_at(pc);
        if scopes.is_empty() {
            return vec![made(of.function_at(pc), location, None)];
        }
        let frame = |scope: Scope| {
            let here = core::mem::replace(&mut location, scope.call.clone());
            made(scope.function.clone(), here, Some(scope))
        };
        scopes.into_iter().map(frame).collect()
    }

    /// Calls a function with a frame's values and names.
    fn with_frame<R>(
        &self,
        moment: &dyn Moment,
        index: usize,
        look: impl FnOnce(View<'_>, &FrameNames<'_>) -> R,
    ) -> Option<R> {
        let activations = moment.activations();
        let frame = self.frames(moment).into_iter().nth(index)?;
        let activation = activations.get(frame.activation)?;
        let guest = ActivationGuest { moment, activation };
        let info = &self.programs.get(frame.program)?.info;
        let view = View { info, guest: &guest };
        Some(look(view, &FrameNames { view, frame: &frame, units: moment.units_left() }))
    }

    /// Returns the name of the function that returns at a moment, and the value that it returns: in r0, or
    /// at the address that it was given for that. `None` if it has none.
    pub(crate) fn result_of(&self, moment: &dyn Moment, told: Option<u64>) -> Option<String> {
        let index = self.frames(moment).iter().position(|it| !it.is_inlined)?;
        self.with_frame(moment, index, |view, names| {
            let function = names.frame.scope.as_ref()?;
            let ty = view.info.result_type(function.id)?;
            let contents = match view.info.type_of(&ty).size {
                0 => return None,
                size @ 1..=8 => {
                    Contents::number(view.guest.register(0)?.into(), usize::try_from(size).ok()?)
                }
                _ => Contents::Memory(told?),
            };
            let value = Value::new(ty, contents);
            let shown = Shown::new(view, &function.function, value, Format::Natural);
            Some(format!("{} returned {}: {}", shown.name, shown.text, shown.type_name))
        })?
    }

    /// Evaluates a condition in the innermost frame.
    pub(crate) fn is_true(&self, moment: &dyn Moment, expr: &Expr) -> Result<bool, ExprError> {
        let result = self.with_frame(moment, 0, |view, names| expr.is_true(view, names));
        result.unwrap_or(Ok(false))
    }

    /// Evaluates an expression in the innermost frame, to text.
    pub(crate) fn text(&self, moment: &dyn Moment, expr: &Expr) -> String {
        let result = self.with_frame(moment, 0, |view, names| expr.text(view, names));
        match result {
            Some(Ok(text)) => text,
            Some(Err(error)) => format!("<{}>", error.message),
            None => "<no frame>".to_owned(),
        }
    }
}

/// The names that a frame knows: its variables, those outside functions, and `cu`.
struct FrameNames<'a> {
    view: View<'a>,
    frame: &'a Frame,
    units: u64,
}

impl FrameNames<'_> {
    fn locals(&self) -> Vec<Variable> {
        self.frame.scope.as_ref().map_or_else(Vec::new, |it| self.view.info.variables(it))
    }

    fn value(&self, variable: Variable) -> Value {
        let contents = self.view.info.contents(variable.id, self.frame.pc, self.view.guest);
        Value::new(variable.ty, contents)
    }
}

impl Operands for FrameNames<'_> {
    fn variable(&self, name: &str) -> Option<Value> {
        // Of variables with the same name, the innermost one that has a value.
        let named = self.locals().into_iter().filter(|it| it.name == name);
        let mut values: Vec<Value> = named.map(|it| self.value(it)).collect();
        let known = values.iter().position(|it| it.contents != Contents::Absent).unwrap_or(0);
        if known < values.len() {
            return Some(values.swap_remove(known));
        }
        if name == "cu" {
            return Some(Value::word(self.units));
        }
        self.view.info.statics(name).into_iter().next().map(|it| self.value(it))
    }

    fn pc(&self) -> u64 {
        self.frame.pc.into()
    }

    fn known(&self) -> Vec<String> {
        self.locals().into_iter().map(|it| it.name).collect()
    }
}

impl Session {
    /// Returns the frames, the innermost one first. None at the end of the run.
    pub fn frames(&self) -> Vec<Frame> {
        self.now(|model, moment| model.frames(moment)).unwrap_or_default()
    }

    /// Returns the place of a frame among all of the run; at the end that of no instruction.
    #[must_use]
    pub fn frame_id(&self, frame: usize) -> FrameId {
        self.frames().get(frame).map(|it| it.frame).unwrap_or_default()
    }

    /// Returns the innermost frame of an instruction that is in progress.
    #[must_use]
    pub fn frame_of_instruction(&self, instruction: u32) -> Option<usize> {
        self.frames().iter().position(|it| it.frame.instruction == instruction)
    }

    /// Returns the variables of a frame.
    pub fn locals(&self, frame: usize) -> Vec<Shown> {
        self.in_frame(frame, |view, names| {
            let shown = names.locals().into_iter().map(|variable| {
                let (name, is_parameter) = (variable.name.clone(), variable.is_parameter);
                let value = names.value(variable);
                Shown { is_parameter, ..Shown::new(view, &name, value, Format::Natural) }
            });
            shown.collect()
        })
    }

    /// Returns the registers of a frame that are known.
    pub fn registers(&self, frame: usize) -> Vec<(String, u64)> {
        self.in_frame(frame, |view, names| {
            let known = |index: u16| Some((format!("r{index}"), view.guest.register(index)?));
            (0..=10).filter_map(known).chain([("pc".to_owned(), names.pc())]).collect()
        })
    }

    /// Returns parts of a value from the one at `start`.
    pub fn children(&self, frame: usize, value: &Value, start: u64, count: u64) -> Vec<Shown> {
        self.in_frame(frame, |view, _| {
            let parts = view.children(value, start, count).into_iter();
            parts.map(|it| Shown::new(view, &it.name, it.value, Format::Natural)).collect()
        })
    }

    /// Evaluates an expression in a frame.
    ///
    /// # Errors
    /// If the text is no expression, or has no value here.
    pub fn evaluate(&self, frame: usize, source: &str) -> Result<Shown, ExprError> {
        let expr = Expr::parse(source)?;
        let whole = 0..source.len();
        let result = self.now(|model, moment| {
            model.with_frame(moment, frame, |view, names| {
                Ok(match expr.evaluate(view, names)? {
                    Operand::Value(value) => Shown::new(view, source, value, expr.format),
                    Operand::Text(text) => Shown {
                        name: source.to_owned(),
                        type_name: "text".to_owned(),
                        text: format!("{text:?}"),
                        children: 0,
                        is_parameter: false,
                        value: Value::new(Default::default(), Contents::Absent),
                    },
                })
            })
        });
        let nowhere = || Err(ExprError::new(whole, "the program is not running here"));
        result.flatten().unwrap_or_else(nowhere)
    }

    /// Reads memory of a frame's program, up to the first byte that is not there.
    pub fn memory(&self, frame: usize, address: u64, len: usize) -> Vec<u8> {
        let len = len.min(MEMORY_BYTES_MAX);
        self.in_frame(frame, |view, _| {
            let mut bytes = vec![0; len];
            if view.guest.read(address, &mut bytes).is_ok() {
                return bytes;
            }
            // The memory ends somewhere before.
            let is_readable = |len: usize| view.guest.read(address, &mut vec![0; len]).is_ok();
            let (mut known, mut unknown) = (0, len);
            while unknown - known > 1 {
                let middle = usize::midpoint(known, unknown);
                *(if is_readable(middle) { &mut known } else { &mut unknown }) = middle;
            }
            bytes.truncate(known);
            view.guest.read(address, &mut bytes).map_or_else(|_| Vec::new(), |()| bytes)
        })
    }

    /// Calls a function with a frame's values. Gives nothing if there is no such frame.
    fn in_frame<R: Default>(
        &self,
        index: usize,
        mut look: impl FnMut(View<'_>, &FrameNames<'_>) -> R,
    ) -> R {
        let found = self.now(|model, moment| model.with_frame(moment, index, &mut look));
        found.flatten().unwrap_or_default()
    }
}
