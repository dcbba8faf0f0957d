//! Requests about documents, and the functions that answer them.

use std::rc::Rc;

use lsp_server::{ErrorCode, Request, Response};
use lsp_types::{
    CodeActionOrCommand, CodeActionParams, CompletionParams, CompletionResponse,
    DocumentFormattingParams, DocumentHighlight, DocumentHighlightParams, DocumentSymbolParams,
    DocumentSymbolResponse, FoldingRange, FoldingRangeParams, GotoDefinitionParams,
    GotoDefinitionResponse, Hover, HoverParams, InlayHint, InlayHintParams, Location,
    PrepareRenameResponse, Range, ReferenceParams, RenameParams, SemanticTokens,
    SemanticTokensParams, SemanticTokensResult, SignatureHelp, SignatureHelpParams,
    TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit,
    request::{
        CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest,
        FoldingRangeRequest, Formatting, GotoDefinition, HoverRequest, InlayHintRequest,
        PrepareRenameRequest, References, Rename, Request as _, SemanticTokensFullRequest,
        SignatureHelpRequest,
    },
};

use super::{Answer, Failure, Server, fail};
use crate::{
    complete, documents::Document, hints, hover, navigate, outline, signature, source::Source,
};

/// The failure of a request that is valid but cannot be done; editors show the message.
fn refused(why: selkie_isa::failure::Failure) -> Failure {
    Failure::new(ErrorCode::RequestFailed, why.chain())
}

impl Server {
    /// Answers a request about a document.
    pub(super) fn document_request(&mut self, request: Request) -> Response {
        match request.method.as_str() {
            Completion::METHOD => self.answer::<Completion>(request, Self::completion),
            HoverRequest::METHOD => self.answer::<HoverRequest>(request, Self::hover),
            SignatureHelpRequest::METHOD => {
                self.answer::<SignatureHelpRequest>(request, Self::signature_help)
            }
            GotoDefinition::METHOD => self.answer::<GotoDefinition>(request, Self::definition),
            References::METHOD => self.answer::<References>(request, Self::references),
            DocumentHighlightRequest::METHOD => {
                self.answer::<DocumentHighlightRequest>(request, Self::highlights)
            }
            PrepareRenameRequest::METHOD => {
                self.answer::<PrepareRenameRequest>(request, Self::prepare_rename)
            }
            Rename::METHOD => self.answer::<Rename>(request, Self::rename),
            DocumentSymbolRequest::METHOD => {
                self.answer::<DocumentSymbolRequest>(request, Self::symbols)
            }
            FoldingRangeRequest::METHOD => self.answer::<FoldingRangeRequest>(request, Self::folds),
            SemanticTokensFullRequest::METHOD => {
                self.answer::<SemanticTokensFullRequest>(request, Self::semantic_tokens)
            }
            Formatting::METHOD => self.answer::<Formatting>(request, Self::formatting),
            InlayHintRequest::METHOD => self.answer::<InlayHintRequest>(request, Self::inlay_hints),
            CodeActionRequest::METHOD => {
                self.answer::<CodeActionRequest>(request, Self::code_actions)
            }
            method => {
                let message = format!("the server does not support `{method}`");
                fail(request.id, Failure::new(ErrorCode::MethodNotFound, message))
            }
        }
    }

    fn document(&self, uri: &Uri) -> Answer<&Document> {
        let failure =
            || Failure::new(ErrorCode::InvalidParams, format!("`{}` is not open", uri.as_str()));
        self.documents.get(uri).ok_or_else(failure)
    }

    fn document_at(&self, params: &TextDocumentPositionParams) -> Answer<(&Document, usize)> {
        let document = self.document(&params.text_document.uri)?;
        Ok((document, document.source.offset(params.position)))
    }

    fn unit(&self, document: &Document) -> Vec<Rc<Source>> {
        self.documents.unit(&document.source, &self.settings, self.encoding)
    }

    fn completion(&mut self, params: CompletionParams) -> Answer<Option<CompletionResponse>> {
        let (document, offset) = self.document_at(&params.text_document_position)?;
        let unit = self.unit(document);
        let version = self.settings.version;
        let items = complete::complete(&unit, &document.source, offset, version);
        Ok(Some(CompletionResponse::Array(items)))
    }

    fn hover(&mut self, params: HoverParams) -> Answer<Option<Hover>> {
        let (document, offset) = self.document_at(&params.text_document_position_params)?;
        let request = hover::HoverRequest {
            unit: &self.unit(document),
            source: &document.source,
            analysis: &self.documents.analysis(document, &self.settings),
            version: self.settings.version,
        };
        Ok(request.hover(offset))
    }

