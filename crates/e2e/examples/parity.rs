//! The examples of `examples/parity`, each against a mock that fails as its row needs: what came, and what the mock saw.
//!
//! ```sh
//! cargo run -p e2e --example parity                 # all of them
//! cargo run -p e2e --example parity -- breaker key  # these
//! ```

#![expect(
    unreachable_pub,
    reason = "the examples are written as in a module of whoever copies them"
)]
#![expect(
    clippy::print_stdout,
    reason = "this is a program for people, and so are they"
)]

#[path = "../../../examples/parity/at_once.rs"]
pub(crate) mod at_once;
#[path = "../../../examples/parity/breaker.rs"]
pub(crate) mod breaker;
#[path = "../../../examples/parity/budget.rs"]
pub(crate) mod budget;
#[path = "../../../examples/parity/cheapest.rs"]
pub(crate) mod cheapest;
#[path = "../../../examples/parity/client.rs"]
pub(crate) mod client;
#[path = "../../../examples/parity/closed.rs"]
pub(crate) mod closed;
#[path = "../../../examples/parity/compared.rs"]
pub(crate) mod compared;
#[path = "../../../examples/parity/exhausted.rs"]
pub(crate) mod exhausted;
#[path = "../../../examples/parity/failing.rs"]
pub(crate) mod failing;
#[path = "../../../examples/parity/functions.rs"]
pub(crate) mod functions;
#[path = "../../../examples/parity/inside.rs"]
pub(crate) mod inside;
#[path = "../../../examples/parity/jitter.rs"]
pub(crate) mod jitter;
#[path = "../../../examples/parity/key.rs"]
pub(crate) mod key;
#[path = "../../../examples/parity/many.rs"]
pub(crate) mod many;
#[path = "../../../examples/parity/once.rs"]
pub(crate) mod once;
#[path = "../../../examples/parity/payments.rs"]
pub(crate) mod payments;
#[path = "../../../examples/parity/resets.rs"]
pub(crate) mod resets;
#[path = "../../../examples/parity/settings.rs"]
pub(crate) mod settings;
#[path = "../../../examples/parity/statuses.rs"]
pub(crate) mod statuses;
#[path = "../../../examples/parity/throttled.rs"]
pub(crate) mod throttled;
#[path = "../../../examples/parity/window.rs"]
pub(crate) mod window;

use seawall::clock::{Clock as _, TokioClock};
use seawall::crank::CrankedClock;
use seawall::{Duration, Gate, Policy, Upstream};
use seawall_lab::file::MockFile;
use seawall_lab::net::Mock;
use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

/// What an example came to.
pub type Shown = Result<String, Box<dyn Error>>;

const A_TENTH_FAILS: &str = "
    [[route]]
    match = 'GET /v1/models'
    mix = { '200' = 0.9, '503' = 0.1 }
";
const MODELS: &str = "GET /v1/models";
const CHAT: &str = "POST /v1/chat/completions";

/// Each example in the order of its row, with what its mock is asked and does.
pub const ROWS: [(&str, &str, &str); 20] = [
    ("settings", MODELS, "503, reset, 200"),
    ("functions", MODELS, "503, 200, 503, 200"),
    ("exhausted", MODELS, "503"),
    ("client", CHAT, "200"),
    ("statuses", CHAT, "429 retry-after=86400, 401, 400, 500"),
    ("many", CHAT, "2x 200, 400, 200"),
    ("breaker", MODELS, "503 delay=150ms"),
    ("inside", MODELS, "503 retry-after-ms=5 delay=150ms"),
    ("closed", CHAT, "hang, stream events=50 gap=20ms"),
    ("jitter", MODELS, "503"),
    ("payments", "POST /v1/payments", "apply then reset, 200"),
    ("budget", MODELS, "503 retry-after-ms=5"),
    ("throttled", MODELS, "429 retry-after-ms=50, 200"),
    ("cheapest", CHAT, "429 code=insufficient_quota, 200"),
    ("at_once", CHAT, "200 delay=20ms"),
    ("resets", MODELS, "close, 200"),
    ("key", "* /*", "200, 401, 503"),
    ("window", CHAT, "200"),
    ("failing", "* /*", "of the example itself"),
    ("compared", MODELS, "by chance"),
];

