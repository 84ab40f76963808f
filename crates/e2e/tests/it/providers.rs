//! Every provider that a mock speaks as, live: the library calls the mock that speaks as they do, and a clock is cranked between.
//!
//! What can go wrong: the table that knows a provider's words is right, and nobody gets to it: the host is not
//! recognised, the path is joined to another place, the key travels under another name, a header is read in another
//! unit. So each row is a whole call, found by its host, by its path, or by what was stated.

use crate::stage::soon;
use http::header::AUTHORIZATION;
use http::{HeaderName, Method};
use seawall::clock::Clock as _;
use seawall::crank::CrankedClock;
use seawall::http::{Secret, Transport};
use seawall::upstream::{Answer, Call, CallError};
use seawall::{Credential, Upstream};
use seawall_core::gate::GateKey;
use seawall_core::policy::Policy;
use seawall_core::profile::Provider;
use seawall_core::time::{Duration, Instant};
use seawall_lab::net::Mock;
use seawall_lab::plan::{Dialect, Rule};
use std::sync::Arc;

type Told = Result<Answer, Box<CallError>>;

/// How the library learns whose server it is.
#[derive(Clone, Copy, Debug)]
enum Known {
    ByHost(&'static str),
    ByPath,
    Stated(Provider),
    /// It does not.
    Not,
}

/// A server, and where on it calls go.
#[derive(Clone, Copy, Debug)]
struct Place {
    dialect: Dialect,
    known: Known,
    base: &'static str,
    method: &'static str,
    path: &'static str,
}

const fn place(
    dialect: Dialect,
    known: Known,
    base: &'static str,
    method: &'static str,
    path: &'static str,
) -> Place {
    Place {
        dialect,
        known,
        base,
        method,
        path,
    }
}

const DEPLOYMENT: &str = "/openai/deployments/big?api-version=2024-10-21";
const CHAT: &str = "/chat/completions";
const AZURE_BY_HOST: Place = place(
    Dialect::Azure,
    Known::ByHost("team.openai.azure.com"),
    DEPLOYMENT,
    "POST",
    CHAT,
);
const AZURE_BY_PATH: Place = place(Dialect::Azure, Known::ByPath, DEPLOYMENT, "POST", CHAT);
// Its newer paths are OpenAI's, and have no version in the query.
const AZURE_STATED: Place = place(
    Dialect::Azure,
    Known::Stated(Provider::Azure),
    "/openai/v1",
    "POST",
    "/v1/chat/completions",
);
const GROQ_BY_HOST: Place = place(
    Dialect::Groq,
    Known::ByHost("api.groq.com"),
    "/openai/v1",
    "POST",
    CHAT,
);
const GROQ_STATED: Place = place(
    Dialect::Groq,
    Known::Stated(Provider::Groq),
    "/openai/v1",
    "POST",
    "/v1/chat/completions",
);
const GITHUB_BY_HOST: Place = place(
    Dialect::GitHub,
    Known::ByHost("api.github.com"),
    "",
    "GET",
    "/repos/o/r/issues",
);
const GITHUB_STATED: Place = place(
    Dialect::GitHub,
    Known::Stated(Provider::GitHub),
    "/api/v3",
    "POST",
    "/repos/o/r/issues",
);

const OPENAI: Place = place(Dialect::OpenAi, Known::ByPath, "/v1", "POST", CHAT);
const ANTHROPIC: Place = place(Dialect::Anthropic, Known::ByPath, "/v1", "POST", "/messages");
const GEMINI: Place = place(
    Dialect::Gemini,
    Known::ByPath,
    "/v1beta/models",
    "POST",
    "/m:generateContent",
);
const STRIPE: Place = place(Dialect::Stripe, Known::ByPath, "/v1", "POST", "/payment_intents");

/// A mock, and an upstream that calls it.
struct Scene {
    clock: CrankedClock,
    mock: Mock,
    upstream: Upstream,
    place: Place,
}

impl Scene {
    /// The mock does as `script` says, wherever it is called.
    async fn new(place: Place, script: &str) -> Self {
        let key = Secret::new("a key").unwrap();
        let header = match place.dialect {
            Dialect::Azure => HeaderName::from_static("api-key"),
            Dialect::Anthropic => HeaderName::from_static("x-api-key"),
            Dialect::Gemini => HeaderName::from_static("x-goog-api-key"),
            Dialect::ByPath
            | Dialect::OpenAi
            | Dialect::Groq
            | Dialect::Stripe
            | Dialect::GitHub
            | Dialect::Generic => AUTHORIZATION,
        };
        Self::with(place, script, Some((header, key.into()))).await
    }

