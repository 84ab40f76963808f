use super::super::*;
use super::whole::WHOLE;
use proptest::prelude::*;

/// All that is ever printed of a file.
fn printed(bytes: &[u8]) -> String {
    match Config::from_bytes("f", bytes) {
        Ok(config) => format!(
            "{:?} {:?} {:?}",
            config.settings(),
            config.not_enforced,
            config.remarks
        ),
        Err(errors) => errors.to_string(),
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        // A file that stops the program is a bug, whatever is in it.
        printed(&bytes);
    }

    #[test]
    fn any_text_that_looks_like_a_file_is_read_or_refused(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "[", "]", "[[", "]]", "{", "}", "=", "\"", "'", ",", ".", "\n", "\r\n", "#", " ", "policy", "upstream",
                "route", "serve", "name", "to", "retries", "backoff", "jitter", "proportional", "classify", "credential",
                "env", "3", "0.5", "-1", "1e400", "\"30s\"", "\"off\"", "true", "1979-05-27", "\u{feff}", "ü", "match",
                "header", "9999999999999999999999", "\"main/x\"", "[[upstream]]\nname = \"a\"\nbase_url = \"http://a\"\n",
            ]),
            0..60,
        )
    ) {
        // Values of every kind in places that expect another.
        printed(parts.concat().as_bytes());
    }

    #[test]
    fn a_right_file_with_a_hole_or_a_patch_is_read_or_refused(
        from in 0_usize..3_000, length in 0_usize..40, patch in "[\\PC\n]{0,8}"
    ) {
        // Near misses reach further into the reader than noise does.
        let (from, to) = (from % WHOLE.len(), (from % WHOLE.len() + length).min(WHOLE.len()));
        let text = [&WHOLE.as_bytes()[..from], patch.as_bytes(), &WHOLE.as_bytes()[to..]].concat();
        printed(&text);
    }
}

#[test]
fn a_secret_in_a_file_is_never_printed() {
    // The file is wrong because a key stands in it, and the error that says so ends up in a log.
    let secrets = [
        "sk-live-0123456789abcdef",
        "hunter2hunter2hunter2",
        "ghp_0123456789abcdefghij",
    ];
    let files = [
        "[[upstream]]\nname = 'a'\nbase_url = 'https://a'\ncredential = 'SECRET'\nretrys = 3\n",
        "[[upstream]]\nname = 'a'\nbase_url = 'https://me:SECRET@a/v1'\n",
        "[[upstream]]\ncredential = { env = 'SECRET.x' }\n",
        "[[upstream]]\ncredential = { value = 'SECRET' }\n",
        "upstream = [{ credential = 'SECRET', name = 3 }]\n",
        "[[upstream]]\napi_key = \"SECRET\"\n",
        "[upstream.credential]\ntoken = \"SECRET\"\n",
        "[[upstream]]\ncredential = \"\"\"\nSECRET\"\"\"\nnam = 3",
        "[serve]\nclients = [{ name = 'web', token_hash = 'SECRET' }]\n",
        "[serve]\nadmin = { token = 'SECRET' }\n",
        "[batch]\nupstream = 'https://me:SECRET@a'\nmodell = 3\n",
        "[[upstream]]\ncredential = SECRET\n",
        "[[upstream]]\ncredential = SECRET # the key of the team\n",
        "[[upstream]]\ncredental = \"SECRET\"\n",
        "[[upstream]]\npasword = 'SECRET'\n",
        "OPENAI_API_KEY=SECRET\n",
        "export MAIN_KEY=SECRET\n",
        "Authorization: Bearer SECRET\n",
        "[[upstream]]\nname = 'a'\nbase_url = 'https://a/v1?api_key=SECRET'\n",
        "[[upstream]]\nname = 'a'\nbase_url = 'https://a/v1?api-version=1&key=SECRET&x=1'\n",
        "[[upstream]]\nname = 'a'\nbase_url = 'https://a/v1?SECRET'\n",
    ];
    for secret in secrets {
        for file in files {
            let text = file.replace("SECRET", secret);
            // And cut anywhere, so that TOML itself is broken.
            for end in 0..=text.len() {
                // What is cut off after a name of letters may be a variable's.
                if end < text.len() && file.contains("env") && !secret.contains('-') {
                    continue;
                }
                let said = printed(&text.as_bytes()[..end]);
                // A few letters of it may stand: nobody can tell `s` from the beginning of a word.
                let shown = (12..=secret.len()).any(|length| said.contains(&secret[..length]));
                assert!(!shown, "{}\n{said}", &text[..end]);
            }
        }
    }
}

