//! The message loop. Requests are answered in order, those that were cancelled are not worked on, and
//! after several changes in a row only the last text is assembled.

mod capabilities;
mod requests;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    sync::mpsc,
    thread,
};

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    Diagnostic, InitializeParams, InitializeResult, PublishDiagnosticsParams, ServerInfo, Uri,
    notification::{
        Cancel, DidChangeConfiguration, DidChangeTextDocument, DidCloseTextDocument,
        DidOpenTextDocument, Exit, Notification as _, PublishDiagnostics,
    },
    request::{self, Initialize, Request as _, Shutdown},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Ended, Settings, documents::Documents, text::Encoding};

/// Why a request has no result.
#[derive(Debug)]
struct Failure {
    code: ErrorCode,
    message: String,
}

impl Failure {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

type Answer<T> = Result<T, Failure>;

/// The phase of the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Before `initialize`.
    New,
    Running,
    /// After `shutdown`.
    Closing,
}

/// The configuration that a client may send when it initializes, or later.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Configuration {
    arch: Option<String>,
    include: Option<Vec<std::path::PathBuf>>,
    defines: Option<BTreeMap<String, i64>>,
}

struct Server {
    connection: mpsc::Receiver<Message>,
    sender: Box<dyn Fn(Message) -> bool>,
    settings: Settings,
    encoding: Encoding,
    phase: Phase,
    documents: Documents,
    /// Documents whose diagnostics may have changed.
    stale: BTreeSet<Uri>,
    published: BTreeMap<Uri, Vec<Diagnostic>>,
}

pub(crate) fn run(connection: Connection, settings: Settings) -> Ended {
    // Messages are queued as they arrive, so that cancellations are seen early.
    let (forward, receiver) = mpsc::channel();
    let Connection { sender, receiver: incoming } = connection;
    thread::spawn(move || incoming.into_iter().try_for_each(|message| forward.send(message)));
    let mut server = Server {
        connection: receiver,
        sender: Box::new(move |message| sender.send(message).is_ok()),
        settings,
        encoding: Encoding::default(),
        phase: Phase::New,
        documents: Documents::default(),
        stale: BTreeSet::new(),
        published: BTreeMap::new(),
    };
    server.run()
}

impl Server {
    fn run(&mut self) -> Ended {
        let mut waiting: VecDeque<Message> = VecDeque::new();
        loop {
            waiting.extend(self.connection.try_iter());
            if waiting.is_empty() {
                self.publish();
            }
            let message = match waiting.pop_front() {
                Some(message) => message,
                None => match self.connection.recv() {
                    Ok(message) => message,
                    Err(mpsc::RecvError) => return Ended::Abrupt,
                },
            };
            match message {
                Message::Request(request) => {
                    waiting.extend(self.connection.try_iter());
                    let response = if is_cancelled(&request.id, &waiting) {
                        fail(request.id, Failure::new(ErrorCode::RequestCanceled, "cancelled"))
                    } else {
                        self.request(request)
                    };
                    if !(self.sender)(response.into()) {
                        return Ended::Abrupt;
                    }
                }
                Message::Notification(it) if it.method == Exit::METHOD => {
                    let orderly = self.phase == Phase::Closing;
                    return if orderly { Ended::Orderly } else { Ended::Abrupt };
                }
                Message::Notification(it) => self.notification(it),
                Message::Response(_) => {}
            }
        }
    }

    fn request(&mut self, request: Request) -> Response {
        match (self.phase, request.method.as_str()) {
            (Phase::New, Initialize::METHOD) => {
                self.answer::<Initialize>(request, Self::initialize)
            }
            (Phase::New, _) => {
                let message = "the first request must be `initialize`";
                fail(request.id, Failure::new(ErrorCode::ServerNotInitialized, message))
            }
            (Phase::Closing, _) | (Phase::Running, Initialize::METHOD) => fail(
                request.id,
                Failure::new(
                    ErrorCode::InvalidRequest,
                    "the request is not valid in this phase of the session",
                ),
            ),
            (Phase::Running, Shutdown::METHOD) => {
                self.phase = Phase::Closing;
                Response::new_ok(request.id, Value::Null)
            }
            (Phase::Running, _) => self.document_request(request),
        }
    }

    fn answer<R>(
        &mut self,
        request: Request,
        answer: impl FnOnce(&mut Self, R::Params) -> Answer<R::Result>,
    ) -> Response
    where
        R: request::Request,
        R::Params: DeserializeOwned,
        R::Result: serde::Serialize,
    {
        let params = serde_json::from_value(request.params)
            .map_err(|error| Failure::new(ErrorCode::InvalidParams, error.to_string()));
        let result = params.and_then(|params| answer(self, params)).and_then(|result| {
            serde_json::to_value(result)
                .map_err(|error| Failure::new(ErrorCode::InternalError, error.to_string()))
        });
        match result {
            Ok(result) => Response::new_ok(request.id, result),
            Err(failure) => fail(request.id, failure),
        }
    }

