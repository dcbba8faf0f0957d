//! The loop of a server, the phases of its session, and the table of requests.

use selkie_isa::failure::Failure;
use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, BufRead, Write},
};

use serde_json::{Value, json};

use super::{
    arguments::{Initialize, LaunchArguments, read},
    message::{self, Outlet, Request},
};
use crate::{
    breakpoint::BreakpointId,
    session::{Session, Shown},
};

/// What a server needs of the process that it runs in.
pub trait Surroundings {
    /// Opens the run that an editor asks for.
    ///
    /// # Errors
    /// The reason for the user: place, cause and next step.
    fn open(&mut self, arguments: &LaunchArguments) -> Result<Session, Failure>;

    /// Returns the path under which the editor can open a source file, if the file is there.
    fn find_source(&self, path: &str) -> Option<String>;
}

/// How a conversation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The editor disconnected.
    Orderly,
    /// The input ended before.
    Abrupt,
}

/// Answers requests until the editor disconnects.
///
/// # Errors
/// If a message cannot be read or written, or is none of the protocol.
pub fn serve(
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    surroundings: Box<dyn Surroundings>,
) -> io::Result<Ended> {
    let mut outlet = Outlet::new(output);
    let mut server = Server::new(surroundings);
    while let Some(body) = message::read(input)? {
        let request: Request = match serde_json::from_slice(&body) {
            Ok(request) => request,
            Err(error) => {
                let text = format!("a message is no request: {error}\n");
                outlet.event("output", json!({ "category": "console", "output": text }))?;
                continue;
            }
        };
        if request.kind == "response" {
            continue;
        }
        let result = server.answer(&request);
        outlet.respond(&request, result)?;
        while let Some((event, body)) = server.events.pop_front() {
            outlet.event(event, body)?;
        }
        if matches!(request.command.as_str(), "disconnect") {
            return Ok(Ended::Orderly);
        }
    }
    Ok(Ended::Abrupt)
}

/// What a reference to variables stands for, until the session moves.
#[derive(Clone, Debug)]
pub(super) enum Handle {
    Locals(usize),
    Registers(usize),
    /// The run: position, compute units, result.
    Run,
    /// The accounts of the transaction.
    Accounts,
    /// The parts of a value in a frame.
    Parts(usize, Box<Shown>),
}

pub(super) struct Server {
    surroundings: Box<dyn Surroundings>,
    pub(super) client: Initialize,
    launch: LaunchArguments,
    pub(super) session: Option<Session>,
    is_started: bool,
    pub(super) handles: Vec<Handle>,
    /// The breakpoints of each source file and of each other request that sets some.
    pub(super) groups: BTreeMap<String, Vec<BreakpointId>>,
    /// Positions that `gotoTargets` has found.
    pub(super) targets: Vec<u64>,
    /// The position up to which logs are shown.
    pub(super) shown: u64,
    /// Events to be sent after the response.
    events: VecDeque<(&'static str, Value)>,
}

/// The result of a request: a body, or the reason why there is none.
pub(super) type Answer = Result<Value, Failure>;

type Handler = fn(&mut Server, &Value) -> Answer;

/// The requests, by command.
const REQUESTS: &[(&str, Handler)] = &[
    ("initialize", Server::initialize),
    ("launch", Server::launch),
    ("attach", Server::launch),
    ("configurationDone", Server::configuration_done),
    ("restart", Server::restart),
    ("disconnect", |_, _| Ok(Value::Null)),
    ("terminate", Server::terminate),
    ("cancel", |_, _| Ok(Value::Null)),
    ("setBreakpoints", Server::set_breakpoints),
    ("setFunctionBreakpoints", Server::set_function_breakpoints),
    ("setInstructionBreakpoints", Server::set_instruction_breakpoints),
    ("setDataBreakpoints", Server::set_data_breakpoints),
    ("setExceptionBreakpoints", Server::set_exception_breakpoints),
    ("dataBreakpointInfo", Server::data_breakpoint_info),
    ("breakpointLocations", Server::breakpoint_locations),
    ("exceptionInfo", Server::exception_info),
    ("continue", Server::resume),
    ("reverseContinue", Server::reverse_continue),
    ("next", Server::next),
    ("stepIn", Server::step_in),
    ("stepInTargets", Server::step_in_targets),
    ("stepOut", Server::step_out),
    ("stepBack", Server::step_back),
    ("pause", Server::pause),
    ("gotoTargets", Server::goto_targets),
    ("goto", Server::goto),
    ("threads", |_, _| Ok(json!({ "threads": [{ "id": 1, "name": "transaction" }] }))),
    ("stackTrace", Server::stack_trace),
    ("scopes", Server::scopes),
    ("variables", Server::variables),
    ("evaluate", Server::evaluate),
    ("completions", Server::completions),
    ("setVariable", Server::set_variable),
    ("setExpression", Server::set_expression),
    ("readMemory", Server::read_memory),
    ("writeMemory", Server::write_memory),
    ("disassemble", Server::disassemble),
    ("source", Server::source),
    ("loadedSources", Server::loaded_sources),
    ("modules", Server::modules),
];

/// What the server can do beyond the minimum.
const CAPABILITIES: &[&str] = &[
    "supportsConfigurationDoneRequest",
    "supportsFunctionBreakpoints",
    "supportsConditionalBreakpoints",
    "supportsHitConditionalBreakpoints",
    "supportsEvaluateForHovers",
    "supportsStepBack",
    "supportsSetVariable",
    "supportsSetExpression",
    "supportsGotoTargetsRequest",
    "supportsCompletionsRequest",
    "supportsModulesRequest",
    "supportsRestartRequest",
    "supportsExceptionFilterOptions",
    "supportsExceptionInfoRequest",
    "supportsValueFormattingOptions",
    "supportsDelayedStackTraceLoading",
    "supportsLoadedSourcesRequest",
    "supportsLogPoints",
    "supportsTerminateRequest",
    "supportsDataBreakpoints",
    "supportsDataBreakpointBytes",
    "supportsReadMemoryRequest",
    "supportsWriteMemoryRequest",
    "supportsDisassembleRequest",
    "supportsCancelRequest",
    "supportsBreakpointLocationsRequest",
    "supportsSteppingGranularity",
    "supportsStepInTargetsRequest",
    "supportsInstructionBreakpoints",
];

impl Server {
    fn new(surroundings: Box<dyn Surroundings>) -> Self {
        Self {
            surroundings,
            client: Initialize::default(),
            launch: LaunchArguments::default(),
            session: None,
            is_started: false,
            handles: Vec::new(),
            groups: BTreeMap::new(),
            targets: Vec::new(),
            shown: 0,
            events: VecDeque::new(),
        }
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let handler = REQUESTS.iter().find(|(command, _)| *command == request.command);
        match handler {
            Some((_, handler)) => handler(self, &request.arguments),
            None => Err(format!("the request `{}` is not supported", request.command).into()),
        }
    }

