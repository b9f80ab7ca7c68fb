//! The HTTP client of the commands: one connection per request, JSON in and out, no TLS. Problem
//! details become [`CliError::Refused`].

use std::error::Error;
use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::time::timeout;

use crate::cli::error::{CliError, CliResult, Problem};

/// Time to connect.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Time until the answer begins; covers held inbox reads (25 s by default).
const ANSWER_MAX: Duration = Duration::from_secs(90);
/// The largest answer that is read into memory, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// What RFC 3986 §2.3 reserves: everything but letters, digits, `-`, `.`, `_` and `~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of a server and the token to use there.
#[derive(Clone, Debug)]
pub struct Client {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    /// `http://HOST:PORT` and the path before every route, without a final slash.
    pub url: String,
    /// The token; never shown.
    token: Option<HeaderValue>,
}

/// A successful answer.
#[derive(Clone, Debug)]
pub struct ApiResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body as text.
    pub text: String,
}

impl ApiResponse {
    /// The body as JSON.
    pub fn json(&self) -> CliResult<Value> {
        serde_json::from_str(&self.text).map_err(|_| {
            CliError::failed("the server answered with no JSON; is --url that of a Parley server?")
        })
    }
}

/// Additional headers of one request.
pub type ExtraHeaders<'a> = &'a [(HeaderName, &'a str)];

impl Client {
    /// A client for the server at `url` with `token`. Wrong usage unless the URL begins with
    /// `http://` and the token fits a header.
    pub fn new(url: &str, token: Option<&str>) -> CliResult<Self> {
        let wrong = |why: &str| CliError::usage(format!("the URL {url} {why}"));
        let uri: Uri = url.parse().map_err(|_| wrong("is malformed; give http://HOST:PORT"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(wrong("asks for TLS, which this client does not speak; use http://"));
            }
            _ => return Err(wrong("does not begin with http://")),
        }
        let authority = uri.authority().ok_or_else(|| wrong("names no host"))?;
        if uri.query().is_some() || authority.as_str().contains('@') {
            return Err(wrong("has a query or a user; give http://HOST:PORT"));
        }
        let path = uri.path().trim_end_matches('/');
        // Paths that end a server's URL in clients of MCP and of HTTP.
        if path.split('/').any(|part| ["mcp", "sse", "v1"].contains(&part)) {
            return Err(wrong(
                "goes on with a path of the server; leave that away: http://HOST:PORT",
            ));
        }
        let url = format!("http://{authority}{path}");
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_MAX));
        connector.set_nodelay(true);
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(connector);
        Ok(Self { http, url, token: token.map(bearer).transpose()? })
    }

    /// A client of the same server with another token.
    pub fn with_token(&self, token: &str) -> CliResult<Self> {
        Ok(Self { token: Some(bearer(token)?), ..self.clone() })
    }

    /// GET of `path`, which may have a query.
    pub async fn get(&self, path: &str) -> CliResult<ApiResponse> {
        self.read_answer(self.open(Method::GET, path, &[], Bytes::new()).await?).await
    }

    /// All pages of the list at `path` as one: `items`, the last page's `cursor`, `more` false.
    pub async fn list(&self, path: &str, filters: &[(&str, Option<String>)]) -> CliResult<Value> {
        self.pages(path, filters, "items", "cursor").await
    }

    /// All pages at `path` as one: the last page, with the `member` of all. The parameter `after`
    /// takes the cursor of the page before.
    pub async fn pages(
        &self,
        path: &str,
        filters: &[(&str, Option<String>)],
        member: &str,
        after: &str,
    ) -> CliResult<Value> {
        let mut items = Vec::new();
        let mut cursor = None;
        loop {
            let mut parameters = filters.to_vec();
            parameters.push((after, cursor.take()));
            let mut page = self.get(&with_query(path, &parameters)).await?.json()?;
            if let Value::Array(more) = page[member].take() {
                items.extend(more);
            }
            cursor = page["cursor"].as_str().map(str::to_owned);
            if page["more"] != true || cursor.is_none() {
                page[member] = Value::Array(items);
                return Ok(page);
            }
        }
    }

    /// POST of `body` to `path`.
    pub async fn post(
        &self,
        path: &str,
        body: &Value,
        extra: ExtraHeaders<'_>,
    ) -> CliResult<ApiResponse> {
        let mut headers = vec![(header::CONTENT_TYPE, "application/json")];
        headers.extend_from_slice(extra);
        let body = Bytes::from(body.to_string());
        self.read_answer(self.open(Method::POST, path, &headers, body).await?).await
    }

    /// DELETE of `path`.
    pub async fn delete(&self, path: &str) -> CliResult<ApiResponse> {
        self.read_answer(self.open(Method::DELETE, path, &[], Bytes::new()).await?).await
    }

    /// Sends a request; returns the answer once its head has come, a refusal as a failure. The
    /// caller reads the body, or takes the upgraded connection.
    pub async fn open(
        &self,
        method: Method,
        path: &str,
        extra: ExtraHeaders<'_>,
        body: Bytes,
    ) -> CliResult<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header(header::USER_AGENT, concat!("parley/", env!("CARGO_PKG_VERSION")));
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token);
        }
        for (name, value) in extra {
            request = request.header(name, *value);
        }
        let request = request.body(Full::new(body)).map_err(|_| {
            CliError::usage("an argument holds characters that no HTTP request may hold")
        })?;
        let response = timeout(ANSWER_MAX, self.http.request(request))
            .await
            .map_err(|_| self.unreachable("it takes too long to answer"))?
            .map_err(|error| self.failure(&error))?;
        let status = response.status();
        if status.is_success() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(response);
        }
        let text = self.read_body(response).await?;
        Err(self.refusal(status.as_u16(), &text))
    }

    async fn read_answer(&self, response: Response<Incoming>) -> CliResult<ApiResponse> {
        let status = response.status().as_u16();
        let text = self.read_body(response).await?;
        Ok(ApiResponse { status, text })
    }

    async fn read_body(&self, response: Response<Incoming>) -> CliResult<String> {
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
        let body = body.await.map_err(|error| {
            CliError::failed(format!("the answer of {} broke off: {error}", self.url))
        })?;
        String::from_utf8(body.to_bytes().into()).map_err(|_| {
            CliError::failed(format!("{} answered with what is no UTF-8 text", self.url))
        })
    }

    fn refusal(&self, status: u16, text: &str) -> CliError {
        let problem: Value = serde_json::from_str(text).unwrap_or_default();
        let member = |name: &str| problem[name].as_str().map(str::to_owned);
        let Some(reason) = member("reason") else {
            return CliError::failed(format!(
                "{} answered {status} without a reason; is it a Parley server?",
                self.url
            ));
        };
        let mut detail = member("detail").unwrap_or_default();
        if reason == "token_missing" {
            detail.push_str(" Give --token or set PARLEY_TOKEN.");
        }
        CliError::Refused(Problem { status, reason, detail, field: member("field") })
    }

    fn unreachable(&self, why: &str) -> CliError {
        let url = &self.url;
        CliError::failed(format!(
            "cannot reach {url}: {why}; start it with `parley serve`, or name another with --url"
        ))
    }

    /// A failure of the connection, with the error that caused it.
    fn failure(&self, error: &legacy::Error) -> CliError {
        let mut cause: &dyn Error = error;
        while let Some(source) = cause.source().filter(|_| !cause.is::<hyper::Error>()) {
            cause = source;
        }
        if !error.is_connect() {
            return CliError::failed(format!("{} broke off: {cause}; try again", self.url));
        }
        match cause.downcast_ref::<std::io::Error>() {
            Some(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                self.unreachable("it does not answer")
            }
            _ => self.unreachable(&cause.to_string()),
        }
    }
}

fn bearer(token: &str) -> CliResult<HeaderValue> {
    let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
    let mut value = value.map_err(|_| CliError::usage("the token holds characters none has"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// `text` as one segment of a path or one value of a query.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// `path` with a query of the parameters that have a value.
pub fn with_query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut url = path.to_owned();
    let given = parameters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    for (index, (name, value)) in given.enumerate() {
        let separator = if index == 0 { '?' } else { '&' };
        let _ = write!(url, "{separator}{name}={}", encode(value));
    }
    url
}

#[cfg(test)]
mod tests;

#[cfg(test)]
pub use tests::{answering, whole};
