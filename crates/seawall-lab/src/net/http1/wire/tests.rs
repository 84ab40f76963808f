use super::*;
use proptest::prelude::*;

#[test]
fn a_chunks_length_is_hexadecimal_and_nothing_else() {
    // Could break if a sign, a space or an overflow were read as a number.
    for (line, size) in [
        (&b"5\r\n"[..], Some(5)),
        (b"fF;x=y\r\n", Some(255)),
        (b"0\n", Some(0)),
        (b"ffffffffffffffff\r\n", Some(u64::MAX)),
        (b"10000000000000000\r\n", None),
        (b"+5\r\n", None),
        (b"-5\r\n", None),
        (b"0x5\r\n", None),
        (b"5 5\r\n", None),
        (b"\r\n", None),
    ] {
        assert_eq!(chunk_size(line), size, "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn a_proxys_target_is_read_as_its_path() {
    for (target, path) in [
        ("/x?a=http://b/c", "/x?a=http://b/c"),
        ("http://h/x?a", "/x?a"),
        ("http://h", "/"),
        ("*", "*"),
    ] {
        assert_eq!(origin_form(target), path);
    }
}

proptest! {
    #[test]
    fn the_end_of_a_head_is_found_wherever_reads_split_it(bytes in "[a\r\n]{0,12}", split in 0..12_usize) {
        // Could break if the mark straddled two reads. What was searched before holds no end.
        let whole = head_end(bytes.as_bytes(), 0);
        let split = split.min(bytes.len());
        let found = match head_end(&bytes.as_bytes()[..split], 0) {
            Some(end) => Some(end),
            None => head_end(bytes.as_bytes(), split),
        };
        prop_assert_eq!(found, whole);
    }

    #[test]
    fn no_head_is_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), line in "(GET|[A-Z]{0,4}) [ -~]{0,20} HTTP/1.[01]\r\n(content-length: [0-9x+]{0,25}\r\n){0,2}\r\n") {
        // Could break at any slice of what a stranger sends.
        for head in [&bytes[..], line.as_bytes()] {
            if let Ok(head) = parse_head(head) {
                prop_assert!(!head.request.path().contains('?'));
            }
        }
        chunk_size(&bytes);
    }
}