    async fn with(place: Place, script: &str, credential: Option<(HeaderName, Credential)>) -> Self {
        let rule = Rule {
            dialect: place.dialect,
            ..Rule::parse(&format!("* /* = {script}")).unwrap()
        };
        let mock = Mock::builder().rule(rule).start().await.unwrap();
        let clock = CrankedClock::new();
        let at = Arc::new(clock.clone());
        let transport = Transport::builder().clock(at.clone()).seed(1);
        let (url, transport) = match place.known {
            Known::ByHost(host) => (
                format!("http://{host}"),
                transport.connect_to(host, mock.address()),
            ),
            Known::ByPath | Known::Stated(_) | Known::Not => (mock.url(), transport),
        };
        let mut builder = Upstream::builder(&format!("{url}{}", place.base))
            .unwrap()
            .policy(Policy::builder().build().unwrap())
            .clock(at)
            .seed(1)
            .transport(transport.build().unwrap());
        if let Known::Stated(provider) = place.known {
            builder = builder.provider(provider);
        }
        if let Some((header, credential)) = credential {
            builder = builder.credential(header, credential);
        }
        Self {
            clock,
            mock,
            upstream: builder.build().unwrap(),
            place,
        }
    }

    fn asked(&self) -> Call {
        let body = r#"{"model":"big","messages":[{"role":"user","content":"hi"}]}"#;
        match self.place.method {
            "POST" => Call::post_json(self.place.path, body),
            method => Call::new(method.parse::<Method>().unwrap(), self.place.path),
        }
    }

    /// Makes the call, and turns the clock whenever nothing is in flight.
    async fn call(&self, call: Call) -> Told {
        let turns = async {
            loop {
                self.clock.awaited().await;
                if self.upstream.attempts_out() == 0 {
                    self.clock.step();
                }
                tokio::task::yield_now().await;
            }
        };
        let act = async {
            tokio::select! {
                biased;
                told = self.upstream.call(call) => told,
                () = turns => unreachable!("the crank turns for ever"),
            }
        };
        soon(act).await
    }

    /// Until when the gate is closed to everybody.
    fn not_before(&self) -> Instant {
        let policy = Policy::builder().build().unwrap().gate;
        self.upstream.hub().with(|engine, now| {
            let gate = engine.configure(now, GateKey(0), &policy, &[], None).unwrap();
            engine.load(gate).not_before
        })
    }

    fn sends(&self) -> usize {
        self.mock.journal().attempts.len()
    }
}

fn reason(told: &Told) -> &'static str {
    told.as_ref()
        .map_or_else(|error| error.reason.code(), |_| "succeeded")
}

/// Seconds since 1970 at the clock's start.
const START_SECS: u64 = 1_767_225_600;

fn resets_in(seconds: u64) -> String {
    format!(
        "header.x-ratelimit-remaining=0 header.x-ratelimit-reset={}",
        START_SECS + seconds
    )
}

const SECONDARY: &str =
    r#"json={"message":"You have exceeded a secondary rate limit. Please wait a few minutes."}"#;

