//! Row 6: many at once, so many at a time; each prompt has its own answer or its own error, and the good are counted.
use seawall::ai::{Chat, Client, Error};

pub async fn run(client: &Client, prompts: Vec<String>) -> (usize, Vec<Result<String, Error>>) {
    let chats = prompts
        .into_iter()
        .map(|prompt| Chat::new("small-1").user(prompt));
    let results = client.chat_many(chats).concurrency(10).collect().await;
    let texts: Vec<_> = results
        .into_iter()
        .map(|result| result.map(|answer| answer.text().into_owned()))
        .collect();
    (texts.iter().filter(|text| text.is_ok()).count(), texts)
}
