//! Routes over HTTP.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Extension, Request, State, WebSocketUpgrade},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing,
};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::server::{
    dispatch,
    shared::{Peer, Permit, Shared},
    socket,
};

/// How long browsers may remember that they are allowed to ask.
const CORS_SECONDS: u64 = 86_400;

/// Returns the routes: requests, WebSocket, health and metrics.
pub(super) fn router(shared: &Arc<Shared>) -> Router {
    // Any page may ask, as on agave; cheatcodes look at the origin themselves.
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::any())
        .allow_headers(AllowHeaders::mirror_request())
        .allow_methods([hyper::Method::POST, hyper::Method::GET])
        .max_age(core::time::Duration::from_secs(CORS_SECONDS));
    Router::new()
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
    let body = axum::body::to_bytes(request.into_body(), max);
    let body = match tokio::time::timeout(limits.body_timeout, body).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return too_large(max),
        Err(_) => return StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    if body.len() > limits.body_bytes_max && !is_cheat(&body) {
        return too_large(limits.body_bytes_max);
    }
    match dispatch::answer(&shared, &peer, &body).await {
        Some(answer) => json_response(serde_json::to_vec(&answer).unwrap_or_default().into()),
        None => json_response(Bytes::new()),
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

async fn upgrade(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    Extension(permit): Extension<Permit>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        let text = "Used HTTP Method is not allowed. POST or OPTIONS is required\n";
        return (StatusCode::METHOD_NOT_ALLOWED, text).into_response();
    };
    let max = shared.options.limits.message_bytes_max;
    upgrade
        .max_message_size(max)
        .max_frame_size(max)
        .on_upgrade(move |socket| socket::serve(socket, shared, peer, permit))
}

async fn health(State(shared): State<Arc<Shared>>) -> &'static str {
    if shared.node.failure().is_none() { "ok" } else { "unknown" }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let mut text = shared.metrics.text(&shared.hub.counts());
    text.push_str(&crate::stats::text(&shared.node));
    let kind = "text/plain; version=0.0.4";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