/// Throttles: where, what the server says, and when the next attempt may come.
fn throttles() -> Vec<(Place, String, u64)> {
    let far = format!(
        "header.x-ratelimit-remaining=4990 header.x-ratelimit-reset={}",
        START_SECS + 3_000
    );
    let mut rows = vec![
        (OPENAI, "429 retry-after=20".to_owned(), 20_000),
        (ANTHROPIC, "429 retry-after=30".to_owned(), 30_000),
        (GEMINI, "429 retry-after-ms=1500".to_owned(), 1_500),
        // In its body alone, where its own library does not look.
        (GEMINI, "429 retry-in=17s".to_owned(), 17_000),
    ];
    for azure in [AZURE_BY_HOST, AZURE_BY_PATH, AZURE_STATED] {
        rows.push((azure, "429 retry-after=6".to_owned(), 6_000));
        rows.push((azure, "429 retry-after-ms=1500".to_owned(), 1_500));
        // The older header alone, in milliseconds; a client that reads it as seconds waits for 25 minutes.
        rows.push((azure, "429 header.x-ms-retry-after-ms=1500".to_owned(), 1_500));
    }
    for groq in [GROQ_BY_HOST, GROQ_STATED] {
        rows.push((groq, "429 retry-after=20".to_owned(), 20_000));
        // Two windows, of which one is exhausted; the other says when it is full, which is nobody's wait.
        let exhausted = "429 header.x-ratelimit-remaining-requests=0 header.x-ratelimit-reset-requests=59.56s \
                         header.x-ratelimit-remaining-tokens=17000 header.x-ratelimit-reset-tokens=2m59.56s";
        rows.push((groq, exhausted.to_owned(), 59_560));
    }
    for github in [GITHUB_BY_HOST, GITHUB_STATED] {
        rows.push((github, format!("403 {}", resets_in(45)), 45_000));
        rows.push((github, format!("429 {}", resets_in(45)), 45_000));
        rows.push((github, "403 retry-after=30".to_owned(), 30_000));
        rows.push((github, format!("403 {SECONDARY}"), 60_000));
        rows.push((github, format!("429 {SECONDARY}"), 60_000));
        // The primary limit has room, and its reset is not what the secondary one waits for.
        rows.push((github, format!("403 {far} {SECONDARY}"), 60_000));
    }
    rows
}

#[tokio::test]
async fn a_throttle_is_waited_for_exactly_and_holds_for_every_call() {
    // Breaks when a provider's wait is not found, is read in another unit, or holds for the one call that met it.
    for (place, step, wait_ms) in throttles() {
        let wait = Duration::from_millis(wait_ms);
        let scene = Scene::new(place, &format!("{step}, 200")).await;
        let told = scene.call(scene.asked()).await;
        assert_eq!(reason(&told), "succeeded", "{place:?} {step}: {told:?}");
        let waited = scene.clock.now().since(Instant::START);
        assert_eq!((waited, scene.sends()), (wait, 2), "{place:?} {step}");

        let scene = Scene::new(place, &format!("{step}, 200")).await;
        let told = scene.call(scene.asked().with_retries_max(0)).await;
        assert_eq!(reason(&told), "attempts-spent", "{place:?} {step}");
        assert_eq!(
            scene.not_before(),
            Instant::START.after(wait),
            "{place:?} {step}: the quota cools"
        );
        let other = scene.call(scene.asked()).await.unwrap();
        assert_eq!(other.waited, [("cooling-down", wait)], "{place:?} {step}");
        assert_eq!(scene.sends(), 2, "{place:?} {step}");
    }
}

#[tokio::test]
async fn a_wait_beyond_the_policys_own_ends_the_call_and_says_when_to_come_back() {
    // Breaks when a limit of a quarter of an hour is waited for in a call of two minutes, or is cut short.
    for (place, step, secs) in [
        (AZURE_BY_HOST, "429 retry-after=86400".to_owned(), 86_400),
        (GROQ_BY_HOST, "429 retry-after=180".to_owned(), 180),
        (GITHUB_BY_HOST, format!("403 {}", resets_in(900)), 900),
    ] {
        let scene = Scene::new(place, &step).await;
        let error = scene.call(scene.asked()).await.unwrap_err();
        assert_eq!(error.reason.code(), "server-asked-too-long", "{step}");
        assert_eq!(error.retry_after, Some(Duration::from_secs(secs)), "{step}");
        assert_eq!((scene.sends(), scene.clock.now()), (1, Instant::START), "{step}");
    }
}

