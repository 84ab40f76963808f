use super::{has_secret_query, is_secret, names_secret};
use http::{HeaderName, HeaderValue};

#[test]
fn a_name_that_says_credential_is_one_whoever_made_it_up() {
    // Breaks when credentials are known by a list of headers: the gateway that is not on it gets somebody else's key.
    for name in [
        "authorization",
        "Authorization",
        "proxy-authorization",
        "cf-aig-authorization",
        "helicone-auth",
        "api-key",
        "x-api-key",
        "x-portkey-api-key",
        "x-goog-api-key",
        "x-functions-key",
        "ocp-apim-subscription-key",
        "apikey",
        "apiKey",
        "accessToken",
        "access_token",
        "private-token",
        "x-auth-token",
        "x-amz-security-token",
        "X-Amz-Signature",
        "X-Amz-Credential",
        "client_secret",
        "password",
        "sig",
        "key",
        "dpop",
        "cookie",
        "set-cookie",
    ] {
        assert!(names_secret(name), "{name}");
    }
}

#[test]
fn a_key_to_something_else_is_none() {
    // Breaks when every key and every token is kept back: an idempotency key would be lost on the way to the next
    // upstream, and a call with a page's token would have no fallback.
    for name in [
        "idempotency-key",
        "x-idempotency-key",
        "idempotencyKey",
        "prompt-cache-key",
        "page_token",
        "nextPageToken",
        "pagetoken",
        "max_tokens",
        "keys",
        "x-request-id",
        "openai-organization",
        "content-type",
        "accept",
        "user-agent",
        "signal",
        "design",
        "",
    ] {
        assert!(!names_secret(name), "{name}");
    }
}

#[test]
fn a_value_that_is_a_credential_is_one_under_any_name() {
    // Breaks when the name alone decides.
    let header = |value: &'static str| {
        let name = HeaderName::from_static("x-mine");
        is_secret(&name, &HeaderValue::from_static(value))
    };
    for value in [
        "Bearer abc",
        "basic YTpi",
        "sk-proj-0123456789",
        "eyJhbGciOi.eyJ.x",
    ] {
        assert!(header(value), "{value}");
    }
    for value in ["bear", "Basically", "sk-1", "v", "12", ""] {
        assert!(!header(value), "{value}");
    }
}

#[test]
fn a_query_is_taken_apart_as_any_server_may() {
    // Breaks when a name is compared as it was written: a server decodes it first, and some part pairs at `;`.
    for path in [
        "/x?key=K",
        "/x?a=b&KEY=K",
        "/x?%6bey=K",
        "/x?ke%79=K",
        "/x?+key=K",
        "/x?a=b;key=K",
        "/x?a=b?key=K",
        "/x?key",
        "/x?mine=sk-proj-0123456789",
        "/x?X-Goog-Signature=K",
    ] {
        assert!(has_secret_query(path), "{path}");
    }
    for path in [
        "/x",
        "/key=K",
        "/x?",
        "/x?alt=sse",
        "/x?page_token=t",
        "/x?keys=1",
        "/x?%zz=%",
        "/x?%ff=1",
    ] {
        assert!(!has_secret_query(path), "{path}");
    }
}
