//! The ceiling for writes: axum answering after a group commit to redb of records of the same size.

use std::convert::Infallible;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::routing::post;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use memchr::memmem;
use redb::{Database, Durability, TableDefinition};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use super::process::announce;

const JOURNAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("journal");
const QUEUE: usize = 65_536;

type QueuedRecord = (Vec<u8>, oneshot::Sender<u64>);

struct CeilingState {
    writer: mpsc::Sender<QueuedRecord>,
    record_bytes: usize,
    answer_bytes: usize,
}

/// Serves until the process is ended.
pub async fn serve(
    directory: PathBuf,
    record_bytes: usize,
    answer_bytes: usize,
) -> anyhow::Result<()> {
    let (writer, queue) = mpsc::channel(QUEUE);
    let database = open(&directory)?;
    std::thread::spawn(move || commit_all(&database, queue));
    let shape = Arc::new(CeilingState { writer, record_bytes, answer_bytes });
    let app = Router::new().route("/v1/messages", post(answer)).with_state(shape);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let _ = stream.set_nodelay(true);
        tokio::spawn(serve_connection(stream, app.clone()));
    }
}

async fn serve_connection(stream: TcpStream, app: Router) {
    let service = TowerToHyperService::new(app);
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(10))
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // The generator reports a connection that fails.
    drop(served);
}

fn open(directory: &Path) -> anyhow::Result<Database> {
    let database = Database::create(directory.join("journal.redb"))?;
    let transaction = database.begin_write()?;
    transaction.open_table(JOURNAL)?;
    transaction.commit()?;
    Ok(database)
}

/// Group commit: all queued records in one transaction with one sync.
fn commit_all(database: &Database, mut queue: mpsc::Receiver<QueuedRecord>) {
    let mut next = 1_u64;
    let mut batch = Vec::new();
    while queue.blocking_recv_many(&mut batch, QUEUE) > 0 {
        if let Err(error) = commit(database, next, &batch) {
            let _ = writeln!(std::io::stderr(), "ceiling: {error}");
            std::process::exit(1);
        }
        for (_, done) in batch.drain(..) {
            let _ = done.send(next);
            next += 1;
        }
    }
}

fn commit(database: &Database, first: u64, batch: &[QueuedRecord]) -> anyhow::Result<()> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    {
        let mut table = transaction.open_table(JOURNAL)?;
        for (key, (record, _)) in (first..).zip(batch) {
            table.insert(key, record.as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

type Reply = (StatusCode, [(HeaderName, String); 3], Bytes);

/// Answers a message in the form and size of a forum's answer, without any check.
async fn answer(
    State(shape): State<Arc<CeilingState>>,
    request: Bytes,
) -> Result<Reply, Infallible> {
    let mut record = request.to_vec();
    record.resize(shape.record_bytes, b' ');
    let (done, committed) = oneshot::channel();
    let waiting = shape.writer.send((record, done)).await.is_ok();
    let Some(number) = committed.await.ok().filter(|_| waiting) else {
        std::process::exit(1);
    };
    let thread = quoted(&request, b"\"thread\":\"").unwrap_or(b"th_1");
    let body = quoted(&request, b"\"body\":\"").unwrap_or_default();
    let mut json = Vec::with_capacity(shape.answer_bytes + 64);
    json.extend_from_slice(b"{\"message\":{\"id\":\"msg_");
    json.extend_from_slice(number.to_string().as_bytes());
    let pieces: [&[u8]; 5] =
        [b"\",\"thread\":\"", thread, b"\",\"body\":\"", body, b"\",\"rest\":\""];
    json.extend(pieces.into_iter().flatten());
    json.resize(shape.answer_bytes.saturating_sub(3).max(json.len()), b'.');
    json.extend_from_slice(b"\"}}");
    let fields = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::LOCATION, format!("/v1/threads/{}", String::from_utf8_lossy(thread))),
        (HeaderName::from_static("x-request-id"), format!("ceiling-{number:012}")),
    ];
    Ok((StatusCode::CREATED, fields, Bytes::from(json)))
}

fn quoted<'a>(json: &'a [u8], opening: &[u8]) -> Option<&'a [u8]> {
    let from = memmem::find(json, opening)? + opening.len();
    let length = memchr::memchr(b'"', &json[from..])?;
    Some(&json[from..from + length])
}