#[tokio::test]
async fn what_no_wait_mends_is_refused_at_the_first_answer() {
    // Breaks when a filtered prompt, a prompt that is too long or an empty account is sent again and again.
    let long = r#"400 json={"error":{"message":"too long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#;
    let spent = r#"429 json={"error":{"message":"no money","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    for (places, step, expected) in [
        (
            &[AZURE_BY_HOST, AZURE_BY_PATH, AZURE_STATED][..],
            // The dialect's 400 is its content filter.
            "400",
            "refused",
        ),
        (&[AZURE_BY_HOST, AZURE_BY_PATH], long, "context-too-long"),
        (&[AZURE_BY_HOST, AZURE_BY_PATH], spent, "quota-spent"),
        (&[AZURE_BY_HOST], "401", "denied"),
        (&[AZURE_BY_HOST], "404", "refused"),
        (&[GROQ_BY_HOST, GROQ_STATED], long, "context-too-long"),
        (&[GROQ_BY_HOST, GROQ_STATED], spent, "quota-spent"),
        (&[GROQ_BY_HOST], "401", "denied"),
        (&[GROQ_BY_HOST], "413", "refused"),
        (&[GROQ_BY_HOST], "422", "refused"),
        (&[GITHUB_BY_HOST, GITHUB_STATED], "403", "denied"),
        (&[GITHUB_BY_HOST, GITHUB_STATED], "401", "denied"),
        (&[GITHUB_BY_HOST], "404", "refused"),
        (&[GITHUB_BY_HOST], "422", "refused"),
        (&[OPENAI], "429 code=insufficient_quota", "quota-spent"),
        (&[OPENAI], "400 code=context_length_exceeded", "context-too-long"),
        (&[OPENAI, ANTHROPIC], "401", "denied"),
        (&[ANTHROPIC], "400 code=billing_error", "quota-spent"),
        (
            &[GEMINI],
            "429 code=GenerateRequestsPerDayPerProject",
            "quota-spent",
        ),
        (&[GEMINI], "400", "refused"),
        (&[STRIPE], "402", "refused"),
        // The answer of a keyed request is kept, and would come again.
        (&[STRIPE], "500", "told-not-to"),
    ] {
        for place in places {
            let scene = Scene::new(*place, step).await;
            let told = scene.call(scene.asked()).await;
            assert_eq!(reason(&told), expected, "{place:?} {step}");
            assert_eq!((scene.sends(), scene.clock.now()), (1, Instant::START), "{step}");
        }
    }
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    // Breaks when a status that one provider alone has, or a lock that it names, is a refusal like any other.
    for (place, step) in [
        (ANTHROPIC, "529"),
        (OPENAI, "503"),
        (GEMINI, "503"),
        (STRIPE, "409"),
        (STRIPE, "429 code=lock_timeout"),
    ] {
        let scene = Scene::new(place, &format!("{step}, 200")).await;
        let told = scene.call(scene.asked()).await;
        assert_eq!(
            (reason(&told), scene.sends()),
            ("succeeded", 2),
            "{place:?} {step}"
        );
    }
}

#[tokio::test]
async fn a_stream_is_whole_by_its_dialects_end_alone() {
    // Breaks when a dialect's last word is not the one that the reader of streams looks for, or is not missed.
    let responses = place(Dialect::OpenAi, Known::ByPath, "/v1", "POST", "/responses");
    let gemini = Place {
        path: "/m:streamGenerateContent?alt=sse",
        ..GEMINI
    };
    for place in [OPENAI, responses, ANTHROPIC, gemini, AZURE_BY_PATH, GROQ_STATED] {
        for (first, sends) in [
            ("200", 1),
            ("stream events=3", 1),
            ("stream events=3 then=no-done", 2),
            ("stream events=3 then=cut", 2),
            ("stream events=3 then=error", 2),
        ] {
            let scene = Scene::new(place, &format!("{first}, 200")).await;
            let body =
                r#"{"model":"m","stream":true,"input":"hi","messages":[{"role":"user","content":"hi"}]}"#;
            let told = scene.call(Call::post_json(place.path, body)).await;
            assert_eq!(
                (reason(&told), scene.sends()),
                ("succeeded", sends),
                "{place:?} {first}: {told:?}"
            );
        }
    }
}

