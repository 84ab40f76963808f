use super::*;
use crate::plan::{Dialect, Form, Limit, LimitKey, Pattern};
use expect_test::{Expect, expect};

/// Every one of these is no mock file, for the reasons expected.
fn check(texts: &[&str], expected: Expect) {
    let errors = texts.iter().map(|text| {
        format!(
            "{}
",
            MockFile::parse("mock.toml", text).expect_err(text)
        )
    });
    expected.assert_eq(&errors.collect::<String>());
}

#[test]
fn a_file_says_what_it_says() {
    // Could break if a key were read and dropped.
    let file = MockFile::parse(
        "mock.toml",
        r#"
listen = "127.0.0.1:9000"
seed = 0x2a
[[route]]
match = "POST /v1/payments"
script = "2x 503, 429 retry-after=5, 200"
state = "header:X-Test-Id"
latency = "15s"
resource = "payments"
idempotency = { header = "X-Key", ttl = "1h", scope = "header:Authorization", required = true }
limit = { key = "header:Authorization", rpm = 60, tpm = 10_000, rps = 5, concurrency = 4, burst = 7, form = "groq", window = "bucket" }
[[route]]
match = "POST /v1/chat/completions"
mix = { "200" = 0.90, "503" = 0.05, "hang" = 0.02, "truncate at=50%" = 0.02, reset = 0.01 }
latency = { p50 = "120ms", p99 = "2s" }
[[route]]
match = "* /*"
dialect = "openai"
latency = { uniform = ["1s", "2s"] }
"#,
    )
    .unwrap();
    assert_eq!(
        (file.listen.as_deref(), file.seed),
        (Some("127.0.0.1:9000"), Some(42))
    );
    let [payments, chat, rest] = &file.rules[..] else {
        panic!("three routes");
    };
    assert_eq!(payments.pattern.to_string(), "POST /v1/payments");
    assert_eq!(payments.state, State::Header("x-test-id".to_owned()));
    assert_eq!(
        (payments.latency, payments.dialect),
        (Latency::Fixed(Duration::from_secs(15)), Dialect::ByPath)
    );
    let some = std::num::NonZeroU32::new;
    let limit = Limit {
        key: LimitKey::Header("authorization".to_owned()),
        requests_per_minute: some(60),
        requests_per_second: some(5),
        tokens_per_minute: some(10_000),
        concurrency: some(4),
        burst: some(7),
        form: Form::Groq,
    };
    assert_eq!((&payments.limit, &rest.limit), (&Some(limit), &None));
    assert_eq!((chat.dialect, rest.dialect), (Dialect::ByPath, Dialect::OpenAi));
    let Answers::Mix(mix) = &chat.answers else {
        panic!("a mix");
    };
    let shares: Vec<_> = mix
        .parts()
        .iter()
        .map(|(action, share)| (action.to_string(), share / 10_000_000))
        .collect();
    let expected = [
        ("200", 90),
        ("503", 5),
        ("hang", 2),
        ("reset", 1),
        ("truncate at=50%", 2),
    ];
    assert_eq!(shares, expected.map(|(action, share)| (action.to_owned(), share)));
    let idempotency = Idempotency {
        header: "x-key".to_owned(),
        ttl: Duration::from_secs(3_600),
        scope: Scope::Header("authorization".to_owned()),
        unkeyed: Unkeyed::Refused,
    };
    assert_eq!(payments.resource.as_deref(), Some("payments"));
    assert_eq!(payments.idempotency, Some(idempotency));
    assert_eq!((&chat.resource, &chat.idempotency), (&None, &None));
    assert_eq!((&rest.answers, &rest.pattern), (&Answers::Plain, &Pattern::any()));
}

