//! Messages: what comes is answered in order; what is withdrawn is not worked on, and of many
//! changes in a row only the last text is assembled.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    sync::mpsc,
    thread,
};

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    CodeActionOrCommand, CodeActionProviderCapability, CompletionOptions, CompletionResponse,
    Diagnostic, DocumentSymbolResponse, FoldingRangeProviderCapability, GotoDefinitionResponse,
    HoverProviderCapability, InitializeParams, InitializeResult, OneOf, PublishDiagnosticsParams,
    Range, RenameOptions, SemanticTokens, SemanticTokensFullOptions, SemanticTokensLegend,
    SemanticTokensOptions, SemanticTokensResult, ServerCapabilities, ServerInfo,
    TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind, TextEdit, Uri,
    WorkDoneProgressOptions,
    notification::{
        Cancel, DidChangeConfiguration, DidChangeTextDocument, DidCloseTextDocument,
        DidOpenTextDocument, Exit, Notification as _, PublishDiagnostics,
    },
    request::{
        self, CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest,
        FoldingRangeRequest, Formatting, GotoDefinition, HoverRequest, Initialize,
        InlayHintRequest, PrepareRenameRequest, References, Rename, Request as _,
        SemanticTokensFullRequest, Shutdown,
    },
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Ended, Settings, complete,
    documents::{Document, Documents, Source},
    hints,
    hover::Asked,
    navigate, outline,
    text::Encoding,
};

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

/// A request was understood, and cannot be done, which people are told.
fn refused(message: String) -> Failure {
    Failure::new(ErrorCode::RequestFailed, message)
}

type Answer<T> = Result<T, Failure>;

/// What a client has said of its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing so far.
    New,
    Running,
    /// `shutdown`.
    Closing,
}

/// What editors may say in their initialization options, or as a changed configuration.
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
    /// Documents whose findings may have changed.
    stale: BTreeSet<Uri>,
    published: BTreeMap<Uri, Vec<Diagnostic>>,
}

