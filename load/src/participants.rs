//! The participants that post in a run: identities with tokens, and their extensions.

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::http::Connection;
use crate::objects::Participant;
use crate::target::Target;
use crate::wire::{Binding, Caller, Operation, Outcome, outcome};

/// One participant.
#[derive(Debug, Clone)]
pub struct Member {
    /// Index of the identity among the identities of the run.
    pub line: usize,
    /// The identity, realm included.
    pub identity: String,
    /// The extension; none for the bare line.
    pub extension: Option<String>,
    /// Encoder of the participant's requests.
    pub caller: Caller,
    /// The secret of the token.
    pub token: String,
    /// Whether the token holds `lock`.
    pub lock: bool,
}

impl Member {
    /// The member `from` of a write, as `,"from":{…}`; empty for the bare line.
    pub fn from(&self) -> String {
        self.extension
            .as_ref()
            .map(|extension| format!(",\"from\":{{\"extension\":\"{extension}\"}}"))
            .unwrap_or_default()
    }
}

/// All participants of a run.
#[derive(Debug, Clone, Default)]
pub struct Participants {
    /// The participants; elsewhere a participant is named by its index in this list.
    pub members: Vec<Member>,
}

/// Participants that share one token.
const EXTENSIONS_A_LINE: usize = 8;

impl Participants {
    /// Creates `count` participants and their tokens; the share `mcp` of them uses MCP.
    pub async fn create(target: &Target, count: usize, mcp: f64) -> anyhow::Result<Self> {
        Self::create_on_lines(target, count, count.div_ceil(EXTENSIONS_A_LINE).max(3), mcp).await
    }

    /// The same on `lines` tokens. The first `lines` members are the bare lines.
    pub async fn create_on_lines(
        target: &Target,
        count: usize,
        lines: usize,
        mcp: f64,
    ) -> anyhow::Result<Self> {
        let mut tokens = Vec::with_capacity(lines);
        for line in 0..lines {
            tokens.push(token(target, &format!("load-{line}"), &["read", "write"]).await?);
        }
        let over_mcp = (mcp * count as f64).round() as usize;
        let mut participants = Self::default();
        for index in 0..count {
            let line = index % lines;
            let round = index / lines;
            let (identity, token) = tokens[line].clone();
            let extension = (round > 0).then(|| format!("worker-{round}"));
            let through = (index * over_mcp / count) != ((index + 1) * over_mcp / count);
            let binding = match (through, index % 4 < 2) {
                (false, _) => Binding::Http,
                (true, true) => Binding::Legacy,
                (true, false) => Binding::Modern,
            };
            let caller = Caller::new(&target.host, &token, binding);
            let member = Member { line, identity, extension, caller, token, lock: false };
            participants.members.push(member);
        }
        Ok(participants)
    }

    /// Adds a participant with a token of its own and these rights; returns its index.
    pub async fn add(
        &mut self,
        target: &Target,
        handle: &str,
        rights: &[&str],
    ) -> anyhow::Result<usize> {
        let (identity, token) = token(target, handle, rights).await?;
        let caller = Caller::new(&target.host, &token, Binding::Http);
        let line = self.members.iter().map(|member| member.line + 1).max().unwrap_or(0);
        let lock = rights.contains(&"lock");
        self.members.push(Member { line, identity, extension: None, caller, token, lock });
        Ok(self.members.len() - 1)
    }

    /// Further extensions of the same lines, none of which has posted yet.
    pub fn new_extensions(&self, count: usize) -> Self {
        let new_extension = |index: usize| {
            let sibling = &self.members[index % self.members.len()];
            Member { extension: Some(format!("guest-{index}")), ..sibling.clone() }
        };
        Self { members: (0..count).map(new_extension).collect() }
    }

    /// Whether the participant at this index is the one that is shown.
    pub fn is(&self, place: usize, shown: &Participant<'_>) -> bool {
        self.members.get(place).is_some_and(|member| {
            member.identity == shown.identity
                && member.extension.as_deref() == shown.extension.as_deref()
        })
    }

    /// Participants without tokens, for tests that only compare names.
    #[cfg(test)]
    pub fn of_names(names: &[(&str, Option<&str>)]) -> Self {
        let member = |(line, (identity, extension)): (usize, &(&str, Option<&str>))| Member {
            line,
            identity: (*identity).to_owned(),
            extension: extension.map(str::to_owned),
            caller: Caller::new("h", "t", Binding::Http),
            token: String::new(),
            lock: false,
        };
        Self { members: names.iter().enumerate().map(member).collect() }
    }

    /// Participants without tokens, for a ceiling, which checks none.
    pub fn without_tokens(host: &str, count: usize) -> Self {
        let member = |index: usize| Member {
            line: index,
            identity: format!("local:load-{index}"),
            extension: Some(format!("worker-{index}")),
            caller: Caller::new(host, "parley_0123456789abcdef0123456789abcdef", Binding::Http),
            token: String::new(),
            lock: false,
        };
        Self { members: (0..count).map(member).collect() }
    }
}

/// Creates a token; returns the identity and the secret.
async fn token(target: &Target, handle: &str, rights: &[&str]) -> anyhow::Result<(String, String)> {
    #[derive(Deserialize)]
    struct Created {
        token: Token,
        secret: String,
    }
    #[derive(Deserialize)]
    struct Token {
        identity: String,
    }
    let rights = rights.iter().map(|right| format!("\"{right}\"")).collect::<Vec<_>>().join(",");
    let members = format!("\"handle\":\"{handle}\",\"rights\":[{rights}]");
    let operation = Operation::write("", "/v1/tokens".into(), String::new(), members);
    let caller = target.admin();
    let mut request = Vec::new();
    caller.write(&mut request, &operation);
    let mut connection = Connection::open(target.address).await?;
    let answer = connection.call(&request).await?;
    match outcome(Binding::Http, answer) {
        Outcome::Done(json) => {
            let created: Created =
                serde_json::from_slice(json).context("no token in the answer")?;
            Ok((created.token.identity, created.secret))
        }
        Outcome::Refused { reason, detail, .. } => {
            bail!("no token for {handle}: {reason}: {detail}")
        }
        Outcome::Broken(text) => bail!("no token for {handle}: {text}"),
    }
}
