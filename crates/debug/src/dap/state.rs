//! Requests about the present moment: frames, variables, expressions, memory.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_isa::failure::Failure;
use serde_json::{Value, json};

use super::{
    arguments::{
        Completions, Evaluate, Memory, Scopes, SetExpression, SetVariable, StackTrace, Variables,
        read,
    },
    code::{CodeAddress, DataAddress},
    server::{Answer, Handle, Server},
};
use crate::{
    session::{Frame, Reply, Shown, Word},
    value::Value as ProgramValue,
};

/// Why a reference stands for nothing.
const MOVED: &str = "the session has moved since the variables were listed";

/// The references to variables of one moment.
const HANDLES_MAX: usize = 1 << 20;

/// The parts of a value that are listed if the editor does not say how many.
const PARTS_MAX: u64 = 200;

impl Server {
    pub(super) fn stack_trace(&mut self, arguments: &Value) -> Answer {
        let arguments: StackTrace = read(arguments)?;
        let session = self.session()?;
        let frames = session.frames();
        let (is_at_end, result) = (session.is_at_end(), session.result().to_owned());
        if is_at_end {
            let frame = json!({
                "id": 1, "name": format!("end of the run: {result}"), "line": 0, "column": 0,
            });
            return Ok(json!({ "stackFrames": [frame], "totalFrames": 1 }));
        }
        let levels = if arguments.levels == 0 { usize::MAX } else { arguments.levels };
        // Editors open the first frame, which is the user's own: calls of libraries, inlined into it, come
        // in view with steps by instruction, and with `stepIntoLibraries`.
        let first = session.selected_frame();
        let folded = frames.iter().enumerate().skip(first);
        let shown = folded.skip(arguments.start_frame).take(levels);
        let shown: Vec<Value> = shown.map(|(index, frame)| self.frame(index, frame)).collect();
        Ok(json!({ "stackFrames": shown, "totalFrames": frames.len().saturating_sub(first) }))
    }

    fn frame(&self, index: usize, frame: &Frame) -> Value {
        let &Frame { program, pc, .. } = frame;
        let mut answer = json!({
            "id": index + 1,
            "name": frame.name,
            "instructionPointerReference": CodeAddress { program, pc }.to_string(),
            "moduleId": program,
            "line": 0,
            "column": 0,
        });
        match &frame.location {
            Some(location) => {
                let source = self.source_of(&location.file, program);
                // In a listing, the line is the instruction's.
                let is_here = source["path"].is_string();
                let line = if is_here { location.line } else { pc.saturating_add(1) };
                answer["line"] = self.editor_line(line).into();
                answer["column"] = location.column.unwrap_or(1).into();
                answer["source"] = source;
            }
            None => {
                answer["source"] = self.source_of("listing", program);
                answer["line"] = self.editor_line(pc.saturating_add(1)).into();
            }
        }
        if frame.location.is_some() && !frame.is_own {
            answer["presentationHint"] = "subtle".into();
        }
        answer
    }

    /// Returns the index of a frame by the number that editors know.
    pub(super) fn frame_index(&self, id: Option<u64>) -> usize {
        match id {
            Some(id) => usize::try_from(id.saturating_sub(1)).unwrap_or(usize::MAX),
            None => self.session.as_ref().map_or(0, |it| it.selected_frame()),
        }
    }

    fn handle(&mut self, handle: Handle) -> usize {
        if self.handles.len() < HANDLES_MAX {
            self.handles.push(handle);
        }
        self.handles.len()
    }

    pub(super) fn scopes(&mut self, arguments: &Value) -> Answer {
        let arguments: Scopes = read(arguments)?;
        let frame = self.frame_index(Some(arguments.frame_id));
        let locals = self.handle(Handle::Locals(frame));
        let registers = self.handle(Handle::Registers(frame));
        let run = self.handle(Handle::Run);
        let accounts = self.handle(Handle::Accounts);
        Ok(json!({ "scopes": [
            { "name": "Variables", "presentationHint": "locals",
              "variablesReference": locals, "expensive": false },
            { "name": "Registers", "presentationHint": "registers",
              "variablesReference": registers, "expensive": false },
            { "name": "Run", "variablesReference": run, "expensive": false },
            { "name": "Accounts", "variablesReference": accounts, "expensive": false },
        ] }))
    }

