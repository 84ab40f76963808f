use super::*;
use crate::net::Mock;
use crate::net::tests::{ask, body, header, json as parsed, raw, status};
use expect_test::expect;

/// A control request, and its answer as JSON.
async fn told(mock: &Mock, method: &str, path: &str, body: &str) -> Value {
    let answer = ask(mock, method, &format!("{PREFIX}/{path}"), body).await;
    assert_eq!(status(&answer), 200, "{answer}");
    parsed(&answer)
}

/// A control request that is refused: status and message.
async fn refused(mock: &Mock, method: &str, path: &str, body: &str) -> String {
    let answer = ask(mock, method, &format!("{PREFIX}/{path}"), body).await;
    let message = parsed(&answer)["error"]["message"].as_str().unwrap().to_owned();
    format!("{}: {message}\n", status(&answer))
}

fn routes(told: &Value) -> Vec<String> {
    let route = |route: &Value| {
        let text = |key: &str| route[key].as_str().unwrap_or("-").to_owned();
        format!("{} = {} ({})", text("match"), text("script"), route["attempts"])
    };
    told["routes"].as_array().unwrap().iter().map(route).collect()
}

#[tokio::test]
async fn what_the_list_promises_is_there_and_takes_no_other_method() {
    // Could break if an endpoint were added to the list alone, or took what the list does not say.
    let mock = Mock::start("GET /x = 200").await.unwrap();
    for bare in ["", "/"] {
        let listed = parsed(&ask(&mock, "GET", &format!("{PREFIX}{bare}"), "").await);
        assert_eq!(listed["endpoints"].as_array().unwrap().len(), ENDPOINTS.len());
    }
    for Endpoint { name, deeds, .. } in ENDPOINTS {
        for method in ["GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS"] {
            let answer = ask(&mock, method, &format!("{PREFIX}/{name}"), "").await;
            let allowed: Vec<&str> = deeds
                .iter()
                .flat_map(|(verb, _)| verb.allowed().split(", "))
                .collect();
            assert_eq!(
                status(&answer) == 405,
                !allowed.contains(&method),
                "{method} {name}: {answer}"
            );
            if status(&answer) == 405 {
                assert_eq!(header(&answer, "allow"), Some(&*allowed.join(", ")));
            }
        }
    }
    assert!(mock.journal().attempts.is_empty(), "none of it is an attempt");
}