#[tokio::test]
async fn groqs_full_tier_is_tried_again_by_our_own_backoff() {
    // Breaks when a status of Groq's own is a refusal like any other 4xx, or when it cools the gate for everybody.
    let scene = Scene::new(GROQ_BY_HOST, "498, 200").await;
    let answer = scene.call(scene.asked()).await.unwrap();
    assert_eq!(answer.attempts[0].outcome, "throttled");
    assert_eq!((answer.waited.len(), answer.waited[0].0), (1, "backing-off"));
    assert_eq!(scene.not_before(), Instant::START);
}

#[tokio::test]
async fn whose_server_it_is_decides() {
    // Breaks when these words are taken for the provider's wherever they come from: that would also pass the rows above
    // with no host and no path looked at.
    let nobodys = |dialect, base, method, path| place(dialect, Known::Not, base, method, path);
    for (place, step, expected) in [
        (
            nobodys(Dialect::GitHub, "", "GET", "/repos/o/r/issues"),
            format!("403 {}", resets_in(45)),
            "denied",
        ),
        (
            nobodys(Dialect::GitHub, "", "GET", "/repos/o/r/issues"),
            format!("403 {SECONDARY}"),
            "denied",
        ),
        (
            nobodys(Dialect::Groq, "/openai/v1", "POST", CHAT),
            "498".to_owned(),
            "refused",
        ),
        (
            nobodys(Dialect::Azure, "", "POST", "/v2/anything"),
            r#"400 json={"error":{"code":"context_length_exceeded"}}"#.to_owned(),
            "refused",
        ),
    ] {
        let scene = Scene::new(place, &step).await;
        assert_eq!(reason(&scene.call(scene.asked()).await), expected, "{step}");
    }
}

#[tokio::test]
async fn azures_version_and_key_arrive_whatever_form_the_path_has() {
    // Breaks when the version of the base is lost in the join, or the key goes under another provider's header: the
    // dialect answers neither.
    let key = || {
        Some((
            HeaderName::from_static("api-key"),
            Secret::new("k").unwrap().into(),
        ))
    };
    for path in [
        CHAT,
        "/v1/chat/completions",
        "chat/completions",
        "/openai/deployments/big/chat/completions",
    ] {
        let scene = Scene::with(
            Place {
                path,
                ..AZURE_BY_HOST
            },
            "200",
            key(),
        )
        .await;
        let told = scene.call(scene.asked()).await;
        assert_eq!(reason(&told), "succeeded", "{path}: {told:?}");
        let journal = scene.mock.journal();
        assert_eq!(
            journal.attempts[0].path,
            "/openai/deployments/big/chat/completions"
        );
    }
    let no_version = Place {
        base: "/openai/deployments/big",
        ..AZURE_BY_HOST
    };
    let scene = Scene::with(no_version, "200", key()).await;
    assert_eq!(reason(&scene.call(scene.asked()).await), "refused");
    let scene = Scene::with(AZURE_BY_HOST, "200", None).await;
    assert_eq!(reason(&scene.call(scene.asked()).await), "denied");
    // Azure takes a directory's token as well, and those end.
    let token = Credential::refreshing(|| async { Secret::bearer("the next one") })
        .beginning_with(Secret::bearer("the last one").unwrap());
    let scene = Scene::with(AZURE_BY_HOST, "401, 200", Some((AUTHORIZATION, token))).await;
    let answer = scene.call(scene.asked()).await.unwrap();
    assert_eq!((answer.attempts.len(), scene.sends()), (1, 2));
}
