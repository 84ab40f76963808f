//! Row 5: what each status means, as kinds to match on. Waits that a server asks for are kept, in all their forms.
use seawall::ai::{Chat, Client, ErrorKind};

pub async fn run(client: &Client) -> String {
    let error = match client.chat(Chat::new("small-1").user("Hello")).await {
        Ok(answer) => return format!("answered at attempt {}", answer.attempts().len()),
        Err(error) => error,
    };
    match error.root() {
        ErrorKind::RateLimited {
            retry_after: Some(wait),
            ..
        } => format!("rate limited: again in {wait}"),
        ErrorKind::RateLimited { .. } => "rate limited".to_owned(),
        ErrorKind::Authentication => "authentication failed".to_owned(),
        ErrorKind::Server { status } => {
            format!("server error {status} at attempt {}", error.attempts().len())
        }
        other => match error.provider().and_then(|provider| provider.message.as_deref()) {
            Some(message) => format!("API error: {message}"),
            None => format!("API error: {other}"),
        },
    }
}
