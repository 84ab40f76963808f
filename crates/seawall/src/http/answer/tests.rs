use http::HeaderValue;

use super::*;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                http::HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        })
        .collect()
}

#[test]
fn a_server_is_believed_about_how_long_it_keeps_a_connection() {
    // Breaks when the parameter is read by position, or junk becomes a length.
    let cases = [
        ("timeout=5", Some(5)),
        ("timeout=5, max=100", Some(5)),
        ("max=100, Timeout = 7", Some(7)),
        ("timeout=\"9\"", Some(9)),
        ("timeout=-1", None),
        ("timeout=5s", None),
        ("timeout", None),
        ("max=100", None),
    ];
    for (value, seconds) in cases {
        let found = keep_alive_timeout(&headers(&[("keep-alive", value)]));
        assert_eq!(found, seconds.map(Duration::from_secs), "{value}");
    }
}

#[test]
fn a_poisoned_connection_is_never_kept() {
    // Trap G62.
    // Breaks when a 408 leaves its connection in the pool and the retry meets it again (rules D and D5).
    let kept = |status: StatusCode, pairs: &[(&'static str, &'static str)]| {
        keep_after(status, &headers(pairs)) != Keep::Never
    };
    assert!(kept(StatusCode::OK, &[]));
    assert!(kept(
        StatusCode::INTERNAL_SERVER_ERROR,
        &[("connection", "keep-alive")]
    ));
    assert!(!kept(StatusCode::REQUEST_TIMEOUT, &[]));
    assert!(!kept(StatusCode::OK, &[("connection", "upgrade, Close")]));
    assert!(!kept(StatusCode::SWITCHING_PROTOCOLS, &[]));
}

#[test]
fn merging_keeps_every_byte_in_order() {
    // Breaks when the first chunk is lost as the second one comes.
    let mut gathered = Gathered::default();
    assert_eq!(gathered.len(), 0);
    for chunk in ["a", "bc", "def"] {
        gathered.add(Bytes::from_static(chunk.as_bytes()));
    }
    assert_eq!(gathered.len(), 6);
    assert_eq!(gathered.take().unwrap(), "abcdef");
}

#[test]
fn a_single_chunk_is_not_copied() {
    // Breaks when large bodies are copied once more for the sake of merging small ones.
    let chunk = Bytes::from(vec![7; 100]);
    let mut gathered = Gathered::default();
    gathered.add(chunk.clone());
    assert_eq!(gathered.take().unwrap().as_ptr(), chunk.as_ptr());
}
