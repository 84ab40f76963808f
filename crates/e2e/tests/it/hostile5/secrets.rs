//! Peers that repeat what let their caller in, wherever they can.

use super::peer::{Peer, client, policy};
use crate::stage::soon;
use seawall::Credential;
use seawall::ai::{Chat, Client, Dialect, Error, Key, Server};
use seawall::http::Secret;

const KEY: &str = "sk-very-secret-0123456789";

/// All that an error shows to a log, with what it is caused by.
fn shown(error: &Error) -> String {
    let mut all = format!(
        "{error} {error:?} {:?} {:?}",
        error.provider(),
        error.request_id()
    );
    let mut next: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = next {
        all.push_str(&format!(" {error} {error:?} {error:#?}"));
        next = error.source();
    }
    all
}

fn echo(secret: &str) -> String {
    format!(
        r#"{{"error":{{"message":"bad {secret}","type":"{secret}","code":"{secret}","param":"{secret}"}}}}"#
    )
}

async fn echoing(status: u16, secret: &str) -> Peer {
    let headers = format!("content-type: application/json\r\nx-request-id: {secret}\r\n");
    Peer::answering(status, &headers, echo(secret).as_bytes()).await
}

fn chat() -> Chat {
    Chat::new("m").user("Hello").max_tokens(5)
}

#[tokio::test]
async fn whatever_repeats_a_secret_is_not_shown() {
    // Breaks when a key is blotted out of the message and not of the code, the number of the request or the cause.
    for dialect in Dialect::ALL {
        for status in [200, 400, 401, 500] {
            let peer = echoing(status, KEY).await;
            let error = soon(client(dialect, peer.url()).chat(chat())).await.unwrap_err();
            assert!(
                !shown(&error).contains("very-secret"),
                "{dialect:?} {status}: {}",
                shown(&error)
            );
        }
    }
}

#[tokio::test]
async fn an_error_in_a_stream_does_not_show_it_either() {
    // Breaks when the cause of a break holds what the break itself does not.
    let content = r#"data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
    let text = format!("{content}\n\ndata: {}\n\n", echo(KEY));
    let peer = Peer::streaming(vec![text.into_bytes()]).await;
    let mut stream = soon(client(Dialect::OpenAi, peer.url()).stream(chat()))
        .await
        .unwrap();
    let error = loop {
        if let Err(error) = soon(stream.next()).await.unwrap() {
            break error;
        }
    };
    assert_eq!(error.provider().unwrap().code.as_deref(), Some("***"));
    assert!(!shown(&error).contains("very-secret"), "{}", shown(&error));
}

#[tokio::test]
async fn a_token_that_is_renewed_is_as_secret_as_a_key() {
    // Breaks when only keys that stay are known to be secrets, or only the newest version of a token: it is the one before
    // that a denial repeats.
    for (status, spoken) in [
        (500, "token-very-secret-1"),
        (401, "token-very-secret-1"),
        (401, "token-very-secret-2"),
    ] {
        let peer = echoing(status, spoken).await;
        let token = Credential::refreshing(|| async { Secret::bearer("token-very-secret-2") });
        let token = token.beginning_with(Secret::bearer("token-very-secret-1").unwrap());
        let server = Server::openai().base_url(peer.url()).token(token);
        let client = Client::builder().server(server).policy(policy()).build().unwrap();
        let error = soon(client.chat(chat())).await.unwrap_err();
        assert!(
            !shown(&error).contains("very-secret"),
            "{status}: {}",
            shown(&error)
        );
    }
}

#[tokio::test]
async fn a_key_of_one_server_is_not_shown_in_the_error_of_another() {
    // Breaks when what the first server said is told after a call that ended at the second, and only the second's key is
    // looked for in it.
    let peer = echoing(500, KEY).await;
    let first = Server::openai().base_url(peer.url()).key(Key::new(KEY));
    let gone = Server::anthropic()
        .base_url("http://127.0.0.1:1")
        .key(Key::new("sk-ant-of-the-other"));
    let builder = Client::builder().server(first).policy(policy());
    let client = builder.fallback(gone.model("claude")).build().unwrap();
    let error = soon(client.chat(chat())).await.unwrap_err();
    assert_eq!((error.upstream(), error.attempts().len()), ("anthropic", 2));
    assert!(!shown(&error).contains("very-secret"), "{}", shown(&error));
}

#[test]
fn a_key_in_an_address_is_not_printed() {
    // Breaks when the builder, which refuses such an address, prints it first.
    for url in [
        format!("https://user:{KEY}@host.example/v1"),
        format!("https://host.example/v1?key={KEY}"),
        format!("https://host.example/{KEY}/v1"),
        format!("bad://{KEY}"),
        format!("//{KEY}"),
    ] {
        let builder = Client::builder().base_url(&url).fallback(Server::at(&url));
        let printed = format!("{builder:?} {:?}", Server::at(&url));
        let built = builder.build().map(|client| format!("{client:?}"));
        let built = built.unwrap_or_else(|error| format!("{error} {error:?}"));
        // A host is no secret.
        let told = format!("{printed} {built}").replace(&format!("Some(\"{KEY}\")"), "");
        assert!(!told.contains("very-secret"), "{told}");
    }
}

#[tokio::test]
async fn a_key_in_a_query_is_not_in_the_error_of_reqwest() {
    // Breaks when what reqwest prints of itself, the whole address, is handed on as it is.
    let client = seawall::reqwest::Client::new(reqwest::Client::new(), &policy());
    let url = "http://user:pass-very-secret@127.0.0.1:1/models?page=1&key=very-secret";
    let error = soon(client.get(url).send()).await.unwrap_err();
    let shown = |error: &dyn std::error::Error| {
        let mut next = Some(error);
        let chain = std::iter::from_fn(|| {
            let error = next?;
            next = error.source();
            Some(format!("{error} {error:?} "))
        });
        chain.collect::<String>()
    };
    assert!(!shown(&error).contains("very-secret"), "{}", shown(&error));
    assert!(
        shown(&error).contains("127.0.0.1:1/models?page="),
        "{}",
        shown(&error)
    );
    let chain = reqwest_middleware::ClientBuilder::new(reqwest::Client::new());
    let chain = chain.with(seawall::reqwest::Middleware::new(&policy())).build();
    let error = soon(chain.get(url).send()).await.unwrap_err();
    assert!(!shown(&error).contains("very-secret"), "{}", shown(&error));
}
