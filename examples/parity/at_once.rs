//! Row 15: five at once, whoever calls. Those that wait go in their order, and a place comes back however a call ends.
use seawall::ai::{Chat, Client, ClientBuilder, Error};
use seawall::{Policy, PolicyError};

pub fn client(url: &str) -> Result<ClientBuilder, PolicyError> {
    let policy = Policy::builder().concurrency(5).build()?;
    Ok(Client::builder().base_url(format!("{url}/v1")).policy(policy))
}

/// One of many tasks that share the client.
pub async fn run(client: &Client, prompt: &str) -> Result<String, Error> {
    client.ask("small-1", prompt).await
}

/// A batch of prompts, in their order.
pub async fn complete(client: &Client, prompts: &[&str]) -> Vec<Result<String, Error>> {
    let chats = prompts.iter().map(|prompt| Chat::new("small-1").user(*prompt));
    let results = client.chat_many(chats).concurrency(5).collect().await;
    let texts = results
        .into_iter()
        .map(|result| result.map(|answer| answer.text().into_owned()));
    texts.collect()
}
