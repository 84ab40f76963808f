use super::*;

fn get(url: &'static str) -> Outgoing {
    Outgoing::new(Method::GET, Uri::from_static(url))
}

#[test]
fn debug_never_prints_a_secret() {
    // Breaks when a new field is printed as it stands, or a header that names a credential is not known as one.
    let mut out = get("https://user-like.example.com/v1/models?key=sk-query&alt=sse&sk-bare")
        .with_header("Authorization", "Bearer sk-header")
        .unwrap()
        .with_header("X-Api-Key", "sk-api")
        .unwrap()
        .with_header("cookie", "sk-cookie")
        .unwrap()
        .with_header("accept", "text/plain")
        .unwrap()
        .with_secret("x-vendor-token", Secret::new("sk-typed").unwrap())
        .unwrap()
        .with_body("sk-body");
    for name in [
        "api-key",
        "proxy-authorization",
        "x-goog-api-key",
        "x-gateway-token",
    ] {
        out = out.with_header(name, "sk-named").unwrap();
    }
    let shown = format!("{out:?}");
    assert!(!shown.contains("sk-"), "{shown}");
    assert!(shown.contains("key=***&alt=***&***"), "{shown}");
    assert!(shown.contains(r#""accept": "text/plain""#), "{shown}");
    assert!(shown.contains("body_bytes: 7"), "{shown}");
}

#[test]
fn an_error_never_repeats_a_value() {
    // Breaks when an error quotes what it refused: a token with a line break at its end is the common case.
    let errors = [
        get("http://h/").with_header("x-token", "sk-1\n").unwrap_err(),
        Secret::bearer("sk-2\r\n").unwrap_err(),
        get("http://name:sk-3@h/").target().unwrap_err(),
    ];
    for error in errors {
        assert!(!error.to_string().contains("sk-"), "{error}");
    }
    let url = format!("{:?}", get("http://name:sk-3@h/"));
    assert!(!url.contains("sk-"), "{url}");
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is() {
    // Breaks when a bad address reaches the resolver, and its failure is then retried as one of the network.
    let refused = [
        ("/v1/models", RequestError::NotAbsolute),
        (
            "ftp://h/",
            RequestError::Scheme {
                scheme: "ftp".to_owned(),
            },
        ),
        ("http://name@h/", RequestError::UserInfo),
        ("http://h:99999/", RequestError::Port),
    ];
    for (url, error) in refused {
        assert_eq!(get(url).target().unwrap_err(), error, "{url}");
    }
    let connect = Outgoing::new(Method::CONNECT, Uri::from_static("http://h/"));
    assert_eq!(connect.target().unwrap_err(), RequestError::Method);
}

#[test]
fn a_place_is_the_same_however_it_is_written() {
    // Breaks when the pool's key differs by case or by a default port, and connections are opened for nothing.
    let place = |url: &'static str| get(url).target().unwrap().place;
    assert_eq!(
        place("http://API.example.com/a"),
        place("http://api.example.com:80/b")
    );
    assert_eq!(place("https://h/").port, 443);
    assert_ne!(place("https://h:80/"), place("http://h/"));
    assert_eq!(place("http://[::1]:81/").host, "::1");
}

#[test]
fn framing_and_host_are_ours() {
    // Breaks when a header passed through says a length other than the body's: request smuggling.
    let out = Outgoing::new(Method::POST, Uri::from_static("http://[::1]:81/a?b=c"))
        .with_header("host", "elsewhere")
        .unwrap()
        .with_header("content-length", "999")
        .unwrap()
        .with_header("transfer-encoding", "chunked")
        .unwrap()
        .with_header("x-kept", "1")
        .unwrap()
        .with_header("x-kept", "2")
        .unwrap()
        .with_body("abc");
    let request = out.request(&out.target().unwrap());
    let headers = request.headers();
    assert_eq!(request.uri(), "/a?b=c");
    assert_eq!(headers.get_all("host").iter().collect::<Vec<_>>(), ["[::1]:81"]);
    assert_eq!(
        headers.get_all("content-length").iter().collect::<Vec<_>>(),
        ["3"]
    );
    assert!(!headers.contains_key("transfer-encoding"));
    assert_eq!(headers.get_all("x-kept").iter().count(), 2);
}

#[test]
fn an_empty_body_has_a_length_only_where_one_is_due() {
    // Breaks when servers answer 411 to a POST without a length, or refuse a GET that has one.
    let length = |method: Method| {
        let out = Outgoing::new(method, Uri::from_static("http://h/"));
        out.request(&out.target().unwrap())
            .headers()
            .get("content-length")
            .cloned()
    };
    assert_eq!(length(Method::POST).unwrap(), "0");
    assert_eq!(length(Method::GET), None);
    assert_eq!(length(Method::DELETE), None);
}

#[test]
fn an_http2_request_has_the_whole_address() {
    // Breaks when :authority or :path is another than the Host and the path that HTTP/1.1 would send.
    let cases = [
        ("http://h", "http://h/"),
        ("http://h?a=b", "http://h/?a=b"),
        ("http://H:80/x", "http://H/x"),
        ("https://h:443/", "https://h/"),
        ("https://h:80/", "https://h:80/"),
        ("http://[::1]:81/a?b=c", "http://[::1]:81/a?b=c"),
    ];
    for (url, expected) in cases {
        let out = get(url);
        let target = out.target().unwrap();
        let request = out.request_http2(&target).unwrap();
        assert_eq!(request.uri().to_string(), expected);
        assert!(request.headers().is_empty(), "{url}");
        let host = out.request(&target).headers()["host"].clone();
        assert_eq!(request.uri().authority().unwrap().as_str(), host, "{url}");
    }
}
