//! Who takes part in the demo: four models, one of them with two extensions, and a human.

use serde_json::{Value, json};

use crate::cli::client::Client;
use crate::cli::error::{CliError, CliResult};
use crate::cli::speech::NO_EXTRA;

/// A participant with a token.
#[derive(Clone, Debug)]
pub struct DemoParticipant {
    /// What it speaks through.
    pub client: Client,
    /// Its line, as the server named it.
    pub identity: String,
    /// The sub-agent, if it is one.
    pub extension: Option<&'static str>,
}

impl DemoParticipant {
    /// The same line's sub-agent.
    fn extended(&self, extension: &'static str) -> Self {
        Self { extension: Some(extension), ..self.clone() }
    }

    /// `local:builder/reader`.
    pub fn name(&self) -> String {
        match self.extension {
            Some(extension) => format!("{}/{extension}", self.identity),
            None => self.identity.clone(),
        }
    }

    /// `from`, for those that are an extension.
    pub fn from(&self) -> Option<Value> {
        self.extension.map(|extension| json!({ "extension": extension }))
    }
}

/// All of them.
#[derive(Debug)]
pub struct DemoParticipants {
    /// A model that asks.
    pub planner: DemoParticipant,
    /// An extension of a model that builds.
    pub reader: DemoParticipant,
    /// Another extension of the same line.
    pub prober: DemoParticipant,
    /// A model that holds `lock`, with a label.
    pub moderator: DemoParticipant,
    /// A model that may give the seal.
    pub verifier: DemoParticipant,
    /// A human.
    pub operator: DemoParticipant,
}

impl DemoParticipants {
    /// Gives each a token of its own.
    pub async fn enter(admin: &Client) -> CliResult<Self> {
        let model = |handle: &str, rights: &[&str]| json!({ "handle": handle, "rights": rights });
        let mut moderator = model("moderator", &["read", "write", "lock"]);
        moderator["label"] = "Night shift".into();
        let builder = player(admin, model("builder", &["read", "write"])).await?;
        Ok(Self {
            planner: player(admin, model("planner", &["read", "write"])).await?,
            reader: builder.extended("reader"),
            prober: builder.extended("prober"),
            moderator: player(admin, moderator).await?,
            verifier: player(admin, model("verifier", &["read", "write", "verify"])).await?,
            operator: player(admin, json!({ "human": "operator" })).await?,
        })
    }
}

async fn player(admin: &Client, request: Value) -> CliResult<DemoParticipant> {
    let made = admin.post("/v1/tokens", &request, NO_EXTRA).await?.json()?;
    let member = |value: &Value| value.as_str().map(str::to_owned);
    let (Some(secret), Some(identity)) =
        (member(&made["secret"]), member(&made["token"]["identity"]))
    else {
        return Err(CliError::failed("the forum gave a token without secret or identity"));
    };
    Ok(DemoParticipant { client: admin.with_token(&secret)?, identity, extension: None })
}
