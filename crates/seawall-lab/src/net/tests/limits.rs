//! True limits over sockets, on a clock that is cranked: to the nanosecond.

use super::*;
use crate::plan::{Dialect, Form, Limit, LimitKey, Rule};
use seawall::crank::CrankedClock;
use seawall_core::time::Duration;
use std::num::NonZeroU32;

fn some(number: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(number)
}

/// Eight a minute, one at once: the second is let in after 7.5 s.
fn eight() -> Limit {
    Limit {
        burst: some(1),
        ..Limit::per_minute(some(8).unwrap())
    }
}

struct Lab {
    clock: CrankedClock,
    mock: Mock,
}

impl Lab {
    async fn new(rule: Rule) -> Self {
        let clock = CrankedClock::new();
        let builder = Mock::builder().rule(rule).clock(Arc::new(clock.clone()));
        let mock = builder.start().await.unwrap();
        Self { clock, mock }
    }

    async fn of(route: &str, limit: Limit) -> Self {
        Self::new(Rule {
            limit: Some(limit),
            ..Rule::parse(route).unwrap()
        })
        .await
    }

    async fn get(&self) -> String {
        ask(&self.mock, "GET", "/x", "").await
    }

    async fn status(&self) -> u16 {
        status(&self.get().await)
    }

    async fn with(&self, headers: &str) -> String {
        let request = format!("GET /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
        raw(&self.mock, &request).await.0
    }

    fn faults(&self) -> Vec<Option<String>> {
        let attempts = self.mock.journal().attempts;
        attempts
            .into_iter()
            .map(|attempt| attempt.fault.map(Into::into))
            .collect()
    }
}

#[tokio::test]
async fn a_wait_that_is_obeyed_is_enough_and_a_nanosecond_less_is_not() {
    // Could break in any of the six forms: a wait rounded down, or one that is another number than the limit's.
    for form in Form::NAMED {
        let lab = Lab::of("GET /x = 200", Limit { form, ..eight() }).await;
        assert_eq!(lab.status().await, 200);
        let refused = lab.get().await;
        assert_eq!(
            (status(&refused), header(&refused, "x-seawall-fault")),
            (429, Some("limit")),
            "{form:?}"
        );
        let details = &json(&refused)["error"]["details"];
        let said = match form {
            Form::Gemini => details[1]["retryDelay"].as_str().map(str::to_owned),
            _ => header(&refused, "retry-after").map(str::to_owned),
        };
        let expected = if form == Form::Gemini { "7.5s" } else { "8" };
        assert_eq!(said.as_deref(), Some(expected), "{form:?}");
        lab.clock
            .advance(Duration::from_millis(7_500).minus(Duration::from_nanos(1)));
        assert_eq!(lab.status().await, 429, "{form:?} a nanosecond early");
        lab.clock.advance(Duration::from_nanos(1));
        assert_eq!(lab.status().await, 200, "{form:?} as told");
        lab.clock.advance(Duration::from_secs(8));
        assert_eq!(lab.status().await, 200, "{form:?} to the second");
        let limit = Some("limit".to_owned());
        assert_eq!(lab.faults(), [None, limit.clone(), limit, None, None]);
    }
}

#[tokio::test]
async fn a_refusal_by_the_limit_does_not_move_the_script() {
    // Could break if the script were asked first: the 503 would be used up by an attempt that never met it.
    let lab = Lab::of("GET /x = 200, 503, 200", eight()).await;
    let mut met = Vec::new();
    for _ in 0..3 {
        met.push([lab.status().await, lab.status().await]);
        lab.clock.advance(Duration::from_millis(7_500));
    }
    assert_eq!(met, [[200, 429], [503, 429], [200, 429]]);
}

#[tokio::test]
async fn in_one_head_only_the_limit_speaks_of_limits() {
    // Could break: a dialect that makes up its own numbers beside the true ones; or true ones beside those that a step
    // states, of which a client would read either.
    let heads = |answer: String| {
        let mut lines: Vec<String> = answer
            .split("\r\n\r\n")
            .next()
            .unwrap()
            .lines()
            .filter(|line| line.contains("ratelimit") || line.starts_with("retry-after"))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    let met = async |dialect: Dialect, step: &str| {
        let limit = Limit::per_minute(some(60).unwrap());
        let rule = Rule {
            dialect,
            limit: Some(limit),
            ..Rule::parse(&format!("GET /x = {step}")).unwrap()
        };
        heads(Lab::new(rule).await.get().await)
    };
    let groq = [
        "x-ratelimit-limit-requests: 60",
        "x-ratelimit-remaining-requests: 59",
        "x-ratelimit-reset-requests: 1s",
    ];
    assert_eq!(met(Dialect::Groq, "200").await, groq);
    assert_eq!(met(Dialect::Groq, "503").await, groq);
    let github = [
        "ratelimit-policy: \"requests\";q=60;w=60",
        "ratelimit: \"requests\";r=59;t=1",
        "x-ratelimit-limit: 60",
        "x-ratelimit-remaining: 59",
        "x-ratelimit-reset: 1",
    ];
    assert_eq!(met(Dialect::GitHub, "200").await, github);
    let stated = met(Dialect::OpenAi, "200 header.x-ratelimit-remaining-requests=7").await;
    assert_eq!(
        stated,
        [
            "x-ratelimit-limit-requests: 60",
            "x-ratelimit-remaining-requests: 7",
            "x-ratelimit-reset-requests: 1s"
        ]
    );
    let throttled = met(Dialect::Groq, "429 retry-after=20").await;
    assert!(throttled.contains(&"retry-after: 20".to_owned()), "{throttled:?}");
    assert!(throttled.contains(&"x-ratelimit-remaining-requests: 0".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_place_is_free_again_however_the_attempt_ends() {
    // Could break if a way to end were forgotten: with one place, the next attempt would be refused. Each comes as soon as
    // its client knows that the one before has ended, on a connection of its own.
    let limit = Limit {
        concurrency: some(1),
        ..Limit::default()
    };
    let ends = "200, 503, reset, close, truncate at=50%, wrong-length -1, bad-chunk, garbage, bad-gzip, close after=3, \
                error-in-200, 200";
    let lab = Lab::of(&format!("GET /x = {ends}"), limit).await;
    for _ in 0..100 {
        lab.with("").await;
    }
    assert!(
        lab.faults().iter().flatten().all(|fault| fault != "limit"),
        "{:?}",
        lab.faults()
    );
    lab.mock.reset();
    // On one connection, and on many by turns.
    let mut kept = TcpStream::connect(lab.mock.address()).await.unwrap();
    let request = b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n";
    kept.write_all(request).await.unwrap();
    assert_eq!(status(&one_answer(&mut kept).await), 200);
    assert_eq!(lab.status().await, 503);
}

#[tokio::test]
async fn who_leaves_gives_its_place_back() {
    // Could break if only an answer ended an attempt.
    let limit = Limit {
        concurrency: some(1),
        ..Limit::default()
    };
    let lab = Lab::of("GET /x = hang, 200", limit).await;
    let mut hangs = TcpStream::connect(lab.mock.address()).await.unwrap();
    hangs
        .write_all(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    while lab.mock.kept_waiting() == 0 {
        tokio::task::yield_now().await;
    }
    let refused = lab.get().await;
    assert_eq!(
        (status(&refused), header(&refused, "retry-after")),
        (429, None),
        "nobody knows when the other ends"
    );
    drop(hangs);
    lab.mock.quiet().await;
    assert_eq!(lab.status().await, 200);
}

#[tokio::test]
async fn each_key_has_its_own_limit_and_is_told_to_nobody() {
    // Could break if keys shared a bucket, or if the journal held what are credentials.
    let limit = Limit {
        key: LimitKey::Header("authorization".to_owned()),
        ..eight()
    };
    let lab = Lab::of("GET /x = 200", limit).await;
    let mut met = Vec::new();
    for key in ["sk-one", "sk-two", "sk-one"] {
        met.push(status(
            &lab.with(&format!("authorization: Bearer {key}\r\n")).await,
        ));
    }
    met.push(lab.status().await);
    assert_eq!(met, [200, 200, 429, 200]);
    let journal = ask(&lab.mock, "GET", "/__seawall/journal", "").await;
    assert!(!format!("{journal}{:?}", lab.mock).contains("sk-"), "{journal}");
}

#[tokio::test]
async fn tokens_are_charged_before_the_work() {
    // Could break if only the prompt counted, or only what was written.
    let limit = Limit {
        tokens_per_minute: some(100),
        ..Limit::default()
    };
    let rule = Rule {
        limit: Some(limit),
        ..Rule::parse("POST /v1/chat/completions = 200").unwrap()
    };
    let lab = Lab::new(rule).await;
    let chat =
        |most: u32| format!(r#"{{"messages":[{{"role":"user","content":"12345678"}}],"max_tokens":{most}}}"#);
    let meet = async |most: u32| ask(&lab.mock, "POST", "/v1/chat/completions", &chat(most)).await;
    let answer = meet(58).await;
    assert_eq!(header(&answer, "x-ratelimit-remaining-tokens"), Some("40"));
    assert_eq!(header(&answer, "x-ratelimit-reset-tokens"), Some("36s"));
    let refused = meet(68).await;
    assert_eq!(
        (status(&refused), header(&refused, "retry-after-ms")),
        (429, Some("18000"))
    );
    let error = &json(&refused)["error"];
    assert_eq!(
        (&error["type"], &error["code"]),
        (&Value::from("tokens"), &Value::from("rate_limit_exceeded"))
    );
    let never = meet(99).await;
    assert_eq!((status(&never), header(&never, "retry-after")), (429, None));
    assert_eq!(status(&meet(38).await), 200);
}

#[tokio::test]
async fn a_refusal_has_the_shape_of_the_dialect_whose_words_it_is_in() {
    // Could break if a limit made its bodies apart from the dialects: a client of Stripe would find no error in its 429, or
    // Gemini's would name a quota that is not the limit's.
    let refused = async |dialect: Dialect, form: Form| {
        let lab = Lab::new(Rule {
            dialect,
            limit: Some(Limit { form, ..eight() }),
            ..Rule::parse("GET /x = 200").unwrap()
        })
        .await;
        // Azure asks for a key before it answers well, and no answer here has to be good.
        lab.get().await;
        json(&lab.get().await)
    };
    for (dialect, form, member, is) in [
        (Dialect::OpenAi, Form::ByDialect, "/error/type", "requests"),
        (Dialect::Groq, Form::ByDialect, "/error/type", "requests"),
        (Dialect::Azure, Form::ByDialect, "/error/code", "429"),
        (Dialect::Anthropic, Form::ByDialect, "/request_id", "req_mock_0_1"),
        (
            Dialect::Anthropic,
            Form::ByDialect,
            "/error/type",
            "rate_limit_error",
        ),
        (
            Dialect::Gemini,
            Form::ByDialect,
            "/error/status",
            "RESOURCE_EXHAUSTED",
        ),
        (
            Dialect::Gemini,
            Form::ByDialect,
            "/error/details/0/violations/0/quotaValue",
            "1",
        ),
        (Dialect::Stripe, Form::ByDialect, "/error/code", "rate_limit"),
        (Dialect::GitHub, Form::ByDialect, "/status", "429"),
        // What a file says stands before the dialect.
        (
            Dialect::Stripe,
            Form::Anthropic,
            "/error/type",
            "rate_limit_error",
        ),
    ] {
        let body = refused(dialect, form).await;
        assert_eq!(
            body.pointer(member).and_then(Value::as_str),
            Some(is),
            "{dialect:?} {form:?} {body}"
        );
    }
    let body = refused(Dialect::Stripe, Form::Generic).await;
    assert_eq!(body["error"]["status"], 429, "{body}");
}

#[tokio::test]
async fn what_a_limit_refuses_does_no_work() {
    // Could break if work were done before the limit was asked: a client that was told 429 would have paid.
    let rule = Rule {
        limit: Some(eight()),
        resource: Some("payments".to_owned()),
        ..Rule::parse("POST /v1/payments = 200").unwrap()
    };
    let lab = Lab::new(rule).await;
    let mut met = Vec::new();
    for _ in 0..3 {
        met.push(status(&ask(&lab.mock, "POST", "/v1/payments", "{}").await));
    }
    assert_eq!(met[1..], [429, 429]);
    let kept = ask(&lab.mock, "GET", "/__seawall/resources/payments", "").await;
    assert_eq!(json(&kept)["count"], 1, "{kept}");
}

#[tokio::test]
async fn a_reset_fills_every_bucket() {
    // Could break if only scripts began anew.
    let lab = Lab::of("GET /x = 200", eight()).await;
    assert_eq!([lab.status().await, lab.status().await], [200, 429]);
    lab.mock.reset();
    assert_eq!(lab.status().await, 200);
}

#[tokio::test]
async fn a_download_holds_its_place_until_its_last_bytes_go() {
    // Could break if the place were given back before the first byte of the body: whoever takes a minute over one would not
    // count among those that are being answered.
    let limit = Limit {
        concurrency: some(1),
        ..Limit::default()
    };
    // More than the system holds for a client that does not read.
    let lab = Lab::of("GET /x = truncate at=40000000, 200", limit).await;
    let mut slow = TcpStream::connect(lab.mock.address()).await.unwrap();
    slow.write_all(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    slow.read_exact(&mut [0; 1_000]).await.unwrap();
    assert_eq!(lab.status().await, 429);
    read_out(&mut slow).await;
    assert_eq!(lab.status().await, 200);
}
