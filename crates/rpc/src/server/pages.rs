//! The explorer: pages for browsers, which `cargo xtask web` builds from `web/` into `crates/rpc/web`.
//!
//! Invariant: pages load nothing but what is here, and talk to no one but this server; the policy says so
//! to the browser, whatever the data of clients contains.

use std::{fmt::Write as _, sync::LazyLock};

use axum::{
    Router,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing,
};
use sha2::{Digest as _, Sha256};

use crate::server::shared::Shared;

/// A file, compressed by gzip.
struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const fn file(path: &'static str, kind: &'static str, bytes: &'static [u8]) -> File {
    File { path, kind, bytes }
}

/// The page, which shows what its address names.
const PAGE: File = file("/", "text/html; charset=utf-8", include_bytes!("../../web/index.html.gz"));

/// What the page loads.
const FILES: &[File] = &[
    file(
        "/assets/explorer.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/explorer.js.gz"),
    ),
    file(
        "/assets/explorer.css",
        "text/css; charset=utf-8",
        include_bytes!("../../web/explorer.css.gz"),
    ),
    file("/assets/icon.svg", "image/svg+xml", include_bytes!("../../web/icon.svg.gz")),
];

/// What browsers let the page do.
const POLICY: &str = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'";

/// The tags by which browsers ask whether a file has changed.
static TAGS: LazyLock<Vec<(&'static str, HeaderValue)>> = LazyLock::new(|| {
    let tags = FILES.iter().chain([&PAGE]).map(|file| {
        let mut tag = String::from("\"");
        for byte in Sha256::digest(file.bytes).iter().take(12) {
            let _ = write!(tag, "{byte:02x}");
        }
        tag.push('"');
        (file.path, HeaderValue::from_str(&tag).expect("digits are allowed in a header"))
    });
    tags.collect()
});

/// Returns the routes of the files. Any other path is the page's, if a browser asks for it.
pub(super) fn routes() -> Router<std::sync::Arc<Shared>> {
    let routes = Router::new().fallback(routing::get(|headers: HeaderMap| async move {
        page(&headers).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
    }));
    FILES.iter().fold(routes, |routes, file| {
        routes.route(
            file.path,
            routing::get(move |headers: HeaderMap| async move { serve(file, &headers) }),
        )
    })
}

/// Returns the page, if a browser asks for one.
pub(super) fn page(headers: &HeaderMap) -> Option<Response> {
    has(headers, header::ACCEPT, "text/html").then(|| serve(&PAGE, headers))
}

fn serve(file: &File, headers: &HeaderMap) -> Response {
    if !has(headers, header::ACCEPT_ENCODING, "gzip") {
        let text = "the pages are compressed: send `Accept-Encoding: gzip`\n";
        return (StatusCode::NOT_ACCEPTABLE, text).into_response();
    }
    let tag = TAGS.iter().find(|(path, _)| *path == file.path).map(|(_, tag)| tag.clone());
    let is_known = tag.is_some() && headers.get(header::IF_NONE_MATCH) == tag.as_ref();
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => file.bytes.into_response(),
    };
    let fixed = [
        (header::CONTENT_TYPE, file.kind),
        (header::CONTENT_ENCODING, "gzip"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    let fixed = fixed.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(fixed.chain(tag.map(|tag| (header::ETAG, tag))));
    response
}

/// Returns whether a list in a header has a value.
fn has(headers: &HeaderMap, name: header::HeaderName, value: &str) -> bool {
    let lists = headers.get_all(name).into_iter().filter_map(|it| it.to_str().ok());
    let values = lists.flat_map(|it| it.split(','));
    values.filter_map(|it| it.split(';').next()).any(|it| it.trim().eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_goes_to_browsers_and_has_not_to_be_sent_twice() {
        let mut headers = HeaderMap::new();
        let set = |headers: &mut HeaderMap, name, value| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        set(&mut headers, header::ACCEPT, "*/*");
        assert!(page(&headers).is_none());
        set(&mut headers, header::ACCEPT, "text/html,application/xml;q=0.9");
        assert_eq!(page(&headers).unwrap().status(), StatusCode::NOT_ACCEPTABLE);
        set(&mut headers, header::ACCEPT_ENCODING, "deflate, gzip;q=1.0");
        let first = page(&headers).unwrap();
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
        headers.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
        assert_eq!(page(&headers).unwrap().status(), StatusCode::NOT_MODIFIED);
    }
}
