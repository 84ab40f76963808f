//! Token counts beside an encoder that shares no code with ours, and what fits by it.

use seawall::ai::fit::{Fit, Strategy};
use seawall::ai::tokens::Tokenizer;
use seawall::ai::{Message, Role};
use std::sync::LazyLock;
use tiktoken_rs::CoreBPE;

static O200K: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::o200k_base().unwrap());
static CL100K: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::cl100k_base().unwrap());

fn humaneval() -> Vec<String> {
    let rows = include_str!("../../../../examples/humaneval.jsonl");
    rows.lines()
        .flat_map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let messages = row["body"]["messages"].as_array().unwrap().clone();
            messages
                .into_iter()
                .map(|message| message["content"].as_str().unwrap().to_owned())
        })
        .collect()
}

/// SplitMix64: the same texts in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// A text of one to five runs, each of letters of one script, of digits, spaces, signs or anything.
    fn text(&mut self) -> String {
        const RANGES: [(u32, u32); 16] = [
            (0x20, 0x7e),
            (0x61, 0x7a),
            (0x41, 0x5a),
            (0x30, 0x39),
            (0x09, 0x0d),
            (0x20, 0x20),
            (0xa0, 0x24f),
            (0x300, 0x36f),
            (0x400, 0x4ff),
            (0x5d0, 0x6ff),
            (0x900, 0xdff),
            (0x2000, 0x2bff),
            (0x3000, 0x9fff),
            (0xac00, 0xd7a3),
            (0x1f300, 0x1faff),
            (0, 0x10_ffff),
        ];
        let mut text = String::new();
        for _ in 0..=self.below(4) {
            let range = usize::try_from(self.below(16)).unwrap();
            let (first, last) = RANGES[range];
            for _ in 0..=self.below(30) {
                let drawn = u64::from(first) + self.below(u64::from(last - first) + 1);
                text.extend(u32::try_from(drawn).ok().and_then(char::from_u32));
            }
            if self.below(3) == 0 {
                text.push_str(
                    ["'ll ", "'S", "\r\n", "  \n ", "\u{3000}", "…/"]
                        [usize::try_from(self.below(6)).unwrap()],
                );
            }
        }
        text
    }
}

#[test]
fn a_count_is_that_of_openais_encoder() {
    // Broken if pieces were split otherwise than the encoder does (contractions, marks, white space before a word or at
    // the end), or if text that looks like a special token were one.
    let mut draws = Draws(1);
    let drawn = (0..3_000).map(|_| draws.text());
    let said = [
        "",
        "<|endoftext|>",
        "<|im_start|>user",
        "a".repeat(5_000).as_str(),
        "\n \n \u{a0}\n  x ",
    ]
    .map(str::to_owned);
    for text in humaneval().into_iter().chain(drawn).chain(said) {
        for (ours, theirs) in [(Tokenizer::O200K, &O200K), (Tokenizer::CL100K, &CL100K)] {
            let counted = ours.count(&text);
            assert_eq!(
                counted.tokens,
                theirs.encode_ordinary(&text).len() as u64,
                "{} of {text:?}",
                ours.by()
            );
        }
    }
}

#[test]
fn no_conversation_is_over_its_window_by_another_encoder() {
    // Broken if a message were forgotten in the sum, if a cut text were counted as a part of the whole, or if fitting
    // twice went on dropping.
    let (rows, mut draws) = (humaneval(), Draws(2));
    let text = |draws: &mut Draws| match draws.below(3) {
        0 => draws.text(),
        1 => draws.text().repeat(20),
        _ => rows[usize::try_from(draws.below(rows.len() as u64)).unwrap()].clone(),
    };
    let (mut dropped, mut cut) = (0, 0);
    for round in 0..120_u64 {
        let mut conversation = vec![Message::system("You answer in one line.")];
        for _ in 0..=draws.below(12) {
            conversation.push(Message::user(text(&mut draws)));
            conversation.push(Message::assistant(text(&mut draws)));
        }
        conversation.push(Message::user(text(&mut draws)));
        let (model, oracle) = if round % 2 == 0 {
            ("gpt-4o", &O200K)
        } else {
            ("gpt-4", &CL100K)
        };
        let strategy = if round % 4 < 2 {
            Strategy::KeepNewest
        } else {
            Strategy::cut()
        };
        let fit = Fit::with_window(model, 300 + draws.below(2_000))
            .max_tokens(100)
            .strategy(strategy);
        let Ok(fitted) = fit.messages(conversation) else {
            continue;
        };
        let of = |text: &str| oracle.encode_ordinary(text).len() as u64;
        let messages = fitted.messages.iter();
        let tokens = 3 + messages
            .map(|one| 3 + of(one.role.name()) + of(&one.text()))
            .sum::<u64>();
        assert_eq!(tokens, fitted.tokens);
        assert!(tokens <= fit.room(), "{tokens} in {}", fit.room());
        assert_eq!(fitted.messages[0].role, Role::System);
        (dropped, cut) = (dropped + fitted.dropped, cut + fitted.cut);
        let again = fit.messages(fitted.messages.clone()).unwrap();
        assert_eq!(
            (again.messages, again.dropped, again.cut),
            (fitted.messages, 0, 0)
        );
    }
    assert!(dropped > 100 && cut > 10, "{dropped} dropped, {cut} cut");
}
