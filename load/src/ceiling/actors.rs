//! The ceiling for memory: idle actors and nothing else.

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::net::TcpListener;

use super::process::announce;

struct Idle;

impl Actor for Idle {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

/// Spawns `count` actors, announces an address, holds the actors until the process is ended.
pub async fn serve(count: usize) -> anyhow::Result<()> {
    let mut actors = Vec::with_capacity(count);
    for _ in 0..count {
        actors.push(Actor::spawn(None, Idle, ()).await?);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(listener.local_addr()?)?;
    std::future::pending::<()>().await;
    drop(actors);
    Ok(())
}