#[cfg_attr(test, expect(dead_code, reason = "tests run what it runs"))]
fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    run(&asked)
}

/// Runs those of these names; all where none is named.
pub fn run(asked: &[String]) -> Result<(), Box<dyn Error>> {
    let unknown = asked
        .iter()
        .find(|name| ROWS.iter().all(|(known, ..)| known != name));
    if let Some(name) = unknown {
        let known: Vec<_> = ROWS.iter().map(|(known, ..)| *known).collect();
        return Err(format!("there is no example {name}; there are {}", known.join(", ")).into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for (name, ..) in ROWS {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            let (came, saw) = runtime.block_on(show(name))?;
            println!("{name}: {came}\nwhat the mock saw:\n{saw}");
        }
    }
    Ok(())
}

/// Runs one of them: what came, and what the mock saw.
///
/// # Panics
/// Where there is none of this name.
pub async fn show(name: &str) -> Result<(String, String), Box<dyn Error>> {
    let (_, pattern, script) = ROWS
        .into_iter()
        .find(|(known, ..)| *known == name)
        .expect("a name of ROWS");
    let clock = CrankedClock::new();
    let mock = match name {
        "failing" | "compared" => {
            let text = if name == "failing" {
                failing::MOCK
            } else {
                A_TENTH_FAILS
            };
            let file = MockFile::parse(name, text)?;
            let builder = Mock::builder().file(file).clock(Arc::new(clock.clone()));
            builder.start().await?
        }
        _ => Mock::start(&format!("{pattern} = {script}")).await?,
    };
    let came = match name {
        "settings" | "functions" | "exhausted" | "jitter" => of_functions(name, &mock).await?,
        "failing" | "compared" => of_schedules(name, &mock, &clock).await?,
        "client" | "statuses" | "many" | "closed" | "cheapest" | "at_once" | "key" | "window" => {
            of_clients(name, &mock.url()).await?
        }
        _ => of_upstreams(name, &mock.url()).await?,
    };
    mock.quiet().await;
    Ok((came, mock.timeline()))
}

async fn of_functions(name: &str, mock: &Mock) -> Shown {
    let url = format!("{}/v1/models", mock.url());
    let quick = Policy::builder().backoff_base(Duration::from_millis(5)).build()?;
    Ok(match name {
        "settings" => {
            let gate = Gate::new(&settings::policy()?);
            length(settings::run(&url, &gate).await?)
        }
        "functions" => {
            let (policy, at) = (quick, url.clone());
            let on_a_thread = tokio::task::spawn_blocking(move || functions::blocking(&policy, &at));
            let blocking = length(on_a_thread.await??);
            format!(
                "{blocking}, and {}",
                length(functions::waiting(&quick, &url).await?)
            )
        }
        "exhausted" => match exhausted::run(&url, &quick).await {
            Ok(text) => text,
            Err(error) => exhausted::report(&*error),
        },
        _ => {
            let mut told = Vec::new();
            for kind in jitter::KINDS {
                let clock = CrankedClock::new();
                let gate = Gate::builder(&jitter::policy(kind)?)
                    .clock(Arc::new(clock.clone()))
                    .build();
                let waits = cranked(&clock, || gate.attempts_out(), jitter::run(&url, &gate)).await;
                let waits: Vec<_> = waits.iter().map(ToString::to_string).collect();
                told.push(format!("{kind:?}: {}", waits.join(", ")));
            }
            told.join("; ")
        }
    })
}

async fn of_clients(name: &str, url: &str) -> Shown {
    let client = client::client(url).build()?;
    Ok(match name {
        "client" => client::run(&client).await?,
        "statuses" => {
            let mut said = Vec::new();
            for _ in 0..3 {
                // A client for each: the first is told to keep away for a day, and does.
                said.push(statuses::run(&client::client(url).build()?).await);
            }
            said.join("; ")
        }
        "many" => {
            let prompts = (0..20).map(|place| format!("Number {place}?"));
            let (answered, results) = many::run(&client, prompts.collect()).await;
            format!("{answered} of {}", results.len())
        }
        "closed" => {
            let clock = TokioClock::new();
            let patience = clock.sleep_until(clock.now().after(Duration::from_millis(20)));
            let left = closed::run(client.clone(), patience).await;
            format!("{left:?}, {:?}", closed::first_words(client).await)
        }
        "cheapest" => {
            let prompt = "Summarize: the tide comes in twice a day.";
            let models = cheapest::models(prompt);
            cheapest::run(&cheapest::client(url, &models).build()?, &models[0], prompt).await?
        }
        "at_once" => {
            let client = at_once::client(url)?.build()?;
            at_once::run(&client, "Why?").await?;
            let results = at_once::complete(&client, &["Why?"; 20]).await;
            format!(
                "{} answers",
                results.iter().filter(|result| result.is_ok()).count()
            )
        }
        "key" => {
            let client = key::client(url, "sk-mock").build()?;
            let mut said = Vec::new();
            for _ in 0..3 {
                said.push(key::run(&client).await);
            }
            said.join("; ")
        }
        _ => {
            let prompt = window::fitted("gpt-4o", &"The tide comes in twice a day. ".repeat(20_000))?;
            let answer = window::run(&client, "gpt-4o", &prompt).await?;
            format!(
                "{} tokens ({}), answered by {} bytes",
                prompt.tokens,
                prompt.by,
                answer.len()
            )
        }
    })
}

async fn of_upstreams(name: &str, url: &str) -> Shown {
    Ok(match name {
        "breaker" => {
            let upstream = breaker::upstream(url)?.build()?;
            let mut said = String::new();
            for _ in 0..6 {
                said = breaker::run(&upstream).await;
            }
            said
        }
        "inside" => {
            let upstream = inside::upstream(url)?.build()?;
            format!(
                "{}; {}",
                inside::run(&upstream).await,
                inside::run(&upstream).await
            )
        }
        "payments" => {
            let bank = payments::upstream(url)?.build()?;
            let key = http::HeaderValue::from_static("order-7");
            let without = payments::run(&bank, None).await;
            format!("{without:?}; {:?}", payments::run(&bank, Some(key)).await)
        }
        "budget" => {
            let upstream = budget::upstream(url)?.build()?;
            let mut ends = Vec::new();
            for _ in 0..100 {
                ends.push(budget::run(&upstream).await);
            }
            format!("the last: {:?}", ends.last())
        }
        "throttled" => shown(throttled::run(&throttled::upstream(url)?.build()?).await),
        _ => resets::run(&resets::upstream(url)?.build()?).await,
    })
}

/// What is about time: the clock is cranked, so that nobody waits.
async fn of_schedules(name: &str, mock: &Mock, clock: &CrankedClock) -> Shown {
    if name == "failing" {
        let policy = Policy::builder().retries(4).build()?;
        let builder = Upstream::builder(&mock.url())?.policy(policy);
        let bank = builder.clock(Arc::new(clock.clone())).build()?;
        let moving = || bank.attempts_out().saturating_sub(mock.kept_waiting());
        return Ok(shown(cranked(clock, moving, failing::run(mock, &bank)).await?));
    }
    let mut told = Vec::new();
    for (strategy, policy) in compared::strategies() {
        let builder = Upstream::builder(&mock.url())?.policy(policy.build()?);
        let upstream = builder.clock(Arc::new(clock.clone())).build()?;
        let run = compared::run(&upstream);
        let (lost, mean, spread) = cranked(clock, || upstream.attempts_out(), run).await;
        told.push(format!(
            "{strategy}: {lost} lost, {mean:.3} ± {spread:.3} s waited"
        ));
    }
    Ok(told.join("; "))
}

/// Runs to its end what waits by `clock`, which is turned while nothing is out.
async fn cranked<T>(clock: &CrankedClock, out: impl Fn() -> u64, act: impl Future<Output = T>) -> T {
    let turns = async {
        loop {
            clock.awaited().await;
            if out() == 0 {
                clock.step();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        end = act => end,
        () = turns => unreachable!("the crank turns for ever"),
    }
}

fn length(text: String) -> String {
    format!("{} bytes", text.len())
}

fn shown(what: impl Debug) -> String {
    format!("{what:?}")
}