    pub(super) fn variables(&mut self, arguments: &Value) -> Answer {
        let arguments: Variables = read(arguments)?;
        let reference = arguments.variables_reference;
        let (frame, shown) = self.listed(reference, arguments.start, arguments.count)?;
        let shown: Vec<Value> = shown.into_iter().map(|it| self.variable(frame, it)).collect();
        Ok(json!({ "variables": shown }))
    }

    /// Returns what a reference stands for, and its frame.
    pub(super) fn listed(
        &mut self,
        reference: u64,
        start: u64,
        count: u64,
    ) -> Result<(usize, Vec<Shown>), Failure> {
        let index = usize::try_from(reference).ok().and_then(|it| it.checked_sub(1));
        let handle = index.and_then(|it| self.handles.get(it)).cloned();
        let handle = handle.ok_or(MOVED)?;
        let session = self.session()?;
        let count = if count == 0 { PARTS_MAX } else { count };
        Ok(match handle {
            Handle::Locals(frame) => (frame, session.locals(frame)),
            Handle::Registers(frame) => {
                let registers = session.registers(frame);
                (frame, registers.into_iter().map(register).collect())
            }
            Handle::Run => (0, session.run_facts()),
            Handle::Accounts => (0, session.accounts()),
            Handle::Parts(frame, shown) => {
                let parts = session.children(frame, &shown.value, start, count);
                (frame, parts)
            }
        })
    }

    /// Describes a value, with a reference to its parts if it has any.
    fn variable(&mut self, frame: usize, shown: Shown) -> Value {
        let mut answer = json!({
            "name": shown.name,
            "value": shown.text,
            "type": shown.type_name,
            "variablesReference": 0,
        });
        if let Some(address) = shown.value.address() {
            answer["memoryReference"] = self.data_address(frame, address).to_string().into();
        }
        if shown.children > 0 {
            if shown.children > PARTS_MAX {
                answer["indexedVariables"] = shown.children.min(i32::MAX as u64).into();
            }
            let reference = self.handle(Handle::Parts(frame, Box::new(shown)));
            answer["variablesReference"] = reference.into();
        }
        answer
    }

    pub(super) fn evaluate(&mut self, arguments: &Value) -> Answer {
        let arguments: Evaluate = read(arguments)?;
        let frame = self.frame_index(arguments.frame_id);
        let is_typed = !matches!(arguments.context.as_deref(), Some("hover" | "watch"));
        if let Some(word) = Word::parse(&arguments.expression).filter(|_| is_typed) {
            let reply = self.session()?.say(frame, &word).map_err(|error| error.to_string())?;
            let text = match reply {
                Reply::Text(text) => text,
                Reply::Moved(text) => {
                    self.stopped()?;
                    text
                }
            };
            return Ok(json!({ "result": text, "variablesReference": 0 }));
        }
        let mut source = arguments.expression;
        if arguments.format.hex {
            source.push_str(", x");
        }
        let shown = self.session()?.evaluate(frame, &source);
        let shown = shown.map_err(|error| match is_typed {
            true => error.explain(&source),
            false => error.message,
        })?;
        let mut answer = self.variable(frame, shown);
        let fields = answer.as_object_mut().expect("it was made as an object");
        fields.remove("name");
        let text = fields.remove("value").unwrap_or_default();
        fields.insert("result".to_owned(), text);
        Ok(answer)
    }