pub(crate) fn run(connection: Connection, settings: Settings) -> Ended {
    // Messages are taken as they come, so that those that wait can be seen.
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
                let message = "`initialize` comes first";
                fail(request.id, Failure::new(ErrorCode::ServerNotInitialized, message))
            }
            (Phase::Closing, _) | (Phase::Running, Initialize::METHOD) => {
                fail(request.id, Failure::new(ErrorCode::InvalidRequest, "not at this time"))
            }
            (Phase::Running, Shutdown::METHOD) => {
                self.phase = Phase::Closing;
                Response::new_ok(request.id, Value::Null)
            }
            (Phase::Running, _) => self.question(request),
        }
    }

    /// Answers what is asked of a document.
    fn question(&mut self, request: Request) -> Response {
        match request.method.as_str() {
            Completion::METHOD => self.answer::<Completion>(request, |server, params| {
                server.completion(&params.text_document_position)
            }),
            HoverRequest::METHOD => self.answer::<HoverRequest>(request, |server, params| {
                server.hover(&params.text_document_position_params)
            }),
            GotoDefinition::METHOD => self.answer::<GotoDefinition>(request, |server, params| {
                server.definition(&params.text_document_position_params)
            }),
            References::METHOD => self.answer::<References>(request, |server, params| {
                let with_definition = params.context.include_declaration;
                let (document, offset) = server.place(&params.text_document_position)?;
                let unit = server.unit(document);
                let source = &document.source;
                Ok(Some(navigate::references(&unit, source, offset, with_definition)))
            }),
            DocumentHighlightRequest::METHOD => {
                self.answer::<DocumentHighlightRequest>(request, |server, params| {
                    let (document, offset) = server.place(&params.text_document_position_params)?;
                    Ok(Some(navigate::highlights(&document.source, offset)))
                })
            }
            PrepareRenameRequest::METHOD => {
                self.answer::<PrepareRenameRequest>(request, |server, params| {
                    let (document, offset) = server.place(&params)?;
                    let unit = server.unit(document);
                    let prepared = navigate::prepare_rename(&unit, &document.source, offset);
                    prepared.map(Some).map_err(refused)
                })
            }
            Rename::METHOD => self.answer::<Rename>(request, |server, params| {
                let (document, offset) = server.place(&params.text_document_position)?;
                let unit = server.unit(document);
                let edit = navigate::rename(&unit, &document.source, offset, &params.new_name);
                edit.map(Some).map_err(refused)
            }),
            DocumentSymbolRequest::METHOD => {
                self.answer::<DocumentSymbolRequest>(request, |server, params| {
                    let document = server.document(&params.text_document.uri)?;
                    let symbols = outline::symbols(&document.source);
                    Ok(Some(DocumentSymbolResponse::Nested(symbols)))
                })
            }
            FoldingRangeRequest::METHOD => {
                self.answer::<FoldingRangeRequest>(request, |server, params| {
                    let document = server.document(&params.text_document.uri)?;
                    Ok(Some(outline::folds(&document.source)))
                })
            }
            SemanticTokensFullRequest::METHOD => {
                self.answer::<SemanticTokensFullRequest>(request, |server, params| {
                    let document = server.document(&params.text_document.uri)?;
                    let data = outline::tokens(&document.source);
                    let tokens = SemanticTokens { result_id: None, data };
                    Ok(Some(SemanticTokensResult::Tokens(tokens)))
                })
            }
            Formatting::METHOD => self.answer::<Formatting>(request, |server, params| {
                server.formatting(&params.text_document.uri)
            }),
            InlayHintRequest::METHOD => {
                self.answer::<InlayHintRequest>(request, |server, params| {
                    let document = server.document(&params.text_document.uri)?;
                    let source = &document.source;
                    let range = source.offset(params.range.start)..source.offset(params.range.end);
                    let unit = server.unit(document);
                    let analysis = server.documents.analysis(document, &server.settings);
                    Ok(Some(hints::hints(&unit, source, &analysis, range)))
                })
            }
            CodeActionRequest::METHOD => self
                .answer::<CodeActionRequest>(request, |server, params| {
                    server.code_actions(&params.text_document.uri, params.range)
                }),
            method => {
                let message = format!("there is no `{method}` here");
                fail(request.id, Failure::new(ErrorCode::MethodNotFound, message))
            }
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
        // Nobody could be told of what cannot be read here.
        let Notification { method, params } = notification;
        match method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Some(it) = read::<DidOpenTextDocument>(params) {
                    let it = it.text_document;
                    self.documents.open(it.uri, it.version, &it.text, self.encoding);
                    self.doubt_all();
                }
            }
            DidChangeTextDocument::METHOD => {
                if let Some(it) = read::<DidChangeTextDocument>(params) {
                    let (uri, version) = (it.text_document.uri, it.text_document.version);
                    self.documents.change(&uri, version, it.content_changes, self.encoding);
                    self.doubt(&uri);
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Some(it) = read::<DidCloseTextDocument>(params) {
                    self.documents.close(&it.text_document.uri);
                    self.doubt_all();
                }
            }
            DidChangeConfiguration::METHOD => {
                if let Some(it) = read::<DidChangeConfiguration>(params) {
                    let settings = it.settings.get("selkie").cloned().unwrap_or(it.settings);
                    self.configure(settings);
                    self.doubt_all();
                }
            }
            _ => {}
        }
    }

    // Life.

    fn initialize(&mut self, params: InitializeParams) -> Answer<InitializeResult> {
        let offered = params.capabilities.general.and_then(|it| it.position_encodings);
        self.encoding = Encoding::negotiate(&offered.unwrap_or_default());
        if let Some(options) = params.initialization_options {
            self.configure(options);
        }
        self.phase = Phase::Running;
        Ok(InitializeResult {
            capabilities: capabilities(self.encoding),
            server_info: Some(ServerInfo {
                name: "selkie".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    /// Takes over what a client says; what it does not say, or nobody understands, stays.
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

    // Findings.

    /// A document changed: what is known of it, and of those that include it, may be wrong.
    fn doubt(&mut self, uri: &Uri) {
        let Some(document) = self.documents.get(uri) else { return };
        let source = Rc::clone(&document.source);
        let includers = self.documents.includers(&source, &self.settings, self.encoding);
        let mut stale: Vec<Uri> = includers.iter().map(|it| it.source.uri.clone()).collect();
        stale.push(uri.clone());
        stale.iter().for_each(|it| self.documents.forget_analysis(it));
        self.stale.extend(stale);
    }

    fn doubt_all(&mut self) {
        self.documents.forget_analyses();
        self.stale.extend(self.documents.iter().map(|it| it.source.uri.clone()));
        // What was closed must be taken back.
        self.stale.extend(self.published.keys().cloned());
    }

    /// Tells the client what changed among the findings.
    fn publish(&mut self) {
        if self.stale.is_empty() {
            return;
        }
        let mut found: BTreeMap<Uri, Vec<Diagnostic>> = BTreeMap::new();
        for document in self.documents.iter() {
            let source = &document.source;
            // What another document includes is judged with that one.
            if !self.documents.includers(source, &self.settings, self.encoding).is_empty() {
                continue;
            }
            found.entry(source.uri.clone()).or_default();
            for it in &self.documents.analysis(document, &self.settings).findings {
                found.entry(it.uri.clone()).or_default().push(it.diagnostic.clone());
            }
        }
        let gone = self.published.keys().filter(|uri| !found.contains_key(*uri)).cloned();
        let gone: Vec<Uri> = gone.collect();
        found.extend(gone.into_iter().map(|uri| (uri, Vec::new())));
        for (uri, diagnostics) in &found {
            if self.stale.contains(uri) || self.published.get(uri) != Some(diagnostics) {
                self.tell(uri.clone(), diagnostics.clone());
            }
        }
        found.retain(|uri, list| !list.is_empty() || self.documents.get(uri).is_some());
        self.published = found;
        self.stale.clear();
    }

    fn tell(&self, uri: Uri, diagnostics: Vec<Diagnostic>) {
        let version = self.documents.get(&uri).map(|it| it.version);
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        let message = Notification::new(PublishDiagnostics::METHOD.to_owned(), params);
        // Whoever does not listen any more ends the loop soon.
        let _ = (self.sender)(message.into());
    }

    // Questions.

    fn document(&self, uri: &Uri) -> Answer<&Document> {
        let failure =
            || Failure::new(ErrorCode::InvalidParams, format!("`{}` is not open", uri.as_str()));
        self.documents.get(uri).ok_or_else(failure)
    }

    fn place(&self, params: &TextDocumentPositionParams) -> Answer<(&Document, usize)> {
        let document = self.document(&params.text_document.uri)?;
        Ok((document, document.source.offset(params.position)))
    }

    fn unit(&self, document: &Document) -> Vec<Rc<Source>> {
        self.documents.unit(&document.source, &self.settings, self.encoding)
    }

    fn completion(&self, at: &TextDocumentPositionParams) -> Answer<Option<CompletionResponse>> {
        let (document, offset) = self.place(at)?;
        let unit = self.unit(document);
        let version = self.settings.version;
        let items = complete::complete(&unit, &document.source, offset, version);
        Ok(Some(CompletionResponse::Array(items)))
    }

    fn hover(&self, at: &TextDocumentPositionParams) -> Answer<Option<lsp_types::Hover>> {
        let (document, offset) = self.place(at)?;
        let asked = Asked {
            unit: &self.unit(document),
            source: &document.source,
            analysis: &self.documents.analysis(document, &self.settings),
            version: self.settings.version,
        };
        Ok(asked.hover(offset))
    }

    fn definition(
        &self,
        at: &TextDocumentPositionParams,
    ) -> Answer<Option<GotoDefinitionResponse>> {
        let (document, offset) = self.place(at)?;
        let source = &document.source;
        let find = |name: &str| {
            let path = self.documents.included(name, source, &self.settings)?;
            self.documents.uri_of(&path)
        };
        if let Some(file) = navigate::included(source, offset, find) {
            return Ok(Some(GotoDefinitionResponse::Scalar(file)));
        }
        let analysis = self.documents.analysis(document, &self.settings);
        let found = navigate::definition(&self.unit(document), source, &analysis, offset);
        Ok((!found.is_empty()).then_some(GotoDefinitionResponse::Array(found)))
    }

    fn formatting(&self, uri: &Uri) -> Answer<Option<Vec<TextEdit>>> {
        let source = &self.document(uri)?.source;
        // What cannot be read is left alone; the findings say why.
        let Ok(new_text) = selkie_asm::format(source.text(), "") else { return Ok(None) };
        if new_text == source.text() {
            return Ok(Some(Vec::new()));
        }
        let range = source.range(0..source.text().len());
        Ok(Some(vec![TextEdit { range, new_text }]))
    }

    fn code_actions(&self, uri: &Uri, range: Range) -> Answer<Option<Vec<CodeActionOrCommand>>> {
        let document = self.document(uri)?;
        let mut judges = self.documents.includers(&document.source, &self.settings, self.encoding);
        judges.push(document);
        let meets = |it: &Range| it.start <= range.end && range.start <= it.end;
        let mut actions: Vec<lsp_types::CodeAction> = Vec::new();
        for judge in judges {
            for it in &self.documents.analysis(judge, &self.settings).findings {
                let action = it.action().filter(|_| it.uri == *uri && meets(&it.diagnostic.range));
                actions.extend(action.filter(|it| !actions.contains(it)));
            }
        }
        Ok(Some(actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()))
    }
}

fn fail(id: RequestId, Failure { code, message }: Failure) -> Response {
    Response::new_err(id, code as i32, message)
}

fn read<N: lsp_types::notification::Notification>(params: Value) -> Option<N::Params> {
    serde_json::from_value(params).ok()
}

/// Whether the client has said meanwhile that it does not want an answer.
fn is_cancelled(id: &RequestId, waiting: &VecDeque<Message>) -> bool {
    waiting.iter().any(|message| match message {
        Message::Notification(it) if it.method == Cancel::METHOD => {
            let cancelled = it.params.get("id").cloned();
            cancelled.and_then(|it| serde_json::from_value(it).ok()).as_ref() == Some(id)
        }
        _ => false,
    })
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let words = |text: &str| text.chars().map(String::from).collect();
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(
            TextDocumentSyncKind::INCREMENTAL,
        )),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(words(".\\")),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: SemanticTokensLegend {
                    token_types: outline::TOKEN_TYPES.to_vec(),
                    token_modifiers: Vec::new(),
                },
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        ..ServerCapabilities::default()
    }
}
