//! Row 9: closing is dropping. Whatever a call was doing, its connection is closed and its place is given back.
use seawall::ai::{Chat, Client, Delta};

pub async fn run(client: Client, patience: impl Future<Output = ()>) -> Option<String> {
    tokio::select! {
        answer = client.ask("small-1", "What is a seawall?") => answer.ok(),
        () = patience => None, // The call is dropped here, and then the client.
    }
}

pub async fn first_words(client: Client) -> Option<String> {
    let mut stream = client
        .stream(Chat::new("small-1").user("Tell me all."))
        .await
        .ok()?;
    while let Some(Ok(delta)) = stream.next().await {
        if let Delta::Text(text) = delta {
            return Some(text); // So is a stream that nobody reads to its end.
        }
    }
    None
}
