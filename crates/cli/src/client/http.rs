//! Requests over HTTP and HTTPS.

use core::time::Duration;

use anyhow::Result;

/// The largest answer: a hundred of the largest accounts, in base64.
const ANSWER_BYTES_MAX: u64 = 1 << 31;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Connections that are kept open between requests.
#[derive(Debug)]
pub(super) struct Http(ureq::Agent);

impl Http {
    #[expect(clippy::unnecessary_wraps, reason = "a build without HTTP has none")]
    pub(super) fn new() -> Result<Self> {
        let config = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT));
        Ok(Self(config.http_status_as_error(false).build().into()))
    }

    /// Posts JSON and returns the answer's body.
    pub(super) fn post(&self, url: &str, body: String) -> Result<Vec<u8>> {
        let request = self.0.post(url).header("content-type", "application/json");
        let mut response = request.send(body)?;
        Ok(response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?)
    }
}
