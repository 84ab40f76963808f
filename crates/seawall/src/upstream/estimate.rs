//! What a call will use of a rate that counts tokens, before anybody knows (rule I2).
//!
//! What can go wrong: an estimate of nothing lets a burst through that is over the limit many times, and one that is
//! far too high lets nothing through, since a call that needs more than its bucket holds is refused. So tokens read
//! are a quarter of the body's bytes, images and files apart; tokens written are the most that the call allows, or a
//! constant; and the answer's own figures replace both. What does not infer uses no tokens.

use crate::body::RequestBody;
use seawall_core::verdict::Endpoint;

/// Ends of the paths whose answers are no text.
const SILENT: [&str; 6] = [
    "/embeddings",
    "/moderations",
    "/count_tokens",
    ":embedContent",
    ":batchEmbedContents",
    ":countTokens",
];

/// Tokens read and written, by estimate; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Estimate {
    pub(super) tokens_in: u32,
    pub(super) tokens_out: u32,
    /// How many of those to be written nobody stated.
    pub(super) tokens_guessed: u32,
}

impl Estimate {
    /// Of a call with this body to this endpoint.
    pub(super) fn of(endpoint: Endpoint, path: &str, body: &RequestBody) -> Self {
        let is_silent = SILENT.iter().any(|end| path.ends_with(end));
        let in_32_bits = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
        match endpoint {
            Endpoint::General => Self::default(),
            Endpoint::Inference | Endpoint::InferenceStream if is_silent => Self {
                tokens_in: in_32_bits(body.tokens_in),
                ..Self::default()
            },
            Endpoint::Inference | Endpoint::InferenceStream => {
                let tokens_out = in_32_bits(body.tokens_out());
                Self {
                    tokens_in: in_32_bits(body.tokens_in),
                    tokens_out,
                    tokens_guessed: if body.tokens_out_max == 0 { tokens_out } else { 0 },
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(endpoint: Endpoint, path: &str, body: &str) -> (u32, u32) {
        let estimate = Estimate::of(endpoint, path, &RequestBody::read(body.as_bytes()));
        (estimate.tokens_in, estimate.tokens_out)
    }

    #[test]
    fn a_call_is_taken_for_what_its_body_says() {
        // Broken if one dialect's word for its limit went unheard, if two answers were taken for one, or if what does
        // not infer were counted at all: a rate would be off by as much, until the answer says.
        let chat = |body: &str| of(Endpoint::Inference, "/v1/chat/completions", body);
        for (body, expected) in [
            (r#"{"max_tokens":50}"#, (5, 50)),
            (r#"{"max_completion_tokens":7,"max_tokens":50}"#, (11, 7)),
            (r#"{"max_output_tokens":9}"#, (6, 9)),
            (r#"{"generationConfig":{"maxOutputTokens":11}}"#, (11, 11)),
            (
                r#"{"generationConfig":{"maxOutputTokens":11,"candidateCount":3}}"#,
                (16, 33),
            ),
            (r#"{"max_tokens":50,"n":4}"#, (6, 200)),
            (r#"{"n":2,"best_of":5}"#, (5, 1_280)),
            (r#"{"n":0}"#, (2, 256)),
            ("{}", (1, 256)),
            ("", (0, 256)),
            ("no JSON at all", (4, 256)),
            (r#"{"max_tokens":-1}"#, (5, 256)),
            (
                r#"{"max_tokens":18446744073709551615,"n":18446744073709551615}"#,
                (15, u32::MAX),
            ),
        ] {
            assert_eq!(chat(body), expected, "{body}");
        }
        assert_eq!(
            of(Endpoint::General, "/v1/things", r#"{"max_tokens":50}"#),
            (0, 0)
        );
        assert_eq!(
            of(Endpoint::Inference, "/v1/embeddings", r#"{"input":"a word"}"#),
            (5, 0)
        );
    }

    #[test]
    fn what_nobody_stated_is_called_a_guess() {
        // Broken if a server's word on what is left were measured against a number that we made up.
        let guessed = |body: &str| {
            let body = RequestBody::read(body.as_bytes());
            Estimate::of(Endpoint::Inference, "/v1/chat/completions", &body).tokens_guessed
        };
        assert_eq!((guessed("{}"), guessed(r#"{"n":2}"#)), (256, 512));
        assert_eq!(guessed(r#"{"max_tokens":50}"#), 0);
    }

    #[test]
    fn an_image_is_not_counted_as_text() {
        // Broken if a picture of a megabyte were a quarter of a million tokens: no bucket would hold it, and the call
        // would be refused for good.
        let picture = "iVBORw0KGgo/".repeat(100_000);
        let (plain, url) = (
            format!(
                r#"{{"contents":[{{"inlineData":{{"data":"{picture}"}}}}],"generationConfig":{{"maxOutputTokens":1}}}}"#
            ),
            format!(r#"{{"messages":[{{"image_url":"data:image/png;base64,{picture}"}}],"max_tokens":1}}"#),
        );
        for body in [plain, url] {
            let (tokens_in, _) = of(Endpoint::Inference, "/v1/chat/completions", &body);
            assert!((1_000..1_050).contains(&tokens_in), "{tokens_in}");
        }
        // Text without a space in it is text.
        let text = format!(r#"{{"prompt":"{}"}}"#, "文".repeat(2_000));
        assert_eq!(of(Endpoint::Inference, "/v1/completions", &text).0, 1_504);
        let short = format!(r#"{{"prompt":"{}"}}"#, "a".repeat(1_000));
        assert_eq!(of(Endpoint::Inference, "/v1/completions", &short).0, 254);
    }
}
