use super::*;

#[test]
fn a_path_is_joined_once() {
    // Could break: rows of OpenAI's batch form name /v1/…, and the base of many providers ends in /v1 as well.
    for (base, path, joined) in [
        ("http://h", "/v1/x", "http://h/v1/x"),
        ("http://h/", "x?q=1", "http://h/x?q=1"),
        ("http://h/v1", "/v1/x", "http://h/v1/x"),
        ("http://h/v1/", "/v1", "http://h/v1"),
        ("http://h/v1", "/v1?q=1", "http://h/v1?q=1"),
        ("http://h/v1", "/v10/x", "http://h/v1/v10/x"),
        ("http://h/openai/v1", "/v1/x", "http://h/openai/v1/x"),
        ("http://h/openai/v1", "/openai/v1/x", "http://h/openai/v1/x"),
        ("http://h/openai/v1", "/x", "http://h/openai/v1/x"),
        (
            "http://h/a/v1/chat/completions",
            "/v1/chat/completions",
            "http://h/a/v1/chat/completions",
        ),
        ("http://h/av1", "/v1/x", "http://h/av1/v1/x"),
        ("http://[::1]:80/v1", "/v1/x", "http://[::1]:80/v1/x"),
        ("http://h/v1?api-version=1", "/x", "http://h/v1/x?api-version=1"),
        (
            "http://h/v1?api-version=1",
            "/v1/x?q=1",
            "http://h/v1/x?q=1&api-version=1",
        ),
        (
            "http://h/v1?api-version=1",
            "/x?api-version=2&q=1",
            "http://h/v1/x?api-version=2&q=1",
        ),
        // A deployment has no `/v1`, and rows of OpenAI's batch form name it.
        (
            "http://h/openai/deployments/big?api-version=1",
            "/v1/chat/completions",
            "http://h/openai/deployments/big/chat/completions?api-version=1",
        ),
        (
            "http://h/openai/deployments/big/chat/completions",
            "/v1/chat/completions?api-version=1",
            "http://h/openai/deployments/big/chat/completions?api-version=1",
        ),
        (
            "http://h/openai/deployments/v1/",
            "/v10/x",
            "http://h/openai/deployments/v1/v10/x",
        ),
    ] {
        let upstream = Upstream::builder(base).unwrap().build().unwrap();
        assert_eq!(upstream.shared.base.join(path).unwrap().to_string(), joined);
    }
}

#[test]
fn an_address_that_cannot_be_is_refused_at_once_and_never_repeated() {
    // Could break: a fault that is met by every call instead; a password or a key in an error.
    for (url, fault) in [
        ("", AddressFault::NoUrl),
        ("http://exa mple", AddressFault::NoUrl),
        ("/v1", AddressFault::NotAbsolute),
        ("host:80/v1", AddressFault::NoUrl),
        ("ftp://host", AddressFault::Scheme),
        ("http://host:99999/SECRET", AddressFault::Port),
        ("http://host:0", AddressFault::Port),
        ("http://[::1]:70000", AddressFault::Port),
        ("http://me:SECRET@host", AddressFault::UserInfo),
        ("http://SECRET@host:99999", AddressFault::UserInfo),
        ("http://host/v1?key=SECRET", AddressFault::Query),
        ("http://host/v1?api-version=1&key=SECRET", AddressFault::Query),
        ("http://host/v1?key=SECRET&api-version=1", AddressFault::Query),
        ("http://host/v1#SECRET", AddressFault::Query),
    ] {
        let error = Upstream::builder(url).unwrap_err();
        assert!(
            matches!(&error, UpstreamError::Address(met) if *met == fault),
            "{url}: {error}"
        );
        assert!(!format!("{error} {error:?}").contains("SECRET"));
    }
    for url in [
        "http://host",
        "HTTP://host:/",
        "https://[::1]:8443/v1/",
        "http://host:65535",
    ] {
        assert!(Upstream::builder(url).is_ok(), "{url}");
    }
}