    /// Sends an event after the response.
    pub(super) fn event(&mut self, event: &'static str, body: Value) {
        self.events.push_back((event, body));
    }

    /// Shows a text in the editor's console.
    pub(super) fn output(&mut self, category: &str, text: &str) {
        self.event("output", json!({ "category": category, "output": format!("{text}\n") }));
    }

    pub(super) fn session(&mut self) -> Result<&mut Session, Failure> {
        self.session
            .as_mut()
            .ok_or_else(|| Failure::new("there is no run yet: send `launch` first"))
    }

    pub(super) fn find_source(&self, path: &str) -> Option<String> {
        self.surroundings.find_source(path)
    }

    fn initialize(&mut self, arguments: &Value) -> Answer {
        self.client = read(arguments)?;
        let capabilities = CAPABILITIES.iter().map(|&name| (name.to_owned(), true.into()));
        let mut body = Value::Object(capabilities.collect());
        body["exceptionBreakpointFilters"] = json!([
            { "filter": "trap", "label": "Traps", "default": true,
              "description": "A program is ended by the machine: an access violation, no compute units" },
            { "filter": "error", "label": "Program errors", "default": true,
              "description": "A program returns an error" },
            { "filter": "log", "label": "Logs that contain …", "supportsCondition": true,
              "conditionDescription": "a part of the log line" },
            { "filter": "account", "label": "Changes of the account …", "supportsCondition": true,
              "conditionDescription": "an address, or its beginning" },
            { "filter": "units", "label": "Fewer compute units than …", "supportsCondition": true,
              "conditionDescription": "a number of compute units" },
        ]);
        Ok(body)
    }

    fn launch(&mut self, arguments: &Value) -> Answer {
        self.launch = read(arguments)?;
        let mut session = self.surroundings.open(&self.launch)?;
        session.step_into_libraries(self.launch.step_into_libraries);
        let refusals: Vec<String> = session.refusals().map(|(name, why)| why.of(name)).collect();
        refusals.iter().for_each(|text| self.output("console", text));
        self.session = Some(session);
        self.is_started = false;
        self.event("initialized", Value::Null);
        Ok(Value::Null)
    }

    fn configuration_done(&mut self, _: &Value) -> Answer {
        if !self.is_started {
            self.is_started = true;
            self.start()?;
        }
        Ok(Value::Null)
    }

    fn restart(&mut self, _: &Value) -> Answer {
        self.start()?;
        Ok(Value::Null)
    }

    /// Goes to where the session begins, and on to the first breakpoint unless it stops there.
    fn start(&mut self) -> Result<(), Failure> {
        let launch = self.launch.clone();
        let session = self.session()?;
        let is_start = session.begin(launch.start_at);
        let goes_on = is_start && !launch.stop_on_entry;
        if goes_on {
            // A breakpoint may be before the first own line, or there.
            session.go_to(0);
        }
        self.shown = 0;
        match goes_on {
            true => self.resume(&Value::Null).map(|_| ()),
            false => self.stopped(),
        }
    }

    fn terminate(&mut self, _: &Value) -> Answer {
        self.event("terminated", Value::Null);
        Ok(Value::Null)
    }
}
