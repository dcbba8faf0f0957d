//! What is asked of documents, and who answers.

use std::rc::Rc;

use lsp_server::{ErrorCode, Request, Response};
use lsp_types::{
    CodeActionOrCommand, CompletionResponse, DocumentSymbolResponse, GotoDefinitionResponse, Range,
    SemanticTokens, SemanticTokensResult, TextDocumentPositionParams, TextEdit, Uri,
    request::{
        CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest,
        FoldingRangeRequest, Formatting, GotoDefinition, HoverRequest, InlayHintRequest,
        PrepareRenameRequest, References, Rename, Request as _, SemanticTokensFullRequest,
        SignatureHelpRequest,
    },
};

use super::{Answer, Failure, Server, fail};
use crate::{
    complete,
    documents::{Document, Source},
    hints,
    hover::Asked,
    navigate, outline, signature,
};

/// A request was understood, and cannot be done, which people are told.
fn refused(message: String) -> Failure {
    Failure::new(ErrorCode::RequestFailed, message)
}

impl Server {
    /// Answers what is asked of a document.
    pub(super) fn question(&mut self, request: Request) -> Response {
        match request.method.as_str() {
            Completion::METHOD => self.answer::<Completion>(request, |server, params| {
                server.completion(&params.text_document_position)
            }),
            HoverRequest::METHOD => self.answer::<HoverRequest>(request, |server, params| {
                server.hover(&params.text_document_position_params)
            }),
            SignatureHelpRequest::METHOD => {
                self.answer::<SignatureHelpRequest>(request, |server, params| {
                    let (document, offset) = server.place(&params.text_document_position_params)?;
                    let unit = server.unit(document);
                    Ok(signature::help(&unit, &document.source, offset, server.settings.version))
                })
            }
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
                    let analysis = server.documents.program(document, &server.settings);
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