#[test]
fn what_is_no_text_or_too_much_says_so() {
    // "invalid utf-8 sequence of 1 bytes from index 1374" is true and helps nobody.
    let said = |bytes: &[u8]| {
        Config::from_bytes("f", bytes)
            .expect_err("no file of ours")
            .to_string()
    };
    expect_test::expect![[r#"
        f:2:12: the byte 0xff here is no UTF-8 text
          |
        2 | retries = "
          |            ^
          = save the file as UTF-8, or name the file that you meant"#]]
    .assert_eq(&said(b"[policy]\nretries = \"\xff\""));
    expect_test::expect![[r#"
        f:1:1: this file is UTF-16
          |
        1 | 
          | ^
          = save it as UTF-8"#]]
    .assert_eq(&said(b"\xff\xfe[\0p\0"));
    expect_test::expect![[r#"
        f:1:1: the file is 10485760 bytes long; the most is 1048576
          |
        1 | 
          | ^
          = name the file that you meant: a seawall.toml takes a few hundred lines"#]]
    .assert_eq(&said(&vec![b' '; 10 << 20]));
    assert!(Config::from_bytes("f", b"").is_ok());
    assert!(Config::from_bytes("f", b"\xef\xbb\xbf[policy]\r\nretries = 3\r\n").is_ok());
    // The mark of UTF-8 is no part of the first line.
    let marked = Config::from_bytes("f", b"\xef\xbb\xbfpolcy = 3").expect_err("no such table");
    assert_eq!(
        (marked.first().column, marked.first().text.as_str()),
        (1, "polcy = 3")
    );
}

#[test]
fn a_file_of_mistakes_is_told_in_a_bounded_text() {
    // The largest file, made of errors on one line or on many, must neither hang nor print a megabyte.
    let line = "policy = {".to_owned() + &(0..60_000).map(|n| format!("k{n}=0,")).collect::<String>() + "}";
    let lines: String = (0..60_000)
        .map(|n| format!("k{n} = \"sk-012345678\"\n"))
        .collect();
    let routes = "[[route]]\nto=['a']\n".repeat(40_000);
    let broken = "= \n".repeat(50_000);
    let quotes = "\"".repeat(1_000_000);
    for text in [line, lines, routes, broken, quotes] {
        let errors = Config::parse("f", &text).expect_err("nothing in it is right");
        assert!(errors.iter().count() <= 50);
        assert!(errors.to_string().len() < 40_000, "{}", errors.to_string().len());
    }
}

#[test]
fn an_address_that_is_taken_can_be_called() {
    // The reader of files has its own look at addresses, as it works without the HTTP adapter.
    let hosts = [
        "a",
        "a.example.com",
        "127.0.0.1",
        "[::1]",
        "[::g]",
        "",
        "a b",
        "ü",
        "me@a",
        "a_b",
        "[::1",
        "a]b",
        "%41",
    ];
    let ports = ["", ":", ":80", ":0", ":65536", ":x", ":+1"];
    let paths = [
        "",
        "/",
        "/v1",
        "/v1/",
        "/v 1",
        "/ü",
        "/%20",
        "/a?b",
        "/a?api-version=2024-10-21",
        "?api-version=1",
        "/a?api-version=1&b=2",
        "/a?api-version=1?2",
        "/a?api-version=ü",
        "/a#b",
        "/{a}",
        "/a\"b",
        "/\u{7f}",
        "//",
        "/a|b",
    ];
    let schemes = ["http://", "https://", "HTTPS://", "ftp://", "", "//", "http:/"];
    let mut urls = Vec::new();
    for scheme in schemes {
        for host in hosts {
            for port in ports {
                urls.extend(paths.iter().map(|path| (scheme, host, port, *path)));
            }
        }
    }
    for (scheme, host, port, path) in urls {
        let url = format!("{scheme}{host}{port}{path}");
        let taken = super::super::address::fault(&url).is_none();
        #[cfg(feature = "http")]
        if taken {
            let called = crate::upstream::Upstream::builder(&url);
            assert!(called.is_ok(), "{url}: {:?}", called.err());
        }
        let plain = ["a", "a.example.com", "127.0.0.1", "[::1]"].contains(&host)
            && ["", ":80"].contains(&port)
            && ["", "/", "/v1", "/v1/", "/%20", "/a?api-version=2024-10-21"].contains(&path)
            && ["http://", "https://"].contains(&scheme);
        assert!(taken || !plain, "{url}");
    }
}
