//! What `fit` costs, and that it keeps its word: thousands of conversations chained from real rows, each made to fit,
//! counted again by another encoder, and fitted once more.
//!
//! What can go wrong: a count that is compared with itself is always right. So what was kept is counted by tiktoken's
//! port, which shares no code with ours. Tokens a second are tokens *kept*, by the processor's time of the thread: what was
//! dropped adds nothing, though some of it was counted.
//!
//! `fit [--check] [--conversations N] [ROWS...]`: files of batch rows, plain or gzip; without any the repository's
//! HumanEval. `--check` prints no time.

mod chain;

use chain::Chains;
use rustix::time::{ClockId, clock_gettime};
use seawall::ai::fit::{Fit, FitError, Strategy};
use seawall::ai::tokens::{CountedBy, Tokenizer};
use seawall::ai::{Message, Role};
use std::process::ExitCode;
use std::time::Duration;
use tiktoken_rs::CoreBPE;

/// Conversations where nobody says how many, and when only checking.
const CONVERSATIONS: usize = 10_000;
const CONVERSATIONS_CHECKED: usize = 200;
/// A machine may be slow; this one must be left behind on any.
const TOKENS_PER_SECOND_MIN: f64 = 1_000_000.0;

struct Asked {
    check: bool,
    conversations: usize,
    files: Vec<String>,
}

fn main() -> ExitCode {
    let asked = match asked() {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let texts = match chain::texts(&asked.files) {
        Ok(texts) => texts,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let (o200k, cl100k) = (
        tiktoken_rs::o200k_base().expect("the encoder's table is part of the crate"),
        tiktoken_rs::cl100k_base().expect("the encoder's table is part of the crate"),
    );
    println!("{} texts, {} conversations", texts.len(), asked.conversations);
    if !asked.check {
        speed_of_counts(&texts, &o200k);
    }
    let mut well =
        counts_agree(&texts, Tokenizer::O200K, &o200k) & counts_agree(&texts, Tokenizer::CL100K, &cl100k);
    for (model, oracle) in [
        ("gpt-4o", Some(&o200k)),
        ("gpt-4", Some(&cl100k)),
        ("claude-opus-5", None),
    ] {
        for strategy in [Strategy::KeepNewest, Strategy::cut()] {
            well &= run(model, &strategy, oracle, &texts, &asked);
        }
    }
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn asked() -> Result<Asked, String> {
    let mut asked = Asked {
        check: false,
        conversations: 0,
        files: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--check" => asked.check = true,
            "--conversations" => {
                let count = words.next().and_then(|count| count.parse().ok());
                asked.conversations = count.ok_or("--conversations takes a number")?;
            }
            file => asked.files.push(file.to_owned()),
        }
    }
    if asked.conversations == 0 {
        asked.conversations = if asked.check {
            CONVERSATIONS_CHECKED
        } else {
            CONVERSATIONS
        };
    }
    Ok(asked)
}

fn speed_of_counts(texts: &[String], oracle: &CoreBPE) {
    Tokenizer::O200K.warm();
    let begun = cpu();
    let ours: u64 = texts.iter().map(|text| Tokenizer::O200K.count(text).tokens).sum();
    let took = cpu().saturating_sub(begun);
    let begun = cpu();
    let theirs: usize = texts.iter().map(|text| oracle.encode_ordinary(text).len()).sum();
    println!(
        "count, o200k: {} tokens per CPU-second; tiktoken-rs 0.12.1, which makes the tokens: {}",
        per_second(ours, took),
        per_second(theirs as u64, cpu().saturating_sub(begun))
    );
}

fn counts_agree(texts: &[String], tokenizer: Tokenizer, oracle: &CoreBPE) -> bool {
    let off = texts
        .iter()
        .find(|text| tokenizer.count(text).tokens != oracle.encode_ordinary(text).len() as u64);
    match off {
        Some(text) => println!("FAIL: {} disagrees with tiktoken on {text:?}", tokenizer.by()),
        None => println!("{}: every text as tiktoken has it", tokenizer.by()),
    }
    off.is_none()
}

fn run(model: &str, strategy: &Strategy, oracle: Option<&CoreBPE>, texts: &[String], asked: &Asked) -> bool {
    let tokenizer = Tokenizer::for_model(model);
    let mut took = Duration::ZERO;
    let (mut kept, mut dropped, mut cut, mut refused) = (0, 0, 0, 0);
    let mut broken = Vec::new();
    for (conversation, window) in Chains::new(texts).take(asked.conversations) {
        let fit = Fit::with_window(model, window)
            .max_tokens(window / 8)
            .strategy(strategy.clone());
        let begun = cpu();
        let fitted = fit.messages(conversation);
        took += cpu().saturating_sub(begun);
        let fitted = match fitted {
            Ok(fitted) => fitted,
            Err(FitError::TooLong { .. }) => {
                refused += 1;
                continue;
            }
            Err(other) => {
                broken.push(other.to_string());
                continue;
            }
        };
        let counted = match oracle {
            Some(oracle) => again(&fitted.messages, oracle),
            None => tokenizer.count_messages(&fitted.messages).tokens,
        };
        if counted != fitted.tokens || counted > fit.room() {
            broken.push(format!(
                "{counted} tokens in a room of {}, said to be {}",
                fit.room(),
                fitted.tokens
            ));
        }
        kept += fitted.tokens;
        dropped += fitted.dropped;
        cut += fitted.cut;
        let messages = fitted.messages.clone();
        match fit.messages(fitted.messages) {
            Ok(twice) if twice.messages == messages && twice.dropped == 0 && twice.cut == 0 => {}
            Ok(_) | Err(_) => broken.push("fitted twice is not fitted once".to_owned()),
        }
    }
    let name = match strategy {
        Strategy::KeepNewest => "keep-newest",
        Strategy::Cut { .. } => "cut",
        _ => "other",
    };
    let rate = if asked.check {
        String::new()
    } else {
        format!(", {} per CPU-second", per_second(kept, took))
    };
    println!(
        "{model} ({}), {name}: {kept} tokens kept{rate}; {dropped} messages dropped, {cut} texts cut, {refused} refused, {} broken",
        tokenizer.by(),
        broken.len()
    );
    for what in broken.iter().take(3) {
        println!("FAIL: {what}");
    }
    let is_exact = matches!(tokenizer.by(), CountedBy::O200k | CountedBy::Cl100k);
    let is_slow = !asked.check && is_exact && (kept as f64) < TOKENS_PER_SECOND_MIN * took.as_secs_f64();
    if is_slow {
        println!("FAIL: under a million tokens a second");
    }
    broken.is_empty() && !is_slow
}

/// By OpenAI's guide, and another encoder.
fn again(messages: &[Message], oracle: &CoreBPE) -> u64 {
    let of = |text: &str| oracle.encode_ordinary(text).len() as u64;
    let role = |role: Role| of(role.name());
    3 + messages
        .iter()
        .map(|message| 3 + role(message.role) + of(&message.text()))
        .sum::<u64>()
}

/// The processor's time of this thread: a neighbour on the machine changes nothing about it.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(now.tv_sec).expect("a thread's time begins at 0"),
        u32::try_from(now.tv_nsec).expect("a second has fewer nanoseconds"),
    )
}

fn per_second(tokens: u64, took: Duration) -> String {
    format!("{:.2} million", tokens as f64 / took.as_secs_f64() / 1e6)
}
