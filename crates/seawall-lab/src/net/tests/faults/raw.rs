//! Every action with every option, as a raw client sees it: bytes, their times, the end, and the journal.

use super::seen::{Ended, GET, chat, see};
use expect_test::{Expect, expect};

async fn check(script: &str, expected: Expect) {
    let seen = see(script, GET, 1).await;
    expected.assert_eq(&(seen.wire() + &seen.journal()));
}

#[tokio::test]
async fn a_status_is_a_whole_answer_and_the_connection_goes_on() {
    // Could break if a scripted header or body were doubled, changed or left out, or its length were that of another.
    check(
        "200",
        expect![[r#"
        at 0s: 117 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            content-length: 46\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}
        the connection goes on
        journal: status 200, fault -, 36 in, 117 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "503 retry-after=5",
        expect![[r#"
        at 0s: 199 bytes
            HTTP/1.1 503 Service Unavailable\r\n
            content-type: application/json\r\n
            retry-after: 5\r\n
            x-seawall-fault: 503\r\n
            content-length: 73\r\n
            \r\n
            {"error":{"message":"the mock answers 503, as it was told","status":503}}
        the connection goes on
        journal: status 503, fault 503, 36 in, 199 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "429 retry-after-ms=300 header.X-Id=\"a b\"",
        expect![[r#"
        at 0s: 213 bytes
            HTTP/1.1 429 Too Many Requests\r\n
            content-type: application/json\r\n
            retry-after-ms: 300\r\n
            X-Id: a b\r\n
            x-seawall-fault: 429\r\n
            content-length: 73\r\n
            \r\n
            {"error":{"message":"the mock answers 429, as it was told","status":429}}
        the connection goes on
        journal: status 429, fault 429, 36 in, 213 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "201 json={\"id\":1}",
        expect![[r#"
        at 0s: 83 bytes
            HTTP/1.1 201 Created\r\n
            content-type: application/json\r\n
            content-length: 8\r\n
            \r\n
            {"id":1}
        the connection goes on
        journal: status 201, fault -, 36 in, 83 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "418 text=\"a teapot\"",
        expect![[r#"
        at 0s: 107 bytes
            HTTP/1.1 418 \r\n
            content-type: text/plain; charset=utf-8\r\n
            x-seawall-fault: 418\r\n
            content-length: 8\r\n
            \r\n
            a teapot
        the connection goes on
        journal: status 418, fault 418, 36 in, 107 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "200 body=\"\\u{e9}\"",
        expect![[r#"
        at 0s: 40 bytes
            HTTP/1.1 200 OK\r\n
            content-length: 2\r\n
            \r\n
            \xc3\xa9
        the connection goes on
        journal: status 200, fault -, 36 in, 40 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "200 body=\"\"",
        expect![[r#"
        at 0s: 38 bytes
            HTTP/1.1 200 OK\r\n
            content-length: 0\r\n
            \r\n
        the connection goes on
        journal: status 200, fault -, 36 in, 38 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "204",
        expect![[r#"
        at 0s: 27 bytes
            HTTP/1.1 204 No Content\r\n
            \r\n
        the connection goes on
        journal: status 204, fault -, 36 in, 27 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "304",
        expect![[r#"
        at 0s: 29 bytes
            HTTP/1.1 304 Not Modified\r\n
            \r\n
        the connection goes on
        journal: status 304, fault -, 36 in, 29 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "301 header.location=/elsewhere",
        expect![[r#"
        at 0s: 75 bytes
            HTTP/1.1 301 Moved Permanently\r\n
            location: /elsewhere\r\n
            content-length: 0\r\n
            \r\n
        the connection goes on
        journal: status 301, fault -, 36 in, 75 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "error-in-200",
        expect![[r#"
        at 0s: 175 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: error-in-200\r\n
            content-length: 73\r\n
            \r\n
            {"error":{"message":"the mock answers 500, as it was told","status":500}}
        the connection goes on
        journal: status 200, fault error-in-200, 36 in, 175 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_delay_comes_before_the_first_byte_or_the_fault() {
    // Could break if the delay came between head and body, or a fault did not wait for it.
    check(
        "200 delay=2s",
        expect![[r#"
        at 2s: 141 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: delay\r\n
            content-length: 46\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}
        the connection goes on
        journal: status 200, fault delay, 36 in, 141 out, answered 2s, client left -, ended 2s
    "#]],
    )
    .await;
    check(
        "reset delay=1h",
        expect![[r#"
        at 1h: RST
        journal: status -, fault reset, 36 in, 0 out, answered -, client left -, ended 1h
    "#]],
    )
    .await;
    check(
        "close delay=250ms",
        expect![[r#"
        at 250ms: FIN
        journal: status -, fault close, 36 in, 0 out, answered -, client left -, ended 250ms
    "#]],
    )
    .await;
    check(
        "hang after=0 delay=1s",
        expect![[r#"
        at 1s: 94 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: hang\r\n
            content-length: 46\r\n
            \r\n
        after 1s: silence
        journal: status 200, fault hang, 36 in, 94 out, answered 1s, client left 1s, ended 1s
    "#]],
    )
    .await;
    check(
        "garbage delay=1s",
        expect![[r#"
        at 1s: 45 bytes
            \xff\xfe\x00seawall: these bytes are no HTTP\x00\x01\x02\xff\r\n
            \r\n
            \x80\x81
        at 1s: FIN
        journal: status -, fault garbage, 36 in, 45 out, answered 1s, client left -, ended 1s
    "#]],
    )
    .await;
    check(
        "drip bps=50 delay=1s",
        expect![[r#"
        at 1s: 95 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: drip\r\n
            content-length: 46\r\n
            \r\n
            {
        from 1.02s on, every 20ms, 45 times: 1 byte
            "attempt":1,"model":"mock:generic","ok":true}
        the connection goes on
        journal: status 200, fault drip, 36 in, 140 out, answered 1s, client left -, ended 1.9s
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_reset_is_an_rst_after_the_bytes_that_were_asked_for() {
    // Could break if the linger were not set (a clean end), or if it threw away what it was to deliver.
    check(
        "reset",
        expect![[r#"
        at 0s: RST
        journal: status -, fault reset, 36 in, 0 out, answered -, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "reset after=0",
        expect![[r#"
        at 0s: 95 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: reset\r\n
            content-length: 46\r\n
            \r\n
        at 0s: RST
        journal: status 200, fault reset, 36 in, 95 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "reset after=5",
        expect![[r#"
        at 0s: 100 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: reset\r\n
            content-length: 46\r\n
            \r\n
            {"att
        at 0s: RST
        journal: status 200, fault reset, 36 in, 100 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "reset after=1000",
        expect![[r#"
        at 0s: 1097 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: reset\r\n
            content-length: 1001\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}[954 times ` `]
        at 0s: RST
        journal: status 200, fault reset, 36 in, 1097 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_close_is_a_fin_short_of_the_length() {
    // Could break if the close came before the request was read (an RST), or a length were right by chance.
    check(
        "close",
        expect![[r#"
        at 0s: FIN
        journal: status -, fault close, 36 in, 0 out, answered -, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "close after=0",
        expect![[r#"
        at 0s: 95 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: close\r\n
            content-length: 46\r\n
            \r\n
        at 0s: FIN
        journal: status 200, fault close, 36 in, 95 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "close after=46",
        expect![[r#"
        at 0s: 141 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: close\r\n
            content-length: 47\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}
        at 0s: FIN
        journal: status 200, fault close, 36 in, 141 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_hang_is_silence_until_the_client_leaves() {
    // Could break if the mock had a limit of its own, or missed that the client left.
    check(
        "hang",
        expect![[r#"
        after 0s: silence
        journal: status -, fault hang, 36 in, 0 out, answered -, client left 0s, ended 0s
    "#]],
    )
    .await;
    check(
        "hang after=4",
        expect![[r#"
        at 0s: 98 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: hang\r\n
            content-length: 46\r\n
            \r\n
            {"at
        after 0s: silence
        journal: status 200, fault hang, 36 in, 98 out, answered 0s, client left 0s, ended 0s
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_truncated_body_is_shorter_than_its_length() {
    // Could break if the length were that of the part: clients would take it for whole.
    check(
        "truncate at=50%",
        expect![[r#"
        at 0s: 121 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: truncate\r\n
            content-length: 46\r\n
            \r\n
            {"attempt":1,"model":"m
        at 0s: FIN
        journal: status 200, fault truncate, 36 in, 121 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "truncate at=0%",
        expect![[r#"
        at 0s: 98 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: truncate\r\n
            content-length: 46\r\n
            \r\n
        at 0s: FIN
        journal: status 200, fault truncate, 36 in, 98 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "truncate at=99%",
        expect![[r#"
        at 0s: 143 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: truncate\r\n
            content-length: 46\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true
        at 0s: FIN
        journal: status 200, fault truncate, 36 in, 143 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "truncate at=3",
        expect![[r#"
        at 0s: 101 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: truncate\r\n
            content-length: 46\r\n
            \r\n
            {"a
        at 0s: FIN
        journal: status 200, fault truncate, 36 in, 101 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "truncate at=1000",
        expect![[r#"
        at 0s: 1100 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: truncate\r\n
            content-length: 1001\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}[954 times ` `]
        at 0s: FIN
        journal: status 200, fault truncate, 36 in, 1100 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_drip_is_as_slow_as_it_says() {
    // Could break if a gap were left out or doubled, or the last piece were padded.
    check(
        "drip bps=1",
        expect![[r#"
        at 0s: 95 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: drip\r\n
            content-length: 46\r\n
            \r\n
            {
        from 1s on, every 1s, 45 times: 1 byte
            "attempt":1,"model":"mock:generic","ok":true}
        the connection goes on
        journal: status 200, fault drip, 36 in, 140 out, answered 0s, client left -, ended 45s
    "#]],
    )
    .await;
    check(
        "drip bps=20",
        expect![[r#"
        at 0s: 95 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: drip\r\n
            content-length: 46\r\n
            \r\n
            {
        from 50ms on, every 50ms, 45 times: 1 byte
            "attempt":1,"model":"mock:generic","ok":true}
        the connection goes on
        journal: status 200, fault drip, 36 in, 140 out, answered 0s, client left -, ended 2.25s
    "#]],
    )
    .await;
    check(
        "drip bps=1000",
        expect![[r#"
        at 0s: 114 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: drip\r\n
            content-length: 46\r\n
            \r\n
            {"attempt":1,"model"
        at 20ms: 20 bytes
            :"mock:generic","ok"
        at 40ms: 6 bytes
            :true}
        the connection goes on
        journal: status 200, fault drip, 36 in, 140 out, answered 0s, client left -, ended 40ms
    "#]],
    )
    .await;
    check(
        "drip bps=1000000",
        expect![[r#"
        at 0s: 140 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: drip\r\n
            content-length: 46\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}
        the connection goes on
        journal: status 200, fault drip, 36 in, 140 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_wrong_on_the_wire_is_wrong_in_the_way_of_its_name() {
    // Could break if a server's own framing mended it.
    check(
        "garbage",
        expect![[r#"
        at 0s: 45 bytes
            \xff\xfe\x00seawall: these bytes are no HTTP\x00\x01\x02\xff\r\n
            \r\n
            \x80\x81
        at 0s: FIN
        journal: status -, fault garbage, 36 in, 45 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "wrong-length +5",
        expect![[r#"
        at 0s: 148 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: wrong-length\r\n
            content-length: 51\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}
        at 0s: FIN
        journal: status 200, fault wrong-length, 36 in, 148 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "wrong-length -5",
        expect![[r#"
        at 0s: 148 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: wrong-length\r\n
            content-length: 41\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}
        at 0s: FIN
        journal: status 200, fault wrong-length, 36 in, 148 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "wrong-length -100",
        expect![[r#"
        at 0s: 201 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: wrong-length\r\n
            content-length: 0\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}[54 times ` `]
        at 0s: FIN
        journal: status 200, fault wrong-length, 36 in, 201 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "bad-chunk",
        expect![[r#"
        at 0s: 182 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: bad-chunk\r\n
            transfer-encoding: chunked\r\n
            \r\n
            2e\r\n
            {"attempt":1,"model":"mock:generic","ok":true}\r\n
            not-a-length\r\n
            seawall\r\n
        at 0s: FIN
        journal: status 200, fault bad-chunk, 36 in, 182 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
    check(
        "bad-gzip",
        expect![[r#"
        at 0s: 168 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            content-encoding: gzip\r\n
            x-seawall-fault: bad-gzip\r\n
            content-length: 46\r\n
            \r\n
            {"attempt":1,"model":"mock:generic","ok":true}
        the connection goes on
        journal: status 200, fault bad-gzip, 36 in, 168 out, answered 0s, client left -, ended 0s
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_half_close_is_a_fin_of_one_side_alone() {
    // Could break if the mock stopped reading: the client's next bytes would meet an RST.
    check(
        "half-close",
        expect![[r#"
        at 0s: 100 bytes
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: half-close\r\n
            content-length: 46\r\n
            \r\n
        at 0s: FIN; what is sent is still read
        journal: status 200, fault half-close, 36 in, 100 out, answered 0s, client left 0s, ended 0s
    "#]],
    )
    .await;
}

#[tokio::test]
async fn slow_headers_come_a_byte_at_a_time_and_the_body_at_once() {
    // Could break if only the gaps between whole lines were slow.
    check(
        "slow-headers",
        expect![[r#"
        from 0s on, every 100ms, 101 times: 1 byte
            HTTP/1.1 200 OK\r\n
            content-type: application/json\r\n
            x-seawall-fault: slow-headers\r\n
            content-length: 46\r\n
            \r
        at 10.1s: 47 bytes
            \n
            {"attempt":1,"model":"mock:generic","ok":true}
        the connection goes on
        journal: status 200, fault slow-headers, 36 in, 148 out, answered 0s, client left -, ended 10.1s
    "#]],
    )
    .await;
}

async fn check_stream(script: &str, expected: Expect) {
    let seen = see(script, &chat(), 1).await;
    expected.assert_eq(&(seen.wire() + &seen.journal()));
}

#[tokio::test]
async fn a_stream_comes_event_by_event_and_ends_as_its_script_says() {
    // Could break if events shared a chunk or a time, or an end that is not clean were made so by the framing.
    check_stream("stream events=2 gap=1s", expect![[r#"
        at 0s: 337 bytes
            HTTP/1.1 200 OK\r\n
            content-type: text/event-stream\r\n
            x-request-id: req_mock_1_1\r\n
            transfer-encoding: chunked\r\n
            \r\n
            df\r\n
            data: {"choices":[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
        at 1s: 200 bytes
            c2\r\n
            data: {"choices":[{"delta":{"content":"mock "},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
        at 2s: 202 bytes
            c4\r\n
            data: {"choices":[{"delta":{"content":"answer "},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
        at 3s: 204 bytes
            c1\r\n
            data: {"choices":[{"delta":{},"finish_reason":"stop","index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            data: [DONE]\n
            \n
            \r\n
            0\r\n
            \r\n
        the connection goes on
        journal: status 200, fault -, 143 in, 943 out, answered 0s, client left -, ended 3s
    "#]]).await;
    check_stream("stream events=1 then=cut", expect![[r#"
        at 0s: 571 bytes
            HTTP/1.1 200 OK\r\n
            content-type: text/event-stream\r\n
            x-request-id: req_mock_1_1\r\n
            x-seawall-fault: stream then=cut\r\n
            transfer-encoding: chunked\r\n
            \r\n
            df\r\n
            data: {"choices":[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
            c2\r\n
            data: {"choices":[{"delta":{"content":"mock "},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
        at 0s: FIN
        journal: status 200, fault stream then=cut, 143 in, 571 out, answered 0s, client left -, ended 0s
    "#]]).await;
    check_stream("stream events=1 then=error", expect![[r#"
        at 0s: 725 bytes
            HTTP/1.1 200 OK\r\n
            content-type: text/event-stream\r\n
            x-request-id: req_mock_1_1\r\n
            x-seawall-fault: stream then=error\r\n
            transfer-encoding: chunked\r\n
            \r\n
            df\r\n
            data: {"choices":[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
            c2\r\n
            data: {"choices":[{"delta":{"content":"mock "},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
            8d\r\n
            data: {"error":{"code":null,"message":"mock: an error in the middle of the stream, as the script says","param":null,"type":"server_error"}}\n
            \n
            \r\n
            0\r\n
            \r\n
        the connection goes on
        journal: status 200, fault stream then=error, 143 in, 725 out, answered 0s, client left -, ended 0s
    "#]]).await;
    check_stream("stream events=1 gap=100ms then=stall", expect![[r#"
        at 0s: 373 bytes
            HTTP/1.1 200 OK\r\n
            content-type: text/event-stream\r\n
            x-request-id: req_mock_1_1\r\n
            x-seawall-fault: stream then=stall\r\n
            transfer-encoding: chunked\r\n
            \r\n
            df\r\n
            data: {"choices":[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
        at 100ms: 200 bytes
            c2\r\n
            data: {"choices":[{"delta":{"content":"mock "},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
        after 100ms: silence
        journal: status 200, fault stream then=stall, 143 in, 573 out, answered 0s, client left 100ms, ended 100ms
    "#]]).await;
    check_stream("stream events=1 then=bad-json", expect![[r#"
        at 0s: 881 bytes
            HTTP/1.1 200 OK\r\n
            content-type: text/event-stream\r\n
            x-request-id: req_mock_1_1\r\n
            x-seawall-fault: stream then=bad-json\r\n
            transfer-encoding: chunked\r\n
            \r\n
            df\r\n
            data: {"choices":[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
            c2\r\n
            data: {"choices":[{"delta":{"content":"mock "},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
            125\r\n
            data: {"choices":[{"delta":{"content":"mock"},"finish_reason":null,"index":0,"logprobs":null}],"cr\n
            \n
            data: {"choices":[{"delta":{},"finish_reason":"stop","index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            data: [DONE]\n
            \n
            \r\n
            0\r\n
            \r\n
        the connection goes on
        journal: status 200, fault stream then=bad-json, 143 in, 881 out, answered 0s, client left -, ended 0s
    "#]]).await;
    // A fault of the wire meets the stream that was asked for.
    check_stream("truncate at=50%", expect![[r#"
        at 0s: 828 bytes
            HTTP/1.1 200 OK\r\n
            content-type: text/event-stream\r\n
            x-request-id: req_mock_1_1\r\n
            x-seawall-fault: truncate\r\n
            content-length: 1398\r\n
            \r\n
            data: {"choices":[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            data: {"choices":[{"delta":{"content":"mock "},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            data: {"choices":[{"delta":{"content":"answer "},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            data: {"choices":[{"delta":{"content":"c62510025051a8d2 "},"finish_reason":null,"index
        at 0s: FIN
        journal: status 200, fault truncate, 143 in, 828 out, answered 0s, client left -, ended 0s
    "#]]).await;
    check_stream("stream events=1 then=no-done", expect![[r#"
        at 0s: 580 bytes
            HTTP/1.1 200 OK\r\n
            content-type: text/event-stream\r\n
            x-request-id: req_mock_1_1\r\n
            x-seawall-fault: stream then=no-done\r\n
            transfer-encoding: chunked\r\n
            \r\n
            df\r\n
            data: {"choices":[{"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
            c2\r\n
            data: {"choices":[{"delta":{"content":"mock "},"finish_reason":null,"index":0,"logprobs":null}],"created":1735689600,"id":"chatcmpl-mock-1-1","model":"mock:m","object":"chat.completion.chunk"}\n
            \n
            \r\n
            0\r\n
            \r\n
        the connection goes on
        journal: status 200, fault stream then=no-done, 143 in, 580 out, answered 0s, client left -, ended 0s
    "#]]).await;
}

/// Every action once.
const EVERY: [&str; 20] = [
    "200",
    "204",
    "503",
    "error-in-200",
    "reset",
    "reset after=5",
    "close",
    "close after=5",
    "hang",
    "hang after=5",
    "truncate at=50%",
    "drip bps=20",
    "garbage",
    "wrong-length +5",
    "bad-chunk",
    "half-close",
    "slow-headers",
    "bad-gzip",
    "stream events=2",
    "stream events=2 then=cut",
];

/// For each action: the status line, the framing that it names, how much of a body came, and the end.
async fn each(requests: &str, count: usize, prefix: &str) -> String {
    let mut text = String::new();
    for action in EVERY {
        let seen = see(&format!("{prefix}{action}"), requests, count).await;
        let bytes = seen.bytes();
        let answers = String::from_utf8_lossy(&bytes).into_owned();
        let mut parts: Vec<String> = Vec::new();
        for answer in answers.split("HTTP/1.1 ").skip(1) {
            let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
            let named: Vec<&str> = head
                .lines()
                .filter(|line| {
                    ["content-length", "transfer-encoding", "connection"]
                        .iter()
                        .any(|name| line.starts_with(name))
                })
                .collect();
            parts.push(format!(
                "{} [{}] {} of body",
                &head[..3],
                named.join(", "),
                body.len()
            ));
        }
        if parts.is_empty() {
            parts.push(format!("{} bytes", bytes.len()));
        }
        text += &format!("{action}: {}, {:?}\n", parts.join("; "), seen.ended);
    }
    text
}

#[tokio::test]
async fn an_answer_to_head_has_no_body_whatever_its_fault() {
    // Could break if a fault of the body sent one: the client would read it as the next answer.
    expect![[r#"
        200: 200 [content-length: 46] 0 of body, GoesOn
        204: 204 [] 0 of body, GoesOn
        503: 503 [content-length: 73] 0 of body, GoesOn
        error-in-200: 200 [content-length: 73] 0 of body, GoesOn
        reset: 0 bytes, Rst
        reset after=5: 200 [content-length: 46] 0 of body, Rst
        close: 0 bytes, Fin
        close after=5: 200 [content-length: 46] 0 of body, Fin
        hang: 0 bytes, Silence
        hang after=5: 200 [content-length: 46] 0 of body, Silence
        truncate at=50%: 200 [content-length: 46] 0 of body, Fin
        drip bps=20: 200 [content-length: 46] 0 of body, GoesOn
        garbage: 45 bytes, Fin
        wrong-length +5: 200 [content-length: 51] 0 of body, Fin
        bad-chunk: 200 [transfer-encoding: chunked] 0 of body, Fin
        half-close: 200 [content-length: 46] 0 of body, FinAndReads
        slow-headers: 200 [content-length: 46] 0 of body, GoesOn
        bad-gzip: 200 [content-length: 46] 0 of body, GoesOn
        stream events=2: 200 [transfer-encoding: chunked] 0 of body, GoesOn
        stream events=2 then=cut: 200 [transfer-encoding: chunked] 0 of body, Fin
    "#]]
    .assert_eq(&each("HEAD /report HTTP/1.1\r\n\r\n", 1, "").await);
}

#[tokio::test]
async fn http_1_0_gets_no_chunks_and_its_connection_ends() {
    // Could break if a fault were told in a framing that the client does not know: it would take it for a body.
    expect![[r#"
        200: 200 [content-length: 46, connection: close] 46 of body, Fin
        204: 204 [connection: close] 0 of body, Fin
        503: 503 [content-length: 73, connection: close] 73 of body, Fin
        error-in-200: 200 [content-length: 73, connection: close] 73 of body, Fin
        reset: 0 bytes, Rst
        reset after=5: 200 [content-length: 46, connection: close] 5 of body, Rst
        close: 0 bytes, Fin
        close after=5: 200 [content-length: 46, connection: close] 5 of body, Fin
        hang: 0 bytes, Silence
        hang after=5: 200 [content-length: 46, connection: close] 5 of body, Silence
        truncate at=50%: 200 [content-length: 46, connection: close] 23 of body, Fin
        drip bps=20: 200 [content-length: 46, connection: close] 46 of body, Fin
        garbage: 45 bytes, Fin
        wrong-length +5: 200 [content-length: 51, connection: close] 46 of body, Fin
        bad-chunk: 500 [content-length: 87, connection: close] 87 of body, Fin
        half-close: 200 [content-length: 46, connection: close] 0 of body, FinAndReads
        slow-headers: 200 [content-length: 46, connection: close] 46 of body, Fin
        bad-gzip: 200 [content-length: 46, connection: close] 46 of body, Fin
        stream events=2: 200 [connection: close] 218 of body, Fin
        stream events=2 then=cut: 200 [connection: close] 140 of body, Fin
    "#]]
    .assert_eq(&each("GET /report HTTP/1.0\r\n\r\n", 1, "").await);
}

#[tokio::test]
async fn a_fault_on_a_used_connection_leaves_the_answer_before_it_whole() {
    // Could break if the reset threw away the answer that was sent just before, or a pipelined request were lost.
    expect![[r#"
        200: 200 [content-length: 46] 46 of body; 200 [content-length: 46] 46 of body, GoesOn
        204: 200 [content-length: 46] 46 of body; 204 [] 0 of body, GoesOn
        503: 200 [content-length: 46] 46 of body; 503 [content-length: 73] 73 of body, GoesOn
        error-in-200: 200 [content-length: 46] 46 of body; 200 [content-length: 73] 73 of body, GoesOn
        reset: 200 [content-length: 46] 46 of body, Rst
        reset after=5: 200 [content-length: 46] 46 of body; 200 [content-length: 46] 5 of body, Rst
        close: 200 [content-length: 46] 46 of body, Fin
        close after=5: 200 [content-length: 46] 46 of body; 200 [content-length: 46] 5 of body, Fin
        hang: 200 [content-length: 46] 46 of body, Silence
        hang after=5: 200 [content-length: 46] 46 of body; 200 [content-length: 46] 5 of body, Silence
        truncate at=50%: 200 [content-length: 46] 46 of body; 200 [content-length: 46] 23 of body, Fin
        drip bps=20: 200 [content-length: 46] 46 of body; 200 [content-length: 46] 46 of body, GoesOn
        garbage: 200 [content-length: 46] 101 of body, Fin
        wrong-length +5: 200 [content-length: 46] 46 of body; 200 [content-length: 51] 46 of body, Fin
        bad-chunk: 200 [content-length: 46] 46 of body; 200 [transfer-encoding: chunked] 75 of body, Fin
        half-close: 200 [content-length: 46] 46 of body; 200 [content-length: 46] 0 of body, FinAndReads
        slow-headers: 200 [content-length: 46] 46 of body; 200 [content-length: 46] 46 of body, GoesOn
        bad-gzip: 200 [content-length: 46] 46 of body; 200 [content-length: 46] 46 of body, GoesOn
        stream events=2: 200 [content-length: 46] 46 of body; 200 [transfer-encoding: chunked] 241 of body, GoesOn
        stream events=2 then=cut: 200 [content-length: 46] 46 of body; 200 [transfer-encoding: chunked] 152 of body, Fin
    "#]]
    .assert_eq(&each(&GET.repeat(2), 2, "200, ").await);
}

#[tokio::test]
async fn a_request_that_waits_behind_a_fault_turns_no_fin_into_an_rst() {
    // Could break if the socket were closed with bytes unread: the system would send an RST in place of the FIN.
    let behind = format!(
        "{GET}POST /x HTTP/1.1\r\ncontent-length: 300000\r\n\r\n{}",
        "a".repeat(300_000)
    );
    for (action, ended) in [
        ("close", Ended::Fin),
        ("close after=5", Ended::Fin),
        ("truncate at=50%", Ended::Fin),
        ("garbage", Ended::Fin),
        ("wrong-length +5", Ended::Fin),
        ("bad-chunk", Ended::Fin),
        ("half-close", Ended::FinAndReads),
        ("reset", Ended::Rst),
    ] {
        assert_eq!(see(action, &behind, 1).await.ended, ended, "{action}");
    }
}

#[tokio::test]
async fn a_long_request_is_read_before_its_fault() {
    // Could break if a fault were thrown at the head: an upload would be cut off by an RST instead.
    let request = format!(
        "POST /x HTTP/1.1\r\ncontent-length: 300000\r\n\r\n{}",
        "a".repeat(300_000)
    );
    for (action, ended) in [
        ("close", Ended::Fin),
        ("garbage", Ended::Fin),
        ("half-close", Ended::FinAndReads),
        ("hang", Ended::Silence),
        ("reset", Ended::Rst),
        ("503", Ended::GoesOn),
    ] {
        let seen = see(action, &request, 1).await;
        assert_eq!(seen.ended, ended, "{action}");
        assert_eq!(seen.attempts[0].bytes_in, request.len() as u64, "{action}");
    }
}
