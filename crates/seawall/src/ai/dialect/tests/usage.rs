//! One table of what answers say that they used, read at both doors: by who is told, and by what limits are settled with.

use super::*;
use crate::ai::{Delta, Usage};
use crate::body::Counts;
use Said::{Anthropic, Chat, Gemini, Responses};
use seawall_core::outcome::Usage as Sum;

/// Who says it.
#[derive(Clone, Copy, Debug)]
enum Said {
    Chat,
    Responses,
    Anthropic,
    Gemini,
}

/// What is said, in one event or several; then input, output, cached, written to a cache, for an hour, thinking; and what
/// limits count: input, output. Nothing where nothing is said.
type Row = (Said, &'static [&'static str], Option<([u64; 6], [u64; 2])>);

const MAX: u64 = u64::MAX;

const ROWS: &[Row] = &[
    // Plain.
    (
        Chat,
        &[r#"{"prompt_tokens":30,"completion_tokens":20,"total_tokens":50}"#],
        Some(([30, 20, 0, 0, 0, 0], [30, 20])),
    ),
    (
        Responses,
        &[r#"{"input_tokens":30,"output_tokens":20,"total_tokens":50}"#],
        Some(([30, 20, 0, 0, 0, 0], [30, 20])),
    ),
    (
        Anthropic,
        &[r#"{"input_tokens":30,"output_tokens":20}"#],
        Some(([30, 20, 0, 0, 0, 0], [30, 20])),
    ),
    (
        Gemini,
        &[r#"{"promptTokenCount":30,"candidatesTokenCount":20,"totalTokenCount":50}"#],
        Some(([30, 20, 0, 0, 0, 0], [30, 20])),
    ),
    // Cached: inside the input, but for Anthropic's.
    (
        Chat,
        &[
            r#"{"prompt_tokens":30,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":10,"cache_write_tokens":4}}"#,
        ],
        Some(([30, 20, 10, 4, 0, 0], [30, 20])),
    ),
    (
        Responses,
        &[
            r#"{"input_tokens":30,"output_tokens":20,"input_tokens_details":{"cached_tokens":10,"cache_write_tokens":4}}"#,
        ],
        Some(([30, 20, 10, 4, 0, 0], [30, 20])),
    ),
    (
        Anthropic,
        &[
            r#"{"input_tokens":20,"cache_read_input_tokens":10,"cache_creation_input_tokens":4,"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":3},"output_tokens":20}"#,
        ],
        Some(([34, 20, 10, 4, 3, 0], [24, 20])),
    ),
    (
        Anthropic,
        &[r#"{"input_tokens":0,"cache_read_input_tokens":10,"output_tokens":1}"#],
        Some(([10, 1, 10, 0, 0, 0], [0, 1])),
    ),
    (
        Gemini,
        &[r#"{"promptTokenCount":30,"candidatesTokenCount":20,"cachedContentTokenCount":10}"#],
        Some(([30, 20, 10, 0, 0, 0], [30, 20])),
    ),
    // Thinking: inside the output, but for Gemini's; and what Gemini's tools read.
    (
        Chat,
        &[
            r#"{"prompt_tokens":30,"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":5}}"#,
        ],
        Some(([30, 20, 0, 0, 0, 5], [30, 20])),
    ),
    (
        Responses,
        &[r#"{"input_tokens":30,"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5}}"#],
        Some(([30, 20, 0, 0, 0, 5], [30, 20])),
    ),
    (
        Anthropic,
        &[r#"{"input_tokens":30,"output_tokens":20,"output_tokens_details":{"thinking_tokens":5}}"#],
        Some(([30, 20, 0, 0, 0, 5], [30, 20])),
    ),
    (
        Gemini,
        &[
            r#"{"promptTokenCount":30,"candidatesTokenCount":20,"thoughtsTokenCount":5,"toolUsePromptTokenCount":7}"#,
        ],
        Some(([37, 25, 0, 0, 0, 5], [37, 25])),
    ),
    // In two events: a sum so far, or a part each.
    (
        Chat,
        &[
            r#"{"prompt_tokens":30,"completion_tokens":1}"#,
            r#"{"prompt_tokens":30,"completion_tokens":20}"#,
        ],
        Some(([30, 20, 0, 0, 0, 0], [30, 20])),
    ),
    (
        Anthropic,
        &[
            r#"{"input_tokens":20,"cache_read_input_tokens":10,"cache_creation_input_tokens":4,"output_tokens":1}"#,
            r#"{"output_tokens":20}"#,
        ],
        Some(([34, 20, 10, 4, 0, 0], [24, 20])),
    ),
    (
        Anthropic,
        &[
            r#"{"input_tokens":20,"output_tokens":1}"#,
            r#"{"input_tokens":0,"cache_read_input_tokens":null,"output_tokens":20}"#,
        ],
        Some(([20, 20, 0, 0, 0, 0], [20, 20])),
    ),
    (
        Anthropic,
        &["null", r#"{"input_tokens":20,"output_tokens":20}"#],
        Some(([20, 20, 0, 0, 0, 0], [20, 20])),
    ),
    (
        Gemini,
        &[
            r#"{"promptTokenCount":30,"thoughtsTokenCount":5}"#,
            r#"{"promptTokenCount":30,"candidatesTokenCount":20,"thoughtsTokenCount":5}"#,
        ],
        Some(([30, 25, 0, 0, 0, 5], [30, 25])),
    ),
    // In two servers' words: those of a chat mean the whole, whoever made the answer behind it.
    (
        Chat,
        &[r#"{"prompt_tokens":30,"completion_tokens":20,"input_tokens":30,"output_tokens":20}"#],
        Some(([30, 20, 0, 0, 0, 0], [30, 20])),
    ),
    (
        Chat,
        &[
            r#"{"prompt_tokens":30,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":10},"cache_read_input_tokens":10,"cache_creation_input_tokens":4}"#,
        ],
        Some(([30, 20, 10, 0, 0, 0], [30, 20])),
    ),
    // Nothing said.
    (Chat, &["null"], None),
    (Responses, &["null"], None),
    (Anthropic, &["null"], None),
    (Gemini, &["null"], None),
    (Chat, &["{}"], None),
    (Anthropic, &["{}", "{}"], None),
    (Gemini, &[r#"{"promptTokensDetails":[]}"#], None),
    (Chat, &[""], None),
    (Responses, &[""], None),
    (Anthropic, &[""], None),
    (Gemini, &[""], None),
    // Absurd.
    (
        Chat,
        &[r#"{"prompt_tokens":-1,"completion_tokens":20}"#],
        Some(([0, 20, 0, 0, 0, 0], [0, 20])),
    ),
    (Chat, &[r#"{"prompt_tokens":"30","completion_tokens":2.5}"#], None),
    (
        Responses,
        &[r#"{"input_tokens":18446744073709551616,"output_tokens":1e3}"#],
        None,
    ),
    (
        Anthropic,
        &[
            r#"{"input_tokens":18446744073709551615,"cache_read_input_tokens":1,"output_tokens":18446744073709551615}"#,
        ],
        Some(([MAX, MAX, 1, 0, 0, 0], [MAX, MAX])),
    ),
    (
        Gemini,
        &[
            r#"{"promptTokenCount":1,"candidatesTokenCount":18446744073709551615,"thoughtsTokenCount":18446744073709551615}"#,
        ],
        Some(([1, MAX, 0, 0, 0, MAX], [1, MAX])),
    ),
];

impl Said {
    /// As a member; none where nothing is written.
    fn member(self, usage: &str) -> String {
        let name = match self {
            Self::Chat | Self::Responses | Self::Anthropic => "usage",
            Self::Gemini => "usageMetadata",
        };
        match usage {
            "" => String::new(),
            usage => format!(r#","{name}":{usage}"#),
        }
    }

    fn whole(self, usage: &str) -> String {
        let usage = self.member(usage);
        match self {
            Self::Chat => format!(r#"{{"choices":[{{"message":{{"content":"a"}}}}]{usage}}}"#),
            Self::Responses => format!(r#"{{"status":"completed","output":[]{usage}}}"#),
            Self::Anthropic => format!(r#"{{"content":[]{usage}}}"#),
            Self::Gemini => {
                format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}]}}}}]{usage}}}"#)
            }
        }
    }

    fn events(self, usages: &[&str]) -> Vec<String> {
        let mut events: Vec<String> = match self {
            Self::Responses => {
                vec![r#"{"type":"response.created","response":{"id":"r","usage":null}}"#.to_owned()]
            }
            Self::Chat | Self::Anthropic | Self::Gemini => Vec::new(),
        };
        events.extend(usages.iter().enumerate().map(|(nth, usage)| {
            let usage = self.member(usage);
            match self {
                Self::Chat => format!(r#"{{"id":"c","choices":[]{usage}}}"#),
                Self::Responses => {
                    format!(r#"{{"type":"response.completed","response":{{"status":"completed"{usage}}}}}"#)
                }
                Self::Anthropic if nth == 0 => {
                    format!(r#"{{"type":"message_start","message":{{"id":"m"{usage}}}}}"#)
                }
                Self::Anthropic => {
                    format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}}{usage}}}"#)
                }
                Self::Gemini => {
                    format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}]}}}}]{usage}}}"#)
                }
            }
        }));
        events
    }

    /// What the AI client tells of a whole answer, and of a stream.
    fn told(self, whole: &str, events: &[String]) -> [Option<Usage>; 2] {
        let (dialect, whole) = (self.dialect(), whole.as_bytes());
        let (told, mut stream) = match self {
            Self::Responses => (
                dialect.decode_responses(whole).unwrap().usage,
                dialect.stream_responses(),
            ),
            Self::Chat | Self::Anthropic | Self::Gemini => {
                (dialect.decode(whole).unwrap().usage, dialect.stream())
            }
        };
        let mut assembly = Assembly::new();
        for event in events {
            let deltas = stream.event("", event.as_bytes()).unwrap();
            deltas.into_iter().for_each(|delta| assembly.push(delta));
        }
        [told, assembly.usage()]
    }

    const fn dialect(self) -> Dialect {
        match self {
            Self::Chat | Self::Responses => Dialect::OpenAi,
            Self::Anthropic => Dialect::Anthropic,
            Self::Gemini => Dialect::Gemini,
        }
    }
}

#[test]
fn an_answer_is_counted_alike_at_both_doors() {
    // Breaks when the client tells one sum and limits are settled by another: when what one dialect counts apart is left
    // out or counted twice at one of the two, in one piece or in events.
    for (said, usages, expected) in ROWS {
        let expected_usage = expected.map(
            |([input, output, cached, cache_written, cache_written_1h, reasoning], _)| Usage {
                input,
                output,
                cached,
                cache_written,
                cache_written_1h,
                reasoning,
            },
        );
        let sum = |usage: [u64; 2]| Sum {
            tokens_in: usage[0],
            tokens_out: usage[1],
        };
        let used = expected.map_or(Sum::NONE, |(all, _)| sum([all[0], all[1]]));
        let limited = expected.map_or(Sum::NONE, |(_, limited)| sum(limited));

        let events = said.events(usages);
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let whole = said.whole(usages.last().unwrap());
        let [told, streamed] = said.told(&whole, &events);
        let counts = Counts::of_body(stream.as_bytes());
        assert_eq!(streamed, expected_usage, "{stream}");
        assert_eq!((counts.used(), counts.limited()), (used, limited), "{stream}");
        // Of several events the last one is no answer of its own.
        if let [_] = usages {
            let counts = Counts::of_body(whole.as_bytes());
            assert_eq!(told, expected_usage, "{whole}");
            assert_eq!((counts.used(), counts.limited()), (used, limited), "{whole}");
        }
    }
}

#[test]
fn usage_is_told_when_it_grows_and_before_the_end() {
    // Breaks when each chunk of a running sum is told again, or when the last word comes before what it cost.
    let mut stream = Dialect::Gemini.stream();
    let mut told = Vec::new();
    for (count, end) in [(1, ""), (1, ""), (7, r#","finishReason":"STOP""#)] {
        let event = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}]}}{end}}}],"usageMetadata":{{"promptTokenCount":3,"candidatesTokenCount":{count}}}}}"#
        );
        told.extend(stream.event("", event.as_bytes()).unwrap());
    }
    let told: Vec<String> = told
        .iter()
        .map(|delta| match delta {
            Delta::Usage(usage) => format!("usage {} {}", usage.input, usage.output),
            Delta::Finish(_) => "finish".to_owned(),
            Delta::Text(text) => text.clone(),
            _ => "else".to_owned(),
        })
        .collect();
    assert_eq!(told, ["else", "a", "usage 3 1", "a", "a", "usage 3 7", "finish"]);
}

#[test]
fn embeddings_are_counted_alike_at_both_doors() {
    // Breaks when what was embedded is told by another reader than limits have.
    let body = br#"{"data":[],"model":"e","usage":{"prompt_tokens":4,"total_tokens":4}}"#;
    let told = Dialect::OpenAi.decode_embeddings(body).unwrap().usage.unwrap();
    let counts = Counts::of_body(body);
    assert_eq!((told.input, told.output), (4, 0));
    assert_eq!(
        counts.used(),
        Sum {
            tokens_in: 4,
            tokens_out: 0
        }
    );
}
