//! A small HTTP client: one request a connection, JSON in and out, no TLS. Problem details become
//! [`CliError::Refused`].

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::cli::error::{CliError, CliResult, Problem};

/// How long a connection may take to come about.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long an answer may take to begin, held inbox reads (25 s by default) included.
const ANSWER_MAX: Duration = Duration::from_secs(90);
/// The largest answer that is read into memory, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// The port of a URL that names none.
const PORT_DEFAULT: u16 = 80;

/// Where a server is and who speaks to it.
#[derive(Clone, Debug)]
pub struct Client {
    /// Host without brackets, for the connection.
    host: String,
    port: u16,
    /// `Host`, as the URL has it.
    authority: String,
    /// The path that every route follows; without a final slash.
    prefix: String,
    /// The token; never shown.
    token: Option<HeaderValue>,
}

/// An answer that is no refusal.
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

/// Headers that one request has beside the usual ones.
pub type ExtraHeaders<'a> = &'a [(HeaderName, &'a str)];

impl Client {
    /// A client for the server at `url`, speaking under `token`. Wrong usage if the URL is no
    /// `http://` one or the token could be none.
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
        let host = authority.host();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Ok(Self {
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(PORT_DEFAULT),
            authority: authority.as_str().to_owned(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            token: token.map(bearer).transpose()?,
        })
    }

    /// The same server under another token.
    pub fn with_token(&self, token: &str) -> CliResult<Self> {
        Ok(Self { token: Some(bearer(token)?), ..self.clone() })
    }

    /// `http://HOST:PORT`, as given.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.authority, self.prefix)
    }

    /// Reads `path`, which may have a query.
    pub async fn get(&self, path: &str) -> CliResult<ApiResponse> {
        self.read_answer(self.open(Method::GET, path, &[], Bytes::new()).await?).await
    }

    /// Every page of the list at `path` as one: `items`, the last page's `cursor`, `more` false.
    pub async fn list(&self, path: &str, filters: &[(&str, Option<String>)]) -> CliResult<Value> {
        let mut items = Vec::new();
        let mut cursor = None;
        loop {
            let mut parameters = filters.to_vec();
            parameters.push(("cursor", cursor.take()));
            let mut page = self.get(&with_query(path, &parameters)).await?.json()?;
            if let Value::Array(more) = page["items"].take() {
                items.extend(more);
            }
            cursor = page["cursor"].as_str().map(str::to_owned);
            if page["more"] != true || cursor.is_none() {
                page["items"] = Value::Array(items);
                return Ok(page);
            }
        }
    }

    /// Sends `body` to `path`.
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

    /// Deletes what is at `path`.
    pub async fn delete(&self, path: &str) -> CliResult<ApiResponse> {
        self.read_answer(self.open(Method::DELETE, path, &[], Bytes::new()).await?).await
    }

    /// Sends a request and gives the answer once its head is there, refusals as failures. The
    /// body, or the upgraded connection, is the caller's to take.
    pub async fn open(
        &self,
        method: Method,
        path: &str,
        extra: ExtraHeaders<'_>,
        body: Bytes,
    ) -> CliResult<Response<Incoming>> {
        let request = self.request(method, path, extra, body)?;
        let stream = timeout(CONNECT_MAX, TcpStream::connect((self.host.as_str(), self.port)));
        let stream = stream.await.map_err(|_| self.unreachable("it does not answer"))?;
        let stream = stream.map_err(|error| self.unreachable(&error.to_string()))?;
        // Nagle would only delay requests; a socket that refuses the option works all the same.
        let _ = stream.set_nodelay(true);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.broken(&error))?;
        // Ends by itself with the answer or the upgraded connection; its error shows there too.
        tokio::spawn(connection.with_upgrades());
        let response = timeout(ANSWER_MAX, sender.send_request(request))
            .await
            .map_err(|_| self.unreachable("it takes too long to answer"))?
            .map_err(|error| self.broken(&error))?;
        let status = response.status();
        if status.is_success() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(response);
        }
        let text = self.read_body(response).await?;
        Err(self.refusal(status.as_u16(), &text))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        extra: ExtraHeaders<'_>,
        body: Bytes,
    ) -> CliResult<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.prefix))
            .header(header::HOST, &self.authority)
            .header(header::USER_AGENT, concat!("parley/", env!("CARGO_PKG_VERSION")));
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token);
        }
        for (name, value) in extra {
            request = request.header(name, *value);
        }
        request.body(Full::new(body)).map_err(|_| {
            CliError::usage("an argument holds characters that no HTTP request may hold")
        })
    }

    async fn read_answer(&self, response: Response<Incoming>) -> CliResult<ApiResponse> {
        let status = response.status().as_u16();
        let text = self.read_body(response).await?;
        Ok(ApiResponse { status, text })
    }

    async fn read_body(&self, response: Response<Incoming>) -> CliResult<String> {
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
        let body = body.await.map_err(|error| {
            CliError::failed(format!("the answer of {} broke off: {error}", self.url()))
        })?;
        String::from_utf8(body.to_bytes().into()).map_err(|_| {
            CliError::failed(format!("{} answered with what is no UTF-8 text", self.url()))
        })
    }

    fn refusal(&self, status: u16, text: &str) -> CliError {
        let problem: Value = serde_json::from_str(text).unwrap_or_default();
        let member = |name: &str| problem[name].as_str().map(str::to_owned);
        let Some(reason) = member("reason") else {
            return CliError::failed(format!(
                "{} answered {status} without a reason; is it a Parley server?",
                self.url()
            ));
        };
        let mut detail = member("detail").unwrap_or_default();
        if reason == "token_missing" {
            detail.push_str(" Give --token or set PARLEY_TOKEN.");
        }
        CliError::Refused(Problem { status, reason, detail, field: member("field") })
    }

    fn unreachable(&self, why: &str) -> CliError {
        let url = self.url();
        CliError::failed(format!(
            "cannot reach {url}: {why}; start it with `parley serve`, or name another with --url"
        ))
    }

    fn broken(&self, error: &hyper::Error) -> CliError {
        CliError::failed(format!("{} broke off: {error}; try again", self.url()))
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
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            other => {
                let _ = write!(encoded, "%{other:02X}");
            }
        }
    }
    encoded
}

/// `path` with the parameters that have a value.
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
