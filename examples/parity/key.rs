//! Row 17: is the key good? One GET of the list of models, which costs nothing; three things may come of it.
use seawall::ai::{Client, ClientBuilder, Key, KeyCheck};

pub fn client(url: &str, key: &str) -> ClientBuilder {
    Client::builder().base_url(format!("{url}/v1")).key(Key::new(key))
}

pub async fn run(client: &Client) -> String {
    match client.check_key().await {
        KeyCheck::Valid => "the key works".to_owned(),
        KeyCheck::Refused(error) => format!("mend the key: {error}"),
        unclear => unclear.to_string(), // The server is down, say: that is no word on the key.
    }
}
