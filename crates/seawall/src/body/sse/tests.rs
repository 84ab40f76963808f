use super::*;
use proptest::prelude::*;

/// Every event of these bytes, cut into pieces of these lengths, which are gone through again and again.
fn read(bytes: &[u8], lengths: &[usize]) -> Vec<RawEvent> {
    let mut sse = Sse::new(EVENT_BYTES_MAX);
    let mut events = Vec::new();
    let (mut rest, mut lengths) = (bytes, lengths.iter().cycle());
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.len().min((*lengths.next().unwrap()).max(1)));
        rest = more;
        let mut piece = piece;
        while let Some(event) = sse.read(&mut piece).unwrap() {
            events.push(event);
        }
        assert!(piece.is_empty());
    }
    events.extend(sse.end());
    events
}

fn pairs(events: Vec<RawEvent>) -> Vec<(String, Vec<u8>)> {
    events.into_iter().map(|event| (event.name, event.data)).collect()
}

#[test]
fn an_event_is_the_same_however_its_bytes_are_cut() {
    // Breaks when a packet's end loses an event, ends a line twice, or breaks a character in two.
    let bytes = "\u{feff}: hello\r\nevent: greeting\r\ndata: a\r\ndata:b\r\n\r\nid: 7\rdata: \u{e9}\u{1f600}\r\rdata\n\n\
                 event: lost\n\nretry: 5\ndata: last";
    let expected = [
        ("greeting", "a\nb", ""),
        ("", "\u{e9}\u{1f600}", "7"),
        ("", "", "7"),
        ("", "last", "7"),
    ];
    for length in 1..bytes.len() {
        let events: Vec<ServerEvent> = read(bytes.as_bytes(), &[length])
            .into_iter()
            .map(Into::into)
            .collect();
        let events: Vec<_> = events
            .iter()
            .map(|event| (event.name.as_str(), event.data.as_str(), &*event.id))
            .collect();
        assert_eq!(events, expected, "pieces of {length}");
    }
}

#[test]
fn a_carriage_return_ends_an_event_at_once() {
    // Breaks when an event waits for a line feed that the server never sends: it would be told with the one after it.
    let mut sse = Sse::new(EVENT_BYTES_MAX);
    let event = sse.read(&mut b"data: a\r\r".as_slice()).unwrap();
    assert_eq!(event.unwrap().data, b"a");
}

#[test]
fn what_has_no_end_is_not_kept() {
    // Breaks when a line, or a thousand lines of one event, may fill the machine.
    for part in ["data: aaaa", "data: aaaa\n", ": aaaa", "event: a\ndata: aaaa\n"] {
        let mut sse = Sse::new(1_000);
        let told = (0..1_000).find_map(|_| sse.read(&mut part.as_bytes()).err());
        let is_bounded = told == Some(TooLong) || part.starts_with(':') && sse.kept_bytes() <= 1_000;
        assert!(is_bounded, "{part}");
    }
    // The bound is for one event, not for all of them.
    let mut sse = Sse::new(20);
    for _ in 0..100 {
        assert!(sse.read(&mut b"data: 12345\n\n".as_slice()).unwrap().is_some());
    }
}

#[test]
fn an_id_is_kept_once_for_all_events_that_have_it() {
    // Breaks when each of the thousand events of one chunk has a copy of an id of sixteen megabytes.
    let mut sse = Sse::new(EVENT_BYTES_MAX);
    let mut rest = b"id: x\n\ndata: a\n\ndata: b\n\n".as_slice();
    let events: Vec<_> = std::iter::from_fn(|| sse.read(&mut rest).unwrap()).collect();
    let [a, b] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!(&*a.id, "x");
    assert!(Arc::ptr_eq(&a.id, &b.id));
    assert_eq!(sse.kept_bytes(), 1, "and it is counted");
    let mut sse = Sse::new(14);
    assert!(sse.read(&mut b"event: 12345\n".as_slice()).unwrap().is_none());
    assert_eq!(
        sse.read(&mut b"data: 123456\n".as_slice()),
        Err(TooLong),
        "a name is part of its event"
    );
}

#[test]
fn an_event_never_prints_what_it_says() {
    // Breaks when a log of events is a log of what users and models said.
    let event = ServerEvent {
        name: "delta".to_owned(),
        data: "a secret".to_owned(),
        id: Arc::default(),
    };
    assert_eq!(
        format!("{event:?}"),
        r#"ServerEvent { name: "delta", data_bytes: 8, .. }"#
    );
}

/// Lines that mean something to a reader of events, with every end that a line can have.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        Just(""),
        Just("data: a"),
        Just("data:"),
        Just("data"),
        Just("data:  b: c"),
        Just("event: e"),
        Just("event"),
        Just(": comment"),
        Just("id: 1"),
        Just("other: \u{e9}"),
        Just("\u{feff}data: d"),
    ];
    let end = prop_oneof![Just("\n"), Just("\r"), Just("\r\n"), Just("")];
    let lines = proptest::collection::vec((text, end), 0..12);
    lines.prop_map(|lines| {
        lines
            .into_iter()
            .flat_map(|(text, end)| [text, end].concat().into_bytes())
            .collect()
    })
}

/// The events of the whole, found without any state: another way to the same.
fn whole(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let (mut events, mut name, mut data) = (Vec::new(), String::new(), None::<Vec<u8>>);
    while !rest.is_empty() {
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let (line, tail) = rest.split_at(rest.iter().position(is_end).unwrap_or(rest.len()));
        rest = tail.strip_prefix(b"\r\n").or(tail.get(1..)).unwrap_or(b"");
        if line.is_empty() {
            let ended = (std::mem::take(&mut name), data.take());
            events.extend(ended.1.map(|data| (ended.0, data)));
            continue;
        }
        match (field(line), &mut data) {
            ((b"event", value), _) => name = String::from_utf8_lossy(value).into_owned(),
            ((b"data", value), None) => data = Some(value.to_vec()),
            ((b"data", value), Some(data)) => data.extend([b"\n", value].concat()),
            _ => {}
        }
    }
    events.extend(data.map(|data| (name, data)));
    events
}

proptest! {
    #[test]
    fn events_that_come_in_pieces_are_those_of_the_whole(
        bytes in prop_oneof![lines(), proptest::collection::vec(any::<u8>(), 0..64)],
        lengths in proptest::collection::vec(1_usize..9, 1..5),
    ) {
        // Breaks when the reader that goes by pieces and the one that has it all differ in anything.
        prop_assert_eq!(pairs(read(&bytes, &lengths)), whole(&bytes));
    }
}