#[test]
fn a_mistake_inside_a_script_is_pointed_at_in_the_file() {
    // Could break if the script's own columns were told, or those of the line's end.
    check(
        &[
            "[[route]]\nmatch = \"GET /x\"\nscript = \"2x rest, 200\"\n",
            "[[route]]\nmatch = \"GET /x\"\nscript = '''\n2x 503,\n  cloze\n'''\n",
            "[[route]]\nmatch = \"GET /x\"\nscript = \"200 text=\\\"a\\\" rest\"\n",
            "[[route]]\nmatch = \"get /x\"\n",
            "[[route]]\nmatch = \"GET\"\n",
            "[[route]]\nmatch = \"GET /x y\"\n",
            "[[route]]\nmatch = \"GET /x\"\nmix = { \"200\" = 0.5, \"truncat\" = 0.5 }\n",
        ],
        expect![[r#"
            mock.toml:3:14: `rest` is no action
            3 | script = "2x rest, 200"
              |              ^^^^ did you mean `reset`?
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
            mock.toml:5:3: `cloze` is no action
            5 |   cloze
              |   ^^^^^ did you mean `close`?
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
            mock.toml:3:10: `rest` does not follow an action
            3 | script = "200 text=\"a\" rest"
              |          ^^^^^^^^^^^^^^^^^^^^^
              = expected a comma before the next step, or key=value
            mock.toml:2:10: `get` is no method; methods are in capitals
            2 | match = "get /x"
              |          ^^^ did you mean `GET`?
              = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
            mock.toml:2:10: a route has no path
            2 | match = "GET"
              |          ^^^
              = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
            mock.toml:2:17: a pattern ends after its path
            2 | match = "GET /x y"
              |                 ^
              = expected `METHOD PATH`
            mock.toml:3:23: `truncat` is no action
            3 | mix = { "200" = 0.5, "truncat" = 0.5 }
              |                       ^^^^^^^ did you mean `truncate`?
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
        "#]],
    );
}

#[test]
fn an_unknown_key_is_never_ignored() {
    // Could break if a table were read key by key and the rest forgotten.
    check(
        &[
            "lisen = \"x\"\n",
            "[[route]]\nmatch = \"GET /x\"\nscripts = \"200\"\n",
            "[[route]]\nmatch = \"GET /x\"\nlatency = { p50 = \"1s\", p90 = \"2s\" }\n",
        ],
        expect![[r#"
            mock.toml:1:1: a mock file has no key `lisen`
            1 | lisen = "x"
              | ^^^^^ did you mean `listen`?
              = expected one of listen, seed, time_scale, clock, listener, route
            mock.toml:3:1: a route has no key `scripts`
            3 | scripts = "200"
              | ^^^^^^^ did you mean `script`?
              = expected one of match, script, mix, latency, dialect, state, limit, resource, idempotency
            mock.toml:3:25: a latency has no key `p90`
            3 | latency = { p50 = "1s", p90 = "2s" }
              |                         ^^^ did you mean `p50`?
              = expected one of p50, p99, uniform
        "#]],
    );
}

#[test]
fn a_listener_says_what_connections_meet() {
    // Could break if a key were read and dropped: a plain port would pass for one with TLS.
    let file = MockFile::parse(
        "mock.toml",
        "[listener]\nscript = \"2x refuse, tls-fail, accept\"\ntls = true\nhttp = \"2\"\n",
    )
    .unwrap();
    assert_eq!(
        file.listener,
        Listener {
            script: Some("2x refuse, tls-fail, accept".parse().unwrap()),
            security: Security::Tls,
            http: HttpVersions::Http2,
        }
    );
    assert_eq!(
        MockFile::parse("mock.toml", "").unwrap().listener,
        Listener::default()
    );
    check(
        &[
            "listener = 5\n",
            "[listener]\nscript = \"2x refused, accept\"\n",
            "[listener]\nscript = \"accept, bad-cert\"\n",
            "[listener]\ntls = \"yes\"\n",
            "[listener]\nhttp = \"3\"\n",
            "[listener]\nalpn = \"h2\"\n",
        ],
        expect![[r#"
            mock.toml:1:12: listener is no table
            1 | listener = 5
              |            ^
              = expected [listener]
            mock.toml:2:14: `refused` is nothing that a listener does
            2 | script = "2x refused, accept"
              |              ^^^^^^^ did you mean `refuse`?
              = expected one of accept, refuse, reset, close, hang, tls-fail, tls-hang, bad-cert, expired-cert
            mock.toml:2:19: `bad-cert` needs TLS, which this listener does not speak
            2 | script = "accept, bad-cert"
              |                   ^^^^^^^^
              = expected `tls = true` in [listener], `--tls`, or reset, close or hang
            mock.toml:2:7: tls is neither true nor false
            2 | tls = "yes"
              |       ^^^^^
              = expected true or false
            mock.toml:2:8: `3` is no choice of versions
            2 | http = "3"
              |        ^^^ did you mean `2`?
              = expected one of auto, 1.1, 2
            mock.toml:2:1: a listener has no key `alpn`
            2 | alpn = "h2"
              | ^^^^
              = expected one of script, tls, http
        "#]],
    );
}

#[test]
fn an_action_that_no_connection_can_meet_is_pointed_at() {
    // Could break if it waited for the first attempt, which would then be answered with something else.
    check(
        &[
            "[listener]\nhttp = \"1.1\"\n[[route]]\nmatch = \"GET /x\"\nscript = \"503, 2x goaway, 200\"\n",
            "[listener]\nhttp = \"2\"\n[[route]]\nmatch = \"GET /x\"\nmix = { \"bad-chunk\" = 1 }\n",
        ],
        expect![[r#"
            mock.toml:5:19: HTTP/1.1 has no `goaway`, and this listener speaks nothing else
            5 | script = "503, 2x goaway, 200"
              |                   ^^^^^^
              = expected `http = "auto"` in [listener], or another action
            mock.toml:5:10: HTTP/2 has no `bad-chunk`, and this listener speaks nothing else
            5 | mix = { "bad-chunk" = 1 }
              |          ^^^^^^^^^
              = expected `http = "auto"` in [listener], or another action
        "#]],
    );
    let both = "[[route]]\nmatch = \"GET /x\"\nscript = \"goaway, rst-stream, bad-chunk, slow-headers\"\n";
    assert!(MockFile::parse("mock.toml", both).is_ok());
}

#[test]
fn a_wrong_value_is_pointed_at() {
    check(
        &[
            "seed = \"x\"\n",
            "listen = 9000\n",
            "route = 5\n",
            "[[route]]\nscript = \"200\"\n",
            "[[route]]\nmatch = \"GET /x\"\nscript = \"200\"\nmix = { \"200\" = 1 }\n",
            "[[route]]\nmatch = \"GET /x\"\nmix = { \"200\" = 0.5, \"503\" = 0.4 }\n",
            "[[route]]\nmatch = \"GET /x\"\nmix = { \"200\" = nan }\n",
            "[[route]]\nmatch = \"GET /x\"\nlatency = \"15\"\n",
            "[[route]]\nmatch = \"GET /x\"\nlatency = { p50 = \"2s\", p99 = \"1s\" }\n",
            "[[route]]\nmatch = \"GET /x\"\ndialect = \"openia\"\n",
            "[[route]]\nmatch = \"GET /x\"\nstate = \"cookie\"\n",
            "[[route]]\nmatch = \"GET /x\"\nresource = \"my payments\"\n",
            "[[route]]\nmatch = \"GET /x\"\nidempotency = true\n",
            "[[route]]\nmatch = \"GET /x\"\nidempotency = { heder = \"x\" }\n",
            "[[route]]\nmatch = \"GET /x\"\nidempotency = { header = \"a b\" }\n",
            "[[route]]\nmatch = \"GET /x\"\nidempotency = { ttl = \"0s\" }\n",
            "[[route]]\nmatch = \"GET /x\"\nidempotency = { scope = \"routes\" }\n",
            "[[route]]\nmatch = \"GET /x\"\nidempotency = { required = \"yes\" }\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = 60\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = { key = \"route\" }\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = { rpm = 0 }\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = { tpm = 4294967296 }\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = { rpm = 6.5 }\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = { rpm = 1, key = \"cookie\" }\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = { rpm = 1, form = \"antropic\" }\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = { rpm = 1, window = \"fixed\" }\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = { tpm = 1, burst = 2 }\n",
            "[[route]]\nmatch = \"GET /x\"\nlimit = { rpm = 1, tpd = 2 }\n",
            "seed = 1\nseed = 2\n",
            "seed = \n",
        ],
        expect![[r#"
            mock.toml:1:8: seed is no number
            1 | seed = "x"
              |        ^^^
              = expected a whole number from 0
            mock.toml:1:10: listen is no text
            1 | listen = 9000
              |          ^^^^
              = expected a text in quotes
            mock.toml:1:9: route is no list of tables
            1 | route = 5
              |         ^
              = expected one [[route]] or more
            mock.toml:1:1: this route does not say what it matches
            1 | [[route]]
              | ^^^^^^^^^
              = expected match = "POST /v1/payments"
            mock.toml:4:7: a route has a script or a mix, not both
            4 | mix = { "200" = 1 }
              |       ^^^^^^^^^^^^^
            mock.toml:3:7: the shares of this mix add up to 0.900
            3 | mix = { "200" = 0.5, "503" = 0.4 }
              |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              = expected 1 in all
            mock.toml:3:17: a share is a number from 0 to 1
            3 | mix = { "200" = nan }
              |                 ^^^
              = expected 0.02 for 2 %
            mock.toml:3:11: `15` is no length of time
            3 | latency = "15"
              |           ^^^^
              = expected 500ms, 30s, 2m or 1h30m
            mock.toml:3:11: p50 is above 0 and not above p99
            3 | latency = { p50 = "2s", p99 = "1s" }
              |           ^^^^^^^^^^^^^^^^^^^^^^^^^^
              = expected "15s", { p50 = "120ms", p99 = "2s" } or { uniform = ["1s", "2s"] }
            mock.toml:3:11: `openia` is no dialect that this mock speaks
            3 | dialect = "openia"
              |           ^^^^^^^^ did you mean `openai`?
              = expected one of openai, anthropic, gemini, azure, groq, stripe, github, generic
            mock.toml:3:9: `cookie` is no state
            3 | state = "cookie"
              |         ^^^^^^^^
              = expected "header:NAME"
            mock.toml:3:12: `my payments` is no name of a resource
            3 | resource = "my payments"
              |            ^^^^^^^^^^^^^
              = expected 1 to 64 of a-z, A-Z, 0-9, `-`, `_` and `.`, as in "payments"
            mock.toml:3:15: idempotency is no table
            3 | idempotency = true
              |               ^^^^
              = expected idempotency = { header = "Idempotency-Key", ttl = "24h" }
            mock.toml:3:17: idempotency has no key `heder`
            3 | idempotency = { heder = "x" }
              |                 ^^^^^ did you mean `header`?
              = expected one of header, ttl, scope, required
            mock.toml:3:26: `a b` is no header
            3 | idempotency = { header = "a b" }
              |                          ^^^^^
              = expected a header's name, as in "Idempotency-Key"
            mock.toml:3:23: a key that is known for no time is none
            3 | idempotency = { ttl = "0s" }
              |                       ^^^^
              = expected a length of time above 0, as in "24h"
            mock.toml:3:25: `routes` is no scope
            3 | idempotency = { scope = "routes" }
              |                         ^^^^^^^^ did you mean `route`?
              = expected "route" or "header:NAME", as in "header:authorization"
            mock.toml:3:28: required is no truth value
            3 | idempotency = { required = "yes" }
              |                            ^^^^^
              = expected true or false
            mock.toml:3:9: limit is no table
            3 | limit = 60
              |         ^^
              = expected limit = { key = "header:authorization", rpm = 60, tpm = 10000 }
            mock.toml:3:9: this limit limits nothing: it has no rpm, rps, tpm or concurrency
            3 | limit = { key = "route" }
              |         ^^^^^^^^^^^^^^^^^
              = expected limit = { key = "header:authorization", rpm = 60, tpm = 10000 }
            mock.toml:3:17: rpm is no number that limits
            3 | limit = { rpm = 0 }
              |                 ^
              = expected a whole number from 1 to 4294967295
            mock.toml:3:17: tpm is no number that limits
            3 | limit = { tpm = 4294967296 }
              |                 ^^^^^^^^^^
              = expected a whole number from 1 to 4294967295
            mock.toml:3:17: rpm is no number that limits
            3 | limit = { rpm = 6.5 }
              |                 ^^^
              = expected a whole number from 1 to 4294967295
            mock.toml:3:26: `cookie` is no key of a limit
            3 | limit = { rpm = 1, key = "cookie" }
              |                          ^^^^^^^^
              = expected "route" or "header:NAME"
            mock.toml:3:27: `antropic` is no form of a limit
            3 | limit = { rpm = 1, form = "antropic" }
              |                           ^^^^^^^^^^ did you mean `anthropic`?
              = expected one of openai, anthropic, azure, gemini, groq, generic
            mock.toml:3:29: `fixed` is no window that this mock has
            3 | limit = { rpm = 1, window = "fixed" }
              |                             ^^^^^^^
              = expected "bucket"
            mock.toml:3:28: burst is how many requests may come at once, and neither rpm nor rps says how often
            3 | limit = { tpm = 1, burst = 2 }
              |                            ^
              = expected rpm or rps beside burst
            mock.toml:3:20: a limit has no key `tpd`
            3 | limit = { rpm = 1, tpd = 2 }
              |                    ^^^ did you mean `tpm`?
              = expected one of key, rpm, tpm, rps, concurrency, burst, form, window
            mock.toml:2:1: duplicate key
            2 | seed = 2
              | ^^^^
            mock.toml:1:8: string values must be quoted, expected literal string
            1 | seed = 
              |        ^
        "#]],
    );
}

#[test]
fn the_schema_has_every_key_of_a_mock_file_and_no_other() {
    // An editor would underline a key that is served, or offer one that is refused.
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let names = |value: &serde_json::Value| -> Vec<String> {
        let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        names
    };
    let sorted = |keys: &[&str]| {
        let mut keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        keys.sort();
        keys
    };
    let route = &schema["$defs"]["route"]["properties"];
    assert_eq!(names(&schema["properties"]), sorted(&TOP_KEYS));
    assert_eq!(names(route), sorted(&ROUTE_KEYS));
    let dialects: Vec<&str> = Dialect::NAMED.iter().map(|dialect| dialect.name()).collect();
    let idempotency = &route["idempotency"]["properties"];
    assert_eq!(names(idempotency), sorted(&IDEMPOTENCY_KEYS));
    assert_eq!(route["dialect"]["enum"], serde_json::json!(dialects));
    let limit = &schema["$defs"]["limit"]["properties"];
    assert_eq!(names(limit), sorted(&limit::LIMIT_KEYS));
    assert_eq!(
        limit["form"]["enum"],
        serde_json::json!(Form::NAMED.map(Form::name))
    );
}

#[test]
fn how_time_passes_is_read_and_a_wrong_word_for_it_is_pointed_at() {
    // Could break if a scale were cut to a whole number, or if one of two that contradict were taken in silence.
    let passage = |text: &str| MockFile::parse("mock.toml", text).unwrap().passage;
    assert_eq!(passage(""), None);
    assert_eq!(passage("clock = \"manual\""), Some(Passage::Stands));
    for (text, per_mille) in [
        ("time_scale = 10", 10_000),
        ("time_scale = 0.5", 500),
        ("time_scale = 1_000", 1_000_000),
    ] {
        let scale = TimeScale::from_per_mille(per_mille).unwrap();
        assert_eq!(passage(text), Some(Passage::Runs(scale)), "{text}");
    }
    check(
        &[
            "time_scale = 0",
            "time_scale = \"10\"",
            "time_scale = 0x10",
            "time_scale = 1e3",
            "clock = \"manul\"",
            "clock = true",
            "time_scale = 10\nclock = \"manual\"",
        ],
        expect![[r#"
            mock.toml:1:14: this is no scale of time
            1 | time_scale = 0
              |              ^
              = expected a number from 0.001 to 100000, as in 10
            mock.toml:1:14: this is no scale of time
            1 | time_scale = "10"
              |              ^^^^
              = expected a number from 0.001 to 100000, as in 10
            mock.toml:1:14: this is no scale of time
            1 | time_scale = 0x10
              |              ^^^^
              = expected a number from 0.001 to 100000, as in 10
            mock.toml:1:14: this is no scale of time
            1 | time_scale = 1e3
              |              ^^^
              = expected a number from 0.001 to 100000, as in 10
            mock.toml:1:9: `manul` is no clock
            1 | clock = "manul"
              |         ^^^^^^^ did you mean `manual`?
              = expected one of manual
            mock.toml:1:9: clock is no text
            1 | clock = true
              |         ^^^^
              = expected a text in quotes
            mock.toml:2:9: a manual clock has no time_scale: it stands still until it is turned
            2 | clock = "manual"
              |         ^^^^^^^^
              = expected one of the two
        "#]],
    );
}
