//! Requests over HTTP and HTTPS.

use core::time::Duration;
use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::{env, path::Path};

use selkie_isa::input;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

const TIMEOUT: Duration = Duration::from_secs(30);
/// The variable that names a file with the certificates to trust, in PEM, as for other programs.
const CERTIFICATES: &str = "SSL_CERT_FILE";

/// Connections that are kept open between requests.
#[derive(Debug)]
pub(super) struct Http(ureq::Agent);

impl Http {
    pub(super) fn new() -> Result<Self> {
        let config = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT));
        let tls = TlsConfig::builder().root_certs(roots()?).build();
        Ok(Self(config.tls_config(tls).http_status_as_error(false).build().into()))
    }

    /// Posts JSON and returns the answer's body, of up to so many bytes.
    pub(super) fn post(&self, url: &str, body: String, bytes_max: u64) -> Result<Vec<u8>> {
        let request = self.0.post(url).header("content-type", "application/json");
        let mut response = request.send(body).or_failure()?;
        response.body_mut().with_config().limit(bytes_max).read_to_vec().or_failure()
    }
}

/// Returns whether a request failed since the answer is too large.
pub(super) fn is_too_large(error: &Failure) -> bool {
    matches!(error.find(), Some(ureq::Error::BodyExceedsLimit(_)))
}

/// Returns the certificates to trust: those of `SSL_CERT_FILE`, or Mozilla's.
#[allow(clippy::disallowed_methods, reason = "programs share this setting by the environment")]
fn roots() -> Result<RootCerts> {
    let Some(path) = env::var_os(CERTIFICATES).filter(|it| !it.is_empty()) else {
        return Ok(RootCerts::WebPki);
    };
    let failed = || format!("cannot use {} of {CERTIFICATES}", path.display());
    let help = format!("name a PEM file with certificates, or unset {CERTIFICATES}");
    let text =
        input::read(Path::new(&path), input::TEXT_BYTES_MAX).with_context(failed).advise(&help)?;
    let certificates = certificates(&text).with_context(failed).advise(&help)?;
    Ok(RootCerts::new_with_certs(&certificates))
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>> {
    let mut certificates = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.or_failure()? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(Failure::new("it has no certificates"));
    }
    Ok(certificates)
}
