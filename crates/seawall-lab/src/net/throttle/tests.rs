use super::*;

#[test]
fn an_attempt_is_charged_its_prompt_and_the_most_that_may_be_written() {
    // Could break if an API's prompt were not seen, or if ids, roles and parameters were counted as one.
    for (body, tokens) in [
        ("", 0),
        ("12345", 2),
        ("[1,2,3]", 2),
        (r#"{"amount":5}"#, 3),
        (r#"{"messages":[{"role":"user","content":"12345"}]}"#, 2),
        (
            r#"{"model":"a-long-name-of-a-model","messages":[{"role":"system","content":"1234"},{"role":"user","content":[{"type":"text","text":"12345678"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}],"max_tokens":100}"#,
            103,
        ),
        (
            r#"{"messages":[{"role":"user","content":"1234"}],"max_completion_tokens":7}"#,
            8,
        ),
        (
            r#"{"input":"12345678","instructions":"1234","max_output_tokens":10}"#,
            13,
        ),
        (r#"{"input":["1234","12345"],"model":"e"}"#, 3),
        (
            r#"{"system":"1234","messages":[{"role":"user","content":[{"type":"text","text":"1234"}]}],"max_tokens":5}"#,
            7,
        ),
        (
            r#"{"contents":[{"role":"user","parts":[{"text":"1234"},{"text":"1"}]}],"systemInstruction":{"parts":[{"text":"1234"}]},"generationConfig":{"maxOutputTokens":20}}"#,
            23,
        ),
        // Four characters, not bytes.
        (r#"{"prompt":"ééééé"}"#, 2),
        // What is no number says nothing.
        (r#"{"prompt":"1234","max_tokens":"many"}"#, 1),
        (r#"{"prompt":"1234","max_tokens":-5}"#, 1),
        (r#"{"prompt":"1234","max_tokens":18446744073709551615}"#, u64::MAX),
    ] {
        assert_eq!(tokens_asked(body.as_bytes()), tokens, "{body}");
    }
    assert_eq!(tokens_asked(&[0xff; 9]), 3);
}
