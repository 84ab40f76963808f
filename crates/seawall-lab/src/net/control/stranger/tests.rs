use super::*;

fn request(headers: &[(&str, &str)]) -> Request {
    Request {
        method: "POST".to_owned(),
        target: "/__seawall/reset".to_owned(),
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
            .collect(),
        bytes: 0,
    }
}

#[test]
fn a_page_of_another_origin_is_refused_and_a_test_program_is_not() {
    // Could break: an origin that begins or ends like the own one, a name that is made to point to loopback, or a
    // container's name taken for a stranger's.
    let own = "127.0.0.1:9000";
    for (headers, right) in [
        (&[("host", own)][..], true),
        (&[], true),
        (&[("host", "localhost:9000")], true),
        (&[("host", "app.localhost")], true),
        (&[("host", "[::1]:9000")], true),
        (&[("host", "mock:9000")], true),
        (&[("host", "host.docker.internal:9000")], true),
        (&[("host", "Mock.Example.com:9000")], true),
        (&[("host", "evil.example:9000")], false),
        (&[("host", "127.0.0.1.evil.example")], false),
        (&[("host", "localhost.evil.example")], false),
        (&[("host", "mock.example.com.evil.example")], false),
        (&[("host", own), ("origin", "http://127.0.0.1:9000")], true),
        (&[("host", own), ("origin", "HTTPS://127.0.0.1:9000")], true),
        (&[("host", own), ("origin", "http://127.0.0.1:9001")], false),
        (&[("host", own), ("origin", "http://127.0.0.1:90000")], false),
        (&[("host", own), ("origin", "http://evil.example")], false),
        (&[("host", own), ("origin", "null")], false),
        (&[("host", own), ("origin", "")], false),
        (&[("origin", "http://127.0.0.1:9000")], false),
    ] {
        let refused = refuse("mock.example.com", &request(headers));
        assert_eq!(refused.is_ok(), right, "{headers:?}");
        if let Err(answer) = refused {
            assert_eq!(answer.status, 403);
        }
    }
    let junk = request(&[]);
    let junk = Request {
        headers: vec![
            ("host".to_owned(), own.into()),
            ("origin".to_owned(), b"http\xff\xfe//x".to_vec()),
        ],
        ..junk
    };
    assert!(refuse("", &junk).is_err());
}