    fn notification(&mut self, notification: Notification) {
        if self.phase != Phase::Running {
            return;
        }
        // There is no response to a notification: one that cannot be read is ignored.
        let Notification { method, params } = notification;
        match method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Some(it) = read::<DidOpenTextDocument>(params) {
                    let it = it.text_document;
                    self.documents.open(it.uri, it.version, &it.text, self.encoding);
                    self.invalidate_all();
                }
            }
            DidChangeTextDocument::METHOD => {
                if let Some(it) = read::<DidChangeTextDocument>(params) {
                    let (uri, version) = (it.text_document.uri, it.text_document.version);
                    self.documents.change(&uri, version, it.content_changes, self.encoding);
                    self.invalidate(&uri);
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Some(it) = read::<DidCloseTextDocument>(params) {
                    self.documents.close(&it.text_document.uri);
                    self.invalidate_all();
                }
            }
            DidChangeConfiguration::METHOD => {
                if let Some(it) = read::<DidChangeConfiguration>(params) {
                    let settings = it.settings.get("selkie").cloned().unwrap_or(it.settings);
                    self.configure(settings);
                    self.invalidate_all();
                }
            }
            _ => {}
        }
    }

    fn initialize(&mut self, params: InitializeParams) -> Answer<InitializeResult> {
        let offered = params.capabilities.general.and_then(|it| it.position_encodings);
        self.encoding = Encoding::negotiate(&offered.unwrap_or_default());
        if let Some(options) = params.initialization_options {
            self.configure(options);
        }
        self.phase = Phase::Running;
        Ok(InitializeResult {
            capabilities: capabilities::capabilities(self.encoding),
            server_info: Some(ServerInfo {
                name: "selkie".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    /// Applies a configuration. Settings that are missing or invalid keep their values.
    fn configure(&mut self, options: Value) {
        let Ok(found) = serde_json::from_value::<Configuration>(options) else { return };
        if let Some(version) = found.arch.and_then(|it| it.parse().ok()) {
            self.settings.version = version;
        }
        if let Some(include) = found.include {
            self.settings.include_paths = include;
        }
        if let Some(defines) = found.defines {
            self.settings.defines = defines.into_iter().collect();
        }
    }

    /// Invalidates the analyses of a document that changed, and of those that include it.
    fn invalidate(&mut self, uri: &Uri) {
        let Some(document) = self.documents.get(uri) else { return };
        let source = Rc::clone(&document.source);
        let includers = self.documents.includers(&source, &self.settings, self.encoding);
        let mut stale: Vec<Uri> = includers.iter().map(|it| it.source.uri.clone()).collect();
        stale.push(uri.clone());
        stale.iter().for_each(|it| self.documents.invalidate_analysis(it));
        self.stale.extend(stale);
    }

    fn invalidate_all(&mut self) {
        self.documents.invalidate_analyses();
        self.stale.extend(self.documents.iter().map(|it| it.source.uri.clone()));
        // Diagnostics of closed documents must be cleared.
        self.stale.extend(self.published.keys().cloned());
    }

    /// Publishes the diagnostics that changed.
    fn publish(&mut self) {
        if self.stale.is_empty() {
            return;
        }
        let mut found: BTreeMap<Uri, Vec<Diagnostic>> = BTreeMap::new();
        for document in self.documents.iter() {
            let source = &document.source;
            // A document that others include is analysed with them.
            if !self.documents.includers(source, &self.settings, self.encoding).is_empty() {
                continue;
            }
            found.entry(source.uri.clone()).or_default();
            for it in &self.documents.analysis(document, &self.settings).diagnostics {
                found.entry(it.uri.clone()).or_default().push(it.diagnostic.clone());
            }
        }
        let gone = self.published.keys().filter(|uri| !found.contains_key(*uri)).cloned();
        let gone: Vec<Uri> = gone.collect();
        found.extend(gone.into_iter().map(|uri| (uri, Vec::new())));
        for (uri, diagnostics) in &found {
            if self.stale.contains(uri) || self.published.get(uri) != Some(diagnostics) {
                self.publish_diagnostics(uri.clone(), diagnostics.clone());
            }
        }
        found.retain(|uri, list| !list.is_empty() || self.documents.get(uri).is_some());
        self.published = found;
        self.stale.clear();
    }

    fn publish_diagnostics(&self, uri: Uri, diagnostics: Vec<Diagnostic>) {
        let version = self.documents.get(&uri).map(|it| it.version);
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        let message = Notification::new(PublishDiagnostics::METHOD.to_owned(), params);
        // If the client is gone, the loop ends soon.
        let _ = (self.sender)(message.into());
    }
}

fn fail(id: RequestId, Failure { code, message }: Failure) -> Response {
    Response::new_err(id, code as i32, message)
}

fn read<N: lsp_types::notification::Notification>(params: Value) -> Option<N::Params> {
    serde_json::from_value(params).ok()
}

/// Whether a message that waits cancels the request.
fn is_cancelled(id: &RequestId, waiting: &VecDeque<Message>) -> bool {
    waiting.iter().any(|message| match message {
        Message::Notification(it) if it.method == Cancel::METHOD => {
            let cancelled = it.params.get("id").cloned();
            cancelled.and_then(|it| serde_json::from_value(it).ok()).as_ref() == Some(id)
        }
        _ => false,
    })
}