    pub(super) fn set_variable(&mut self, arguments: &Value) -> Answer {
        let arguments: SetVariable = read(arguments)?;
        let reference = usize::try_from(arguments.variables_reference).unwrap_or(0);
        let handle = reference.checked_sub(1).and_then(|it| self.handles.get(it)).cloned();
        match handle {
            Some(Handle::Locals(frame)) => self.assign(frame, &arguments.name, &arguments.value),
            Some(Handle::Registers(frame)) => {
                self.assign(frame, &format!("${}", arguments.name), &arguments.value)
            }
            None => Err(MOVED.to_owned().into()),
            Some(_) => Err("parts of values are set as expressions, as `pool.total = 5`".into()),
        }
    }

    pub(super) fn set_expression(&mut self, arguments: &Value) -> Answer {
        let arguments: SetExpression = read(arguments)?;
        let frame = self.frame_index(arguments.frame_id);
        self.assign(frame, &arguments.expression, &arguments.value)
    }

    fn assign(&mut self, frame: usize, target: &str, source: &str) -> Answer {
        let session = self.session()?;
        session.assign(frame, target, source).map_err(|error| error.message)?;
        let shown = session.evaluate(frame, target).map_err(|error| error.message)?;
        self.event("invalidated", json!({ "areas": ["variables"] }));
        Ok(json!({ "value": shown.text }))
    }

    pub(super) fn write_memory(&mut self, arguments: &Value) -> Answer {
        let arguments: Memory = read(arguments)?;
        let (frame, address) = self.place_of(&arguments)?;
        let bytes = BASE64_STANDARD.decode(&arguments.data).map_err(|error| error.to_string())?;
        self.session()?.write_memory(frame, address.number, &bytes)?;
        self.event("invalidated", json!({ "areas": ["variables"] }));
        Ok(json!({ "bytesWritten": bytes.len() }))
    }

    pub(super) fn completions(&mut self, arguments: &Value) -> Answer {
        let arguments: Completions = read(arguments)?;
        let frame = self.frame_index(arguments.frame_id);
        let column = arguments.column.saturating_sub(usize::from(self.client.columns_start_at_1));
        let typed: String = arguments.text.chars().take(column).collect();
        let names = self.session()?.completions(frame, &typed);
        let targets: Vec<Value> = names.iter().map(|name| json!({ "label": name })).collect();
        Ok(json!({ "targets": targets }))
    }

    pub(super) fn read_memory(&mut self, arguments: &Value) -> Answer {
        let arguments: Memory = read(arguments)?;
        let (frame, address) = self.place_of(&arguments)?;
        let bytes = self.session()?.memory(frame, address.number, arguments.count);
        Ok(json!({
            "address": format!("{:#x}", address.number),
            "unreadableBytes": arguments.count - bytes.len(),
            "data": BASE64_STANDARD.encode(bytes),
        }))
    }
}

impl Server {
    /// Returns the address of a frame's data as editors know it.
    fn data_address(&mut self, frame: usize, number: u64) -> DataAddress {
        let session = self.session().ok();
        let ids = session.map(|it| (it.frame_id(0).instruction, it.frame_id(frame).instruction));
        let instruction = ids.filter(|(running, its)| running != its).map(|(_, its)| its);
        DataAddress { number, instruction }
    }

    /// Returns the frame in whose program an address is, and the address.
    fn place_of(&mut self, arguments: &Memory) -> Result<(usize, DataAddress), Failure> {
        let reference = &arguments.memory_reference;
        let address = DataAddress::parse(reference, arguments.offset);
        let address = address.ok_or_else(|| format!("no address {reference}"))?;
        let session = self.session()?;
        let frame = match address.instruction {
            Some(instruction) => session.frame_of_instruction(instruction),
            None => Some(0),
        };
        let ended = || {
            format!(
                "the instruction that has {reference} is not in progress: go back to where it is"
            )
        };
        Ok((frame.ok_or_else(ended)?, address))
    }
}

fn register((name, value): (String, u64)) -> Shown {
    Shown {
        name,
        type_name: "u64".to_owned(),
        text: format!("{value:#x}"),
        children: 0,
        is_parameter: false,
        value: ProgramValue::word(value),
    }
}