#[tokio::test]
async fn a_slip_is_told_with_what_was_meant_and_changes_nothing() {
    // Could break if an unknown word were skipped: a test would go on with a mock that was never reset.
    let mock = Mock::start("GET /x = 503, 200").await.unwrap();
    ask(&mock, "GET", "/x", "").await;
    let mut said = String::new();
    for (method, path, body) in [
        ("POST", "rest", ""),
        ("GET", "jornal?since=1", ""),
        ("POST", "reset?rout=GET%20/x", ""),
        ("POST", "reset?state=a", ""),
        ("POST", "reset?route=GET%20/y", ""),
        ("POST", "reset?route=GET%20/x&route=GET%20/x", ""),
        ("POST", "reset?route=GET%2", ""),
        ("GET", "routes?x=1", ""),
        ("GET", "journal?since=x", ""),
        ("GET", "journal?format=csv", ""),
        ("GET", "journal?route=GET%20/y", ""),
        ("DELETE", "routes", ""),
        ("DELETE", "routes?route=GET%20/y", ""),
        ("POST", "routes", ""),
        ("POST", "routes", "GET /x = 2x 503, rest"),
        ("POST", "routes", "[[route]]\nmatch = \"GET /x\"\nscrip = \"200\""),
        (
            "POST",
            "routes",
            "# later\nseed = 7\n[[route]]\nmatch = \"GET /x\"",
        ),
        ("POST", "routes", "{\"match\":\"GET /x\",\"script\":\"rest\"}"),
        ("POST", "routes", "{\"match\":\"GET /x\",\"latency\":null}"),
        ("POST", "routes", "[1]"),
        ("POST", "routes", "{"),
        ("POST", "clock", "5s"),
        ("POST", "clock", "{\"advanse\":\"5s\"}"),
        ("POST", "clock", "{\"advance\":\"5\"}"),
        ("POST", "clock", "{\"scale\":0}"),
        ("POST", "clock", "{\"step\":false}"),
        ("POST", "clock", "{\"scale\":2,\"manual\":true}"),
        ("POST", "clock", "{\"advance\":\"5s\"}"),
        ("POST", "clock", "{\"step\":true}"),
    ] {
        said.push_str(&refused(&mock, method, path, body).await);
    }
    expect![[r#"
        404: the control plane has no such thing; it has journal, verify, reset, resources, routes, ca.pem, clock, and /__seawall/ says what each does; did you mean /__seawall/reset?
        404: the control plane has no such thing; it has journal, verify, reset, resources, routes, ca.pem, clock, and /__seawall/ says what each does; did you mean /__seawall/journal?
        400: there is no parameter `rout`; this takes route, state; did you mean `route`?
        400: state is a value of one route: say ?route=METHOD PATH too
        404: no route is `GET /y`; there are GET /x; did you mean `GET /x`?
        400: the parameter `route` comes twice
        400: `route=GET%2` is not percent-encoded UTF-8
        400: there is no parameter `x`; this takes none
        400: since is the number of an attempt, not `x`
        400: format is json or jsonl, not `csv`
        404: no route is `GET /y`; there are GET /x; did you mean `GET /x`?
        400: say which: ?route=METHOD PATH, percent-encoded
        404: no route is `GET /y`; there are GET /x; did you mean `GET /x`?
        400: the body is empty; expected `METHOD PATH = SCRIPT`, or [[route]] tables of a mock file, or a route as JSON
        400: 1:18: `rest` is no action
        1 | GET /x = 2x 503, rest
          |                  ^^^^ did you mean `reset`?
          = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
        400: body:3:1: a route has no key `scrip`
        3 | scrip = "200"
          | ^^^^^ did you mean `script`?
          = expected one of match, script, mix, latency, dialect, state, limit, resource, idempotency
        400: body:2:1: a change of a running mock's routes has no key `seed`
        2 | seed = 7
          | ^^^^
          = expected one of route
        400: body:3:11: `rest` is no action
        3 | script = "rest"
          |           ^^^^ did you mean `reset`?
          = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
        400: `latency` is null, which says nothing; leave the key out
        400: body:1:10: this route is no table
        1 | route = [1]
          |          ^
          = expected one [[route]] or more
        400: the body is no JSON: EOF while parsing an object at line 1 column 1; expected `METHOD PATH = SCRIPT`, or [[route]] tables of a mock file, or a route as JSON
        400: the body is no JSON object: invalid type: integer `5`, expected a map at line 1 column 1; expected {"advance":"5s"}, {"step":true}, {"scale":10}, {"manual":true} or {"manual":false}
        400: a clock has no key `advanse` (did you mean `advance`?); expected {"advance":"5s"}, {"step":true}, {"scale":10}, {"manual":true} or {"manual":false}
        400: `5` is no length of time; expected {"advance":"5s"}, {"step":true}, {"scale":10}, {"manual":true} or {"manual":false}
        400: 0 is no scale: a scale of time is a number from 0.001 to 100000, as in 10 or 0.5; expected {"advance":"5s"}, {"step":true}, {"scale":10}, {"manual":true} or {"manual":false}
        400: step cannot be false; expected {"advance":"5s"}, {"step":true}, {"scale":10}, {"manual":true} or {"manual":false}
        400: a clock is told one thing at a time; expected {"advance":"5s"}, {"step":true}, {"scale":10}, {"manual":true} or {"manual":false}
        409: the mock's clock runs by itself; only a manual one is turned by hand (`--clock manual`, or {"manual":true})
        409: the mock's clock runs by itself; only a manual one is turned by hand (`--clock manual`, or {"manual":true})
    "#]].assert_eq(&said);
    let stands = told(&mock, "GET", "routes", "").await;
    assert_eq!(routes(&stands), ["GET /x = 503, 200 (1)"]);
    assert_eq!(mock.journal().attempts.len(), 1);
}

#[tokio::test]
async fn what_a_route_does_not_say_is_told_as_nothing() {
    // Could break if a word were told that no file takes: what is told could not be put in again.
    let mock = Mock::start("GET /x = 200").await.unwrap();
    let bare = parsed(&ask(&mock, "GET", &format!("{PREFIX}/routes"), "").await);
    assert_eq!(bare["routes"][0]["dialect"], Value::Null);
    let said = r#"{"match":"GET /x","script":"200","dialect":"groq","limit":{"rpm":1}}"#;
    let answer = ask(&mock, "POST", &format!("{PREFIX}/routes"), said).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let told = parsed(&ask(&mock, "GET", &format!("{PREFIX}/routes"), "").await);
    assert_eq!(told["routes"][0]["dialect"], "groq");
    assert_eq!(told["routes"][0]["limit"]["form"], Value::Null);
}

#[tokio::test]
async fn a_mistake_in_a_route_is_told_with_its_place() {
    // Could break if the place were only in the text, where a program cannot read it.
    let mock = Mock::start("GET /x = 200").await.unwrap();
    let toml = "[[route]]\nmatch = \"GET /x\"\nscript = \"503, rest\"";
    let answer = parsed(&ask(&mock, "POST", "/__seawall/routes", toml).await);
    let error = &answer["error"];
    assert_eq!((&error["line"], &error["column"]), (&3.into(), &16.into()));
}

#[tokio::test]
async fn routes_are_put_in_and_taken_out_in_every_form_they_are_written_in() {
    // Could break if one of the forms lost a key on the way.
    let mock = Mock::start("GET /x = 501, 502").await.unwrap();
    ask(&mock, "GET", "/x", "").await;
    let stands = told(&mock, "POST", "routes", "POST /pay = 2x 503, 200\n").await;
    assert_eq!(
        routes(&stands),
        ["POST /pay = 2x 503, 200 (0)", "GET /x = 501, 502 (1)"]
    );
    let toml = "[[route]]\nmatch = \"POST /pay\"\nscript = \"429\"\n[[route]]\nmatch = \"GET /y\"\nlatency = \"2s\"\n";
    let stands = told(&mock, "POST", "routes", toml).await;
    assert_eq!(
        routes(&stands),
        ["GET /y = 200 (0)", "POST /pay = 429 (0)", "GET /x = 501, 502 (1)"]
    );
    assert_eq!(stands["routes"][0]["latency"], "2s");
    let forms = [
        r#"{"match":"GET /y","mix":{"503":0.5,"200":0.5},"state":"header:x-test"}"#,
        r#"[{"match":"GET /y","mix":{"503":0.5,"200":0.5},"state":"header:x-test"}]"#,
        r#" {"route":[{"match":"GET /y","mix":{"503":0.5,"200":0.5},"state":"header:x-test"}]}"#,
    ];
    for form in forms {
        let stands = told(&mock, "POST", "routes", form).await;
        let route = &stands["routes"][0];
        assert_eq!(
            (&route["state"], route["mix"].as_array().unwrap().len()),
            (&"header:x-test".into(), 2)
        );
    }
    let stands = told(&mock, "DELETE", "routes?route=GET+/y", "").await;
    assert_eq!(routes(&stands).len(), 2);
    told(&mock, "DELETE", "routes?route=POST%20%2Fpay", "").await;
    let stands = told(&mock, "DELETE", "routes?route=GET%20/x", "").await;
    assert!(routes(&stands).is_empty());
    assert_eq!(status(&ask(&mock, "GET", "/x", "").await), 404);
}

#[tokio::test]
async fn one_script_begins_again_and_the_rest_stays() {
    // Could break if every reset were a whole one: tests that share a mock would disturb each other.
    let file = "[[route]]\nmatch = \"GET /x\"\nscript = \"501, 502\"\nstate = \"header:x-test\"\n[[route]]\nmatch = \"GET /y\"\nscript = \"501, 502\"";
    let file = crate::file::MockFile::parse("mock.toml", file).unwrap();
    let mock = Mock::builder().file(file).start().await.unwrap();
    let get = async |path: &str, test: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nx-test: {test}\r\nconnection: close\r\n\r\n");
        status(&raw(&mock, &request).await.0)
    };
    for path in ["/x", "/y"] {
        assert_eq!((get(path, "a").await, get("/x", "b").await > 500), (501, true));
    }
    let whose = told(&mock, "POST", "reset?route=GET%20/x&state=a", "").await;
    assert_eq!(whose["had_begun"], true);
    assert_eq!(
        told(&mock, "POST", "reset?route=GET%20/x&state=c", "").await["had_begun"],
        false
    );
    assert_eq!((get("/x", "a").await, get("/x", "b").await), (501, 502));
    told(&mock, "POST", "reset?route=GET%20/x", "").await;
    assert_eq!((get("/x", "b").await, get("/y", "a").await), (501, 502));
    assert_eq!(mock.journal().attempts.len(), 8, "the journal stays");
    told(&mock, "POST", "reset", "").await;
    assert!(mock.journal().attempts.is_empty());
    assert_eq!(get("/y", "a").await, 501);
}

#[tokio::test]
async fn the_journal_is_cut_by_number_and_route_and_told_in_lines() {
    // Could break if a filter also changed what is counted, or if lines were a document.
    let mock = Mock::start("GET /x = 429 retry-after=7 header.x-should-retry=false")
        .await
        .unwrap();
    mock.route("GET /y = 200").unwrap();
    for path in ["/x", "/y", "/x", "/nowhere"] {
        ask(&mock, "GET", path, "").await;
    }
    mock.quiet().await;
    let numbers = |told: &Value| -> Vec<u64> {
        let attempts = told["attempts"].as_array().unwrap();
        attempts
            .iter()
            .map(|attempt| attempt["number"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(
        numbers(&told(&mock, "GET", "journal?route=GET%20/x", "").await),
        [1, 3]
    );
    let x = told(&mock, "GET", "journal?since=1&route=GET%20/x", "").await;
    assert_eq!(numbers(&x), [3]);
    let hint = json!({ "source": "retry-after", "text": "7", "wait_ms": 7_000.0 });
    assert_eq!(
        (&x["attempts"][0]["hint"], &x["attempts"][0]["should_retry"]),
        (&hint, &false.into())
    );
    // A route that is gone is still a route of the journal.
    mock.remove_route("GET /y").unwrap();
    assert_eq!(
        numbers(&told(&mock, "GET", "journal?route=GET%20/y", "").await),
        [2]
    );
    let lines = ask(&mock, "GET", "/__seawall/journal?format=jsonl", "").await;
    assert_eq!(header(&lines, "content-type"), Some("application/jsonl"));
    let paths: Vec<Value> = body(&lines)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["path"].clone())
        .collect();
    assert_eq!(paths, ["/x", "/y", "/x", "/nowhere"]);
}

#[tokio::test]
async fn a_clock_is_stopped_turned_stepped_and_let_go() {
    // Could break if a change at run time lost who waits, or if the answer told how it stood before.
    let mock = Mock::start("GET /x = 200 delay=1h").await.unwrap();
    let stopped = told(&mock, "POST", "clock", r#"{"manual":true}"#).await;
    assert_eq!((&stopped["manual"], &stopped["scale"]), (&true.into(), &1.into()));
    let now = stopped["now_ms"].as_f64().unwrap();
    let get = tokio::spawn({
        let request = "GET /x HTTP/1.1\r\nconnection: close\r\n\r\n";
        let address = mock.address();
        async move {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            status(&answer)
        }
    });
    while told(&mock, "GET", "clock", "").await["waiting"] != 1 {
        tokio::task::yield_now().await;
    }
    let turned = told(&mock, "POST", "clock", r#"{"advance":"59m"}"#).await;
    assert!((turned["now_ms"].as_f64().unwrap() - now - 3_540_000.0).abs() < 0.01);
    assert!((turned["next_ms"].as_f64().unwrap() - now - 3_600_000.0).abs() < 0.01);
    let stepped = told(&mock, "POST", "clock", r#"{"step":true}"#).await;
    assert_eq!(
        (&stepped["waiting"], &stepped["next_ms"]),
        (&0.into(), &Value::Null)
    );
    assert_eq!(get.await.unwrap(), 200);
    assert!(
        refused(&mock, "POST", "clock", r#"{"step":true}"#)
            .await
            .starts_with("409: ")
    );
    assert_eq!(
        told(&mock, "POST", "clock", r#"{"scale":2.5}"#).await["scale"],
        2.5
    );
    told(&mock, "POST", "clock", r#"{"manual":true}"#).await;
    let let_go = told(&mock, "POST", "clock", r#"{"manual":false}"#).await;
    assert_eq!(
        (&let_go["manual"], &let_go["scale"]),
        (&false.into(), &2.5.into())
    );
}

#[tokio::test]
async fn a_page_of_another_origin_re_scripts_nothing() {
    // Could break if one of the endpoints were looked up before the one who asks.
    let mock = Mock::start("GET /x = 503").await.unwrap();
    let own = mock.address();
    for (headers, expected) in [
        (format!("host: {own}\r\norigin: http://{own}"), 200),
        (format!("host: {own}\r\norigin: http://evil.example"), 403),
        ("host: evil.example".to_owned(), 403),
    ] {
        for name in ["routes", "nothing"] {
            let request = format!(
                "POST /__seawall/{name} HTTP/1.1\r\n{headers}\r\nconnection: close\r\ncontent-length: 12\r\n\r\nGET /x = 200"
            );
            let (answer, _) = raw(&mock, &request).await;
            let expected = if expected == 200 && name == "nothing" {
                404
            } else {
                expected
            };
            assert_eq!(status(&answer), expected, "{answer}");
        }
        mock.route("GET /x = 503").unwrap();
    }
    // What a route answers is for pages, too.
    let page =
        format!("GET /x HTTP/1.1\r\nhost: {own}\r\norigin: http://evil.example\r\nconnection: close\r\n\r\n");
    assert_eq!(status(&raw(&mock, &page).await.0), 503);
}

#[tokio::test]
async fn a_body_has_a_bound_and_is_text() {
    // Could break if only the first part of a long body were read: half of the routes would be in.
    let mock = Mock::start("GET /x = 503").await.unwrap();
    let long = format!("GET /x = 200 text=\"{}\"", "a".repeat(3 * 1024 * 1024));
    assert!(refused(&mock, "POST", "routes", &long).await.starts_with("413: "));
    let request =
        b"POST /__seawall/routes HTTP/1.1\r\nconnection: close\r\ncontent-length: 3\r\n\r\nG\xff\xff";
    let mut stream = tokio::net::TcpStream::connect(mock.address()).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, request)
        .await
        .unwrap();
    let (answer, _) = crate::net::tests::read_out(&mut stream).await;
    assert!(answer.contains("byte 1 of the body is no UTF-8"), "{answer}");
}
