//! The codecs of `seawall::ai` against the mock that users get: what it says whole and in pieces is the same.
//!
//! What can go wrong: a codec is tested with events of its own making, and the mock with readers of its own. Here each
//! meets the other.

use crate::stage::soon;
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use seawall::ai::{
    Assembly, Chat, Delivery, Dialect, Embeddings, EventError, Finish, Operation, ProviderError, Responses,
    StreamDecoder, StreamState,
};
use seawall::upstream::{Call, Upstream};
use seawall_core::policy::Policy;
use seawall_core::profile::Provider;
use seawall_lab::net::Mock;
use seawall_lab::plan::{Dialect as Spoken, Rule};

/// Asks a mock of one script; the body, also of an answer that is none.
async fn asked(mock: &Mock, dialect: Dialect, operation: Operation<'_>, body: Bytes) -> Bytes {
    let path = dialect.path("", operation).unwrap();
    let path = match dialect {
        // OpenAI's base addresses have the version.
        Dialect::OpenAi => format!("/v1{path}"),
        _ => path,
    };
    let mut call = match operation {
        Operation::Models => Call::get(path),
        _ => Call::post_json(path, body),
    };
    for (name, value) in dialect.headers() {
        call = call.with_header(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    // A provider that knows no streams: what was cut is handed over as it came.
    let upstream = Upstream::builder(&mock.url())
        .unwrap()
        .provider(Provider::Generic)
        .policy(Policy::builder().retries(0).build().unwrap())
        .build()
        .unwrap();
    match soon(upstream.call(call)).await {
        Ok(answer) => answer.body,
        Err(error) => error.answer.clone().unwrap().body,
    }
}

async fn mock(dialect: Dialect, script: &str) -> Mock {
    let rule = Rule {
        dialect: match dialect {
            Dialect::OpenAi => Spoken::OpenAi,
            Dialect::Anthropic => Spoken::Anthropic,
            _ => Spoken::Gemini,
        },
        ..Rule::parse(&format!("* /* = {script}")).unwrap()
    };
    Mock::builder().rule(rule).start().await.unwrap()
}

fn chat() -> Chat {
    Chat::new("mock:small")
        .system("Be brief.")
        .user("What is a seawall, and what is it for?")
        .max_tokens(200)
}

/// What the events of a body make, as far as they could be read.
fn assembled(mut stream: StreamDecoder, bytes: &[u8]) -> (Assembly, StreamState, Option<EventError>) {
    let mut assembly = Assembly::new();
    for event in std::str::from_utf8(bytes).unwrap().split("\n\n") {
        let field = |name: &str| {
            event
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or("")
        };
        let data = field("data: ");
        if data.is_empty() {
            continue;
        }
        match stream.event(field("event: "), data.as_bytes()) {
            Ok(deltas) => deltas.into_iter().for_each(|delta| assembly.push(delta)),
            Err(error) => return (assembly, stream.state(), Some(error)),
        }
    }
    (assembly, stream.state(), None)
}

#[tokio::test]
async fn an_answer_is_the_same_whole_and_in_pieces() {
    // Breaks when a codec joins pieces by another rule than it reads the whole by, or loses the usage at the end.
    for dialect in Dialect::ALL {
        let mock = mock(dialect, "200").await;
        let chat = chat();
        let operation = |delivery| Operation::Chat {
            model: &chat.model,
            delivery,
        };
        let sent = |delivery| dialect.encode(&chat, delivery).unwrap().body;
        let whole = asked(&mock, dialect, operation(Delivery::Whole), sent(Delivery::Whole)).await;
        let whole = dialect.decode(&whole).unwrap();
        let events = asked(
            &mock,
            dialect,
            operation(Delivery::Stream),
            sent(Delivery::Stream),
        )
        .await;
        let (assembly, state, error) = assembled(dialect.stream(), &events);
        assert_eq!((state, error), (StreamState::Complete, None), "{dialect}");
        let told = assembly.into_answer();
        assert!(
            whole.text().contains("What is a seawall"),
            "{dialect}: {}",
            whole.text()
        );
        assert_eq!(told.message, whole.message, "{dialect}");
        assert_eq!(
            (&told.finish, &whole.finish),
            (&Finish::Stop, &Finish::Stop),
            "{dialect}"
        );
        assert!(
            whole
                .usage
                .is_some_and(|usage| usage.input > 0 && usage.output > 0),
            "{dialect}"
        );
        assert_eq!(told.usage, whole.usage, "{dialect}");
        assert_eq!(told.model, whole.model, "{dialect}");
        assert!(!told.id.is_empty(), "{dialect}");
    }
}

#[tokio::test]
async fn a_response_is_the_same_whole_and_in_pieces() {
    // Breaks when Responses, which say everything twice in a stream, are joined twice.
    let dialect = Dialect::OpenAi;
    let mock = mock(dialect, "200").await;
    let call = Responses::new("mock:small")
        .instructions("Be brief.")
        .user("What is a seawall?");
    let sent = |delivery| dialect.encode_responses(&call, delivery).unwrap().body;
    let whole = asked(&mock, dialect, Operation::Responses, sent(Delivery::Whole)).await;
    let whole = dialect.decode_responses(&whole).unwrap();
    let events = asked(&mock, dialect, Operation::Responses, sent(Delivery::Stream)).await;
    let (assembly, state, error) = assembled(dialect.stream_responses(), &events);
    assert_eq!((state, error), (StreamState::Complete, None));
    assert_eq!(assembly.message(), &whole.message);
    assert_eq!(
        (assembly.finish(), assembly.usage()),
        (&whole.finish, whole.usage)
    );
    assert!(whole.text().contains("What is a seawall?"));
}

#[tokio::test]
async fn what_was_received_of_a_stream_that_breaks_is_there() {
    // Breaks when a stream without its last word is taken for whole, or when what came before an error is lost.
    for dialect in Dialect::ALL {
        let model = "mock:small";
        let delivery = Delivery::Stream;
        for (end, spoken) in [
            ("no-done", None),
            ("error", Some("provider")),
            ("bad-json", Some("undecodable")),
        ] {
            let mock = mock(dialect, &format!("stream events=3 then={end}")).await;
            let sent = dialect.encode(&chat(), delivery).unwrap().body;
            let events = asked(&mock, dialect, Operation::Chat { model, delivery }, sent).await;
            let (assembly, state, error) = assembled(dialect.stream(), &events);
            let kind = error.map(|error| match error {
                EventError::Provider(_) => "provider",
                EventError::Undecodable(_) => "undecodable",
                _ => "another",
            });
            assert_eq!((state, kind), (StreamState::Open, spoken), "{dialect}, {end}");
            assert!(!assembly.message().text().is_empty(), "{dialect}, {end}");
            assert_eq!(assembly.finish(), &Finish::Unsaid, "{dialect}, {end}");
        }
    }
}

#[tokio::test]
async fn vectors_and_models_are_read() {
    // Breaks when the second packing of the same vectors gives others.
    for dialect in [Dialect::OpenAi, Dialect::Gemini] {
        let mock = mock(dialect, "200").await;
        let mut read = Vec::new();
        for packing in [seawall::ai::Packing::Numbers, seawall::ai::Packing::Base64] {
            let call = Embeddings::new("mock:small", ["a wall", "the sea"]).packing(packing);
            let sent = dialect.encode_embeddings(&call).unwrap().body;
            let model = "mock:small";
            let body = asked(&mock, dialect, Operation::Embeddings { model }, sent).await;
            read.push(dialect.decode_embeddings(&body).unwrap().vectors);
        }
        assert_eq!(read[0].len(), 2, "{dialect}");
        assert_ne!(read[0][0], read[0][1], "{dialect}");
        assert_eq!(read[0], read[1], "{dialect}");
    }
    for dialect in Dialect::ALL {
        let mock = mock(dialect, "200").await;
        let body = asked(&mock, dialect, Operation::Models, Bytes::new()).await;
        let models = dialect.decode_models(&body).unwrap().models;
        assert_eq!(models.len(), 1, "{dialect}");
    }
}

#[tokio::test]
async fn errors_are_told_in_the_providers_words() {
    // Breaks when an error's code is looked for where another provider has it.
    for (dialect, word) in [
        (Dialect::OpenAi, "insufficient_quota"),
        (Dialect::Anthropic, "rate_limit_error"),
        (Dialect::Gemini, "RESOURCE_EXHAUSTED"),
    ] {
        let script = match dialect {
            Dialect::OpenAi => "429 code=insufficient_quota",
            _ => "429",
        };
        let mock = mock(dialect, script).await;
        let (model, delivery) = ("mock:small", Delivery::Whole);
        let sent = dialect.encode(&chat(), delivery).unwrap().body;
        let body = asked(&mock, dialect, Operation::Chat { model, delivery }, sent).await;
        let error = ProviderError::read(429, None, &body);
        let said = [error.code.as_deref(), error.kind.as_deref()];
        assert!(said.contains(&Some(word)), "{dialect}: {error:?}");
        assert!(error.message.is_some() && error.status == 429, "{dialect}");
    }
}
