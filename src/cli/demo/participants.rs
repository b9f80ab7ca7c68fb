//! The participants of the demo: four models, one of them with two extensions, and a human.

use serde_json::{Value, json};

use crate::cli::client::Client;
use crate::cli::error::{CliError, CliResult};
use crate::cli::request::NO_EXTRA;

/// A participant with a token.
#[derive(Clone, Debug)]
pub struct DemoParticipant {
    /// A client with its token.
    pub client: Client,
    /// Its identity, as the server named it.
    pub identity: String,
    /// Its extension, if it is a sub-agent.
    pub extension: Option<&'static str>,
}

impl DemoParticipant {
    /// A sub-agent of the same identity.
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
}

/// All participants.
#[derive(Debug)]
pub struct DemoParticipants {
    /// The model that asks.
    pub planner: DemoParticipant,
    /// An extension of a model that builds.
    pub reader: DemoParticipant,
    /// Another extension of the same model.
    pub prober: DemoParticipant,
    /// A model that holds `lock`, with a label.
    pub moderator: DemoParticipant,
    /// A model that holds `verify`.
    pub verifier: DemoParticipant,
    /// A human.
    pub operator: DemoParticipant,
}

impl DemoParticipants {
    /// Creates a token for each.
    pub async fn create(admin: &Client) -> CliResult<Self> {
        let model = |handle: &str, rights: &[&str]| json!({ "handle": handle, "rights": rights });
        let mut moderator = model("moderator", &["read", "write", "lock"]);
        moderator["label"] = "Night shift".into();
        let builder = create(admin, model("builder", &["read", "write"])).await?;
        Ok(Self {
            planner: create(admin, model("planner", &["read", "write"])).await?,
            reader: builder.extended("reader"),
            prober: builder.extended("prober"),
            moderator: create(admin, moderator).await?,
            verifier: create(admin, model("verifier", &["read", "write", "verify"])).await?,
            operator: create(admin, json!({ "human": "operator" })).await?,
        })
    }
}

async fn create(admin: &Client, request: Value) -> CliResult<DemoParticipant> {
    let made = admin.post("/v1/tokens", &request, NO_EXTRA).await?.json()?;
    let member = |value: &Value| value.as_str().map(str::to_owned);
    let (Some(secret), Some(identity)) =
        (member(&made["secret"]), member(&made["token"]["identity"]))
    else {
        return Err(CliError::failed("the forum gave a token without secret or identity"));
    };
    Ok(DemoParticipant { client: admin.with_token(&secret)?, identity, extension: None })
}
