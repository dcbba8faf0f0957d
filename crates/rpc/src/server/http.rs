//! Routes over HTTP.

use core::{future::poll_fn, pin::Pin};
use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Extension, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing,
};
use hyper::{body::Body as _, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::{
    budget::Text,
    server::{
        connections::{Busy, Permit},
        dispatch::Client,
        pages,
        shared::{Peer, Shared},
        socket,
    },
};

/// How long browsers may remember that they are allowed to ask.
const CORS_SECONDS: u64 = 86_400;

/// Returns the routes: requests, WebSocket, health, metrics, and pages for browsers.
pub(super) fn router(shared: &Arc<Shared>) -> Router {
    // Any page may ask, as on agave; cheatcodes look at the origin themselves.
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::any())
        .allow_headers(AllowHeaders::mirror_request())
        .allow_methods([hyper::Method::POST, hyper::Method::GET])
        .max_age(core::time::Duration::from_secs(CORS_SECONDS));
    pages::routes()
        .route("/", routing::post(post).get(upgrade))
        .route("/health", routing::get(health))
        .route("/metrics", routing::get(metrics))
        .layer(DefaultBodyLimit::disable())
        .layer(cors)
        .with_state(Arc::clone(shared))
}

async fn post(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    Extension(permit): Extension<Permit>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    if !is_json(&headers) {
        let text =
            "Supplied content type is not allowed. Content-Type: application/json is required\n";
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response();
    }
    let limits = &shared.options.limits;
    // Programs and states come through cheatcodes.
    let max = match peer.may_cheat(&shared.options) {
        true => limits.cheat_body_bytes_max,
        false => limits.body_bytes_max,
    };
    let body = Text::new(&shared.answers, max);
    let body = match tokio::time::timeout(limits.body_timeout, read(request, body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(refusal)) => return refusal,
        Err(_) => return StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    let bytes: &[u8] = body.as_ref();
    if bytes.len() > limits.body_bytes_max && !is_cheat(bytes) {
        return too_large(limits.body_bytes_max);
    }
    // Only now, so that a request which never ends makes way for others.
    let busy = permit.busy();
    let text = Client::new(&shared, &peer).answer(bytes).await;
    json_response(Bytes::from_owner(Answer { text, _busy: busy }))
}

/// Reads a body as far as there is space for it.
async fn read(request: Request, mut text: Text) -> Result<Text, Response> {
    let mut body = request.into_body();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(frame) = frame else { return Err(StatusCode::BAD_REQUEST.into_response()) };
        if let Ok(bytes) = frame.into_data()
            && let Err(error) = text.add(&bytes)
        {
            return Err(match text.is_busy() {
                true => (StatusCode::SERVICE_UNAVAILABLE, error.message).into_response(),
                false => too_large(text.bytes_max()),
            });
        }
    }
    Ok(text)
}

/// An answer until it is sent, which counts until then.
struct Answer {
    text: Text,
    _busy: Busy,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        self.text.as_ref()
    }
}

/// Returns whether a large body calls a cheatcode; it is only looked at to choose the limit.
fn is_cheat(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        method: std::borrow::Cow<'a, str>,
    }
    let head = serde_json::from_slice::<Head<'_>>(body);
    head.is_ok_and(|head| crate::methods::find(&head.method).is_some_and(|it| it.is_cheat()))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let kind = kind.and_then(|it| it.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn too_large(max: usize) -> Response {
    let text = format!("request body too large: the limit is {max} bytes\n");
    (StatusCode::PAYLOAD_TOO_LARGE, text).into_response()
}

fn json_response(body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    let kind = header::HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Begins a WebSocket.
///
/// Its messages are written by `tungstenite` itself: axum's type cannot write long ones in parts, and a
/// whole one is moved in memory after each part that the client takes.
async fn upgrade(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    Extension(permit): Extension<Permit>,
    mut request: Request,
) -> Response {
    let accepted = accept_key(request.headers());
    let upgrade = request.extensions_mut().remove::<OnUpgrade>();
    let (Some(accepted), Some(upgrade)) = (accepted, upgrade) else {
        if let Some(page) = pages::page(request.headers()) {
            return page;
        }
        let text = "Used HTTP Method is not allowed. POST or OPTIONS is required\n";
        return (StatusCode::METHOD_NOT_ALLOWED, text).into_response();
    };
    if !permit.upgrade() {
        shared.metrics.refuse_connection();
        let text = "too many WebSockets are open\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    tokio::spawn(async move {
        // It fails if the client has gone meanwhile.
        if let Ok(stream) = upgrade.await {
            socket::serve(TokioIo::new(stream), shared, peer, permit).await;
        }
    });
    let headers = [
        (header::CONNECTION, HeaderValue::from_static("upgrade")),
        (header::UPGRADE, HeaderValue::from_static("websocket")),
        (header::SEC_WEBSOCKET_ACCEPT, accepted),
    ];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

/// Returns what confirms the request for a WebSocket; `None` if it is none.
fn accept_key(headers: &HeaderMap) -> Option<HeaderValue> {
    let text = |name| headers.get(name).and_then(|it: &HeaderValue| it.to_str().ok());
    let has = |name, word: &str| {
        let mut words = text(name).unwrap_or_default().split(',').map(str::trim);
        words.any(|it| it.eq_ignore_ascii_case(word))
    };
    let is_wanted = has(header::CONNECTION, "upgrade") && has(header::UPGRADE, "websocket");
    let key = headers.get(header::SEC_WEBSOCKET_KEY)?;
    let is_known = text(header::SEC_WEBSOCKET_VERSION) == Some("13");
    let accepted = derive_accept_key(key.as_bytes());
    HeaderValue::from_str(&accepted).ok().filter(|_| is_wanted && is_known)
}

async fn health(State(shared): State<Arc<Shared>>) -> &'static str {
    if shared.node.failure().is_none() { "ok" } else { "unknown" }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let mut text = shared.metrics.text(&shared.hub.counts());
    for (name, budget) in [
        ("selkie_rpc_answers_bytes", &shared.answers),
        ("selkie_ws_notifications_bytes", &shared.notifications),
    ] {
        text.push_str(&format!("# TYPE {name} gauge\n{name} {}\n", budget.held()));
    }
    text.push_str(&crate::stats::text(&shared.node));
    let kind = "text/plain; version=0.0.4";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
