//! Row 4: a client that connects lazily, pools, takes 60 s at most, and leaves neither socket nor task behind.
use seawall::Duration;
use seawall::ai::{Chat, Client, ClientBuilder, Error, Key};

pub fn client(url: &str) -> ClientBuilder {
    Client::builder()
        .base_url(format!("{url}/v1"))
        .key(Key::new("sk-mock")) // Or .openai().key_from_env("OPENAI_API_KEY").
        .deadline(Duration::from_secs(60))
}

pub async fn run(client: &Client) -> Result<String, Error> {
    let chat = Chat::new("small-1")
        .user("What is a seawall?")
        .temperature(0.7)
        .max_tokens(1_000)
        .extra("repetition_penalty", 1.1);
    Ok(client.chat(chat).await?.text().into_owned())
}
