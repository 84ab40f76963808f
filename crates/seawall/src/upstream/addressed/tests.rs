use super::*;
use http::{HeaderName, HeaderValue};

fn body(text: &'static str, model: &str) -> String {
    let call = Call::post_json("/chat/completions", text).for_model(model);
    String::from_utf8(call.body.to_vec()).unwrap()
}

#[test]
fn a_model_is_changed_and_no_other_byte() {
    // Could break if the body were parsed and written anew: numbers, order and blanks would be others, and a model
    // inside a message would be taken for the call's.
    for (text, expected) in [
        (r#"{"model":"a","x":1.0}"#, r#"{"model":"b\"c","x":1.0}"#),
        (
            r#"{ "x" : 1e2, "model" : null }"#,
            r#"{ "x" : 1e2, "model" : "b\"c" }"#,
        ),
        (
            r#"{"m":{"model":"a"},"model":"a"}"#,
            r#"{"m":{"model":"a"},"model":"b\"c"}"#,
        ),
        (r#"{"mod\u0065l":"a"}"#, r#"{"mod\u0065l":"b\"c"}"#),
        (r#"{"messages":[]}"#, r#"{"model":"b\"c","messages":[]}"#),
        ("{}", r#"{"model":"b\"c"}"#),
        (" { } ", r#" {"model":"b\"c" } "#),
        ("[]", "[]"),
        ("no JSON", "no JSON"),
        ("", ""),
    ] {
        assert_eq!(body(text, "b\"c"), expected);
    }
}

#[test]
fn a_model_in_a_path_is_changed_there() {
    // Could break if a path that merely holds the word were changed, or if the body were changed as well.
    for (path, expected) in [
        (
            "/v1beta/models/a-1:generateContent?alt=sse",
            "/v1beta/models/b:generateContent?alt=sse",
        ),
        ("/v1/models/a:predict", "/v1/models/b:predict"),
        ("/v1/models/a", "/v1/models/a"),
        ("/v1/models/a/versions:x/y", "/v1/models/a/versions:x/y"),
        ("/v1/things?of=/models/a:b", "/v1/things?of=/models/a:b"),
    ] {
        let call = Call::post_json(path, "[]").for_model("b");
        assert_eq!(call.path, expected);
    }
    let gemini = Call::post_json("/v1beta/models/a:generateContent", r#"{"contents":[]}"#).for_model("b");
    assert_eq!(gemini.body, r#"{"contents":[]}"#);
}

#[test]
fn a_callers_credential_is_found_and_left_behind() {
    // Could break for each header in which somebody's key travels, and for one that was marked as secret by its caller.
    let mut marked = HeaderValue::from_static("KEY");
    marked.set_sensitive(true);
    let of = |name: &'static str, value: HeaderValue| {
        Call::get("/x").with_header(HeaderName::from_static(name), value)
    };
    for name in [
        "authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "cookie",
    ] {
        let call = of(name, HeaderValue::from_static("KEY"));
        assert_eq!(call.own_credential(None), OwnCredential::InHeaders);
        assert!(call.without_credential(None).headers.is_empty(), "{name}");
    }
    assert!(of("x-mine", marked).without_credential(None).headers.is_empty());
    let plain = of("x-mine", HeaderValue::from_static("v"));
    assert_eq!(plain.own_credential(None), OwnCredential::None);
    assert_eq!(plain.without_credential(None).headers.len(), 1);
    for path in ["/x?key=K", "/x?a=b&KEY=K", "/x?access_token=K"] {
        assert_eq!(Call::get(path).own_credential(None), OwnCredential::InAddress);
    }
    assert_eq!(Call::get("/x?keys=1").own_credential(None), OwnCredential::None);
}

#[test]
fn an_idempotency_key_is_no_credential_whatever_its_header_is_called() {
    // Could break if the header that an upstream was said to take keys in were read by its name alone.
    let name = HeaderName::from_static("x-order-key");
    let call = Call::get("/x").with_header(name.clone(), HeaderValue::from_static("order-7"));
    assert_eq!(call.own_credential(None), OwnCredential::InHeaders);
    assert_eq!(call.own_credential(Some(&name)), OwnCredential::None);
    assert_eq!(call.without_credential(Some(&name)).headers.len(), 1);
}