    fn signature_help(&mut self, params: SignatureHelpParams) -> Answer<Option<SignatureHelp>> {
        let (document, offset) = self.document_at(&params.text_document_position_params)?;
        let unit = self.unit(document);
        Ok(signature::help(&unit, &document.source, offset, self.settings.version))
    }

    fn definition(
        &mut self,
        params: GotoDefinitionParams,
    ) -> Answer<Option<GotoDefinitionResponse>> {
        let (document, offset) = self.document_at(&params.text_document_position_params)?;
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

    fn references(&mut self, params: ReferenceParams) -> Answer<Option<Vec<Location>>> {
        let with_definition = params.context.include_declaration;
        let (document, offset) = self.document_at(&params.text_document_position)?;
        let unit = self.unit(document);
        Ok(Some(navigate::references(&unit, &document.source, offset, with_definition)))
    }

    fn highlights(
        &mut self,
        params: DocumentHighlightParams,
    ) -> Answer<Option<Vec<DocumentHighlight>>> {
        let (document, offset) = self.document_at(&params.text_document_position_params)?;
        Ok(Some(navigate::highlights(&document.source, offset)))
    }

    fn prepare_rename(
        &mut self,
        params: TextDocumentPositionParams,
    ) -> Answer<Option<PrepareRenameResponse>> {
        let (document, offset) = self.document_at(&params)?;
        let unit = self.unit(document);
        let prepared = navigate::prepare_rename(&unit, &document.source, offset);
        prepared.map(Some).map_err(refused)
    }

    fn rename(&mut self, params: RenameParams) -> Answer<Option<WorkspaceEdit>> {
        let (document, offset) = self.document_at(&params.text_document_position)?;
        let unit = self.unit(document);
        let edit = navigate::rename(&unit, &document.source, offset, &params.new_name);
        edit.map(Some).map_err(refused)
    }

    fn symbols(&mut self, params: DocumentSymbolParams) -> Answer<Option<DocumentSymbolResponse>> {
        let document = self.document(&params.text_document.uri)?;
        Ok(Some(DocumentSymbolResponse::Nested(outline::symbols(&document.source))))
    }

    fn folds(&mut self, params: FoldingRangeParams) -> Answer<Option<Vec<FoldingRange>>> {
        let document = self.document(&params.text_document.uri)?;
        Ok(Some(outline::folds(&document.source)))
    }

    fn semantic_tokens(
        &mut self,
        params: SemanticTokensParams,
    ) -> Answer<Option<SemanticTokensResult>> {
        let document = self.document(&params.text_document.uri)?;
        let data = outline::tokens(&document.source);
        Ok(Some(SemanticTokensResult::Tokens(SemanticTokens { result_id: None, data })))
    }

    fn inlay_hints(&mut self, params: InlayHintParams) -> Answer<Option<Vec<InlayHint>>> {
        let document = self.document(&params.text_document.uri)?;
        let source = &document.source;
        let range = source.offset(params.range.start)..source.offset(params.range.end);
        let unit = self.unit(document);
        let analysis = self.documents.program(document, &self.settings);
        Ok(Some(hints::hints(&unit, source, &analysis, range)))
    }

    fn formatting(&mut self, params: DocumentFormattingParams) -> Answer<Option<Vec<TextEdit>>> {
        let source = &self.document(&params.text_document.uri)?.source;
        // A source with syntax errors is not formatted; its diagnostics say why.
        let Ok(new_text) = selkie_asm::format(source.text(), "") else { return Ok(None) };
        if new_text == source.text() {
            return Ok(Some(Vec::new()));
        }
        let range = source.range(0..source.text().len());
        Ok(Some(vec![TextEdit { range, new_text }]))
    }

    fn code_actions(
        &mut self,
        params: CodeActionParams,
    ) -> Answer<Option<Vec<CodeActionOrCommand>>> {
        let (uri, range) = (params.text_document.uri, params.range);
        let document = self.document(&uri)?;
        let mut analysed =
            self.documents.includers(&document.source, &self.settings, self.encoding);
        analysed.push(document);
        let overlaps = |it: &Range| it.start <= range.end && range.start <= it.end;
        let mut actions: Vec<lsp_types::CodeAction> = Vec::new();
        for document in analysed {
            for it in &self.documents.analysis(document, &self.settings).diagnostics {
                let action =
                    it.action().filter(|_| it.uri == uri && overlaps(&it.diagnostic.range));
                actions.extend(action.filter(|it| !actions.contains(it)));
            }
        }
        Ok(Some(actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()))
    }
}
