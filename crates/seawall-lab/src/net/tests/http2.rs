//! What is on the wire of each action over HTTP/2: frames as they come, read by hand.

use super::*;

mod siblings;
mod slow;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
pub(super) const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: u8,
    flags: u8,
    stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    pub(super) fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        Self {
            kind,
            flags,
            stream,
            payload: payload.to_vec(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).unwrap().to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([self.kind, self.flags]);
        bytes.extend(self.stream.to_be_bytes());
        bytes.extend(&self.payload);
        bytes
    }

    pub(super) fn ends(&self) -> bool {
        self.flags & END_STREAM != 0 && [DATA, HEADERS].contains(&self.kind)
    }

    pub(super) fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }
}

/// A client that knows frames and nothing else.
pub(super) struct Raw {
    stream: TcpStream,
    read: Vec<u8>,
    /// A write was told of a reset. That is told once: a read after it would see a clean end.
    reset: bool,
}

impl Raw {
    /// Opens a connection with these settings.
    pub(super) async fn open(mock: &Mock, settings: &[(u16, u32)]) -> Self {
        let stream = TcpStream::connect(mock.address()).await.unwrap();
        let mut raw = Self {
            stream,
            read: Vec::new(),
            reset: false,
        };
        let payload: Vec<u8> = settings
            .iter()
            .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        let settings = Frame::new(SETTINGS, 0, 0, &payload).encode();
        raw.stream
            .write_all(&[PREFACE, &settings].concat())
            .await
            .unwrap();
        raw
    }

    pub(super) async fn send(&mut self, frame: &Frame) {
        self.stream.write_all(&frame.encode()).await.unwrap();
    }

    /// Sends a GET, its headers without any compression.
    pub(super) async fn get(&mut self, stream: u32, path: &str) {
        // Literals without indexing, their names by the static table (RFC 7541, 6.2.2): :path is 4; :method GET is 2
        // and :scheme http 6 as they stand.
        let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
        block.extend(path.as_bytes());
        self.send(&Frame::new(HEADERS, END_HEADERS | END_STREAM, stream, &block))
            .await;
    }

    /// The next frame that is no housekeeping; `Err` at the end of the connection, with what was left unread.
    pub(super) async fn next(&mut self) -> Result<Frame, (End, Vec<u8>)> {
        loop {
            if let Some(frame) = self.parsed() {
                match frame.kind {
                    SETTINGS if frame.flags & ACK == 0 => {
                        let ack = Frame::new(SETTINGS, ACK, 0, &[]).encode();
                        if let Err(error) = self.stream.write_all(&ack).await {
                            self.reset |= error.kind() == io::ErrorKind::ConnectionReset;
                        }
                    }
                    SETTINGS | WINDOW_UPDATE => {}
                    _ => return Ok(frame),
                }
                continue;
            }
            if self.reset {
                return Err((End::Rst, std::mem::take(&mut self.read)));
            }
            let more = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.read));
            match more.await.expect("the mock sends or ends") {
                Ok(0) => return Err((End::Fin, std::mem::take(&mut self.read))),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err((End::Rst, std::mem::take(&mut self.read)));
                }
                Err(error) => panic!("unexpected: {error}"),
            }
        }
    }

    fn parsed(&mut self) -> Option<Frame> {
        let [a, b, c, kind, flags, d, e, f, g, ..] = self.read[..] else {
            return None;
        };
        let length = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap();
        let payload = self.read.get(9..9 + length)?.to_vec();
        self.read.drain(..9 + length);
        Some(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes([d, e, f, g]),
            payload,
        })
    }

    /// Every frame of this stream to its end; others are passed over.
    pub(super) async fn answer(&mut self, stream: u32) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await.expect("the stream ends first");
            if frame.stream == stream {
                let last = frame.ends() || frame.kind == RST_STREAM;
                frames.push(frame);
                if last {
                    return frames;
                }
            }
        }
    }
}

async fn mock(script: &str) -> Mock {
    Mock::start(&format!("GET /x = {script}")).await.unwrap()
}

fn kinds(frames: &[Frame]) -> Vec<u8> {
    frames.iter().map(|frame| frame.kind).collect()
}

fn body_bytes(frames: &[Frame]) -> usize {
    let data = frames.iter().filter(|frame| frame.kind == DATA);
    data.map(|frame| frame.payload.len()).sum()
}

fn fault_of(mock: &Mock, nth: usize) -> Option<String> {
    mock.journal().attempts[nth].fault.as_deref().map(str::to_owned)
}

#[tokio::test]
async fn a_whole_answer_ends_its_stream_and_the_connection_goes_on() {
    // Could break if the preface were taken for a request of HTTP/1.1, or an answer took the connection with it.
    let mock = mock("503, 200").await;
    let mut raw = Raw::open(&mock, &[]).await;
    for stream in [1, 3, 5] {
        raw.get(stream, "/x").await;
        let frames = raw.answer(stream).await;
        assert_eq!(kinds(&frames), [HEADERS, DATA]);
    }
    mock.quiet().await;
    let journal = mock.journal();
    let seen: Vec<_> = journal
        .attempts
        .iter()
        .map(|attempt| (attempt.status, attempt.connection, attempt.on_connection))
        .collect();
    assert_eq!(seen, [(Some(503), 1, 1), (Some(200), 1, 2), (Some(200), 1, 3)]);
    // And HTTP/1.1 stays what it was on the same port.
    assert_eq!(status(&ask(&mock, "GET", "/x", "").await), 200);
}

#[tokio::test]
async fn a_goaway_leaves_its_stream_out_and_keeps_those_before_it() {
    // Could break if the library named its own last stream: the client could not repeat the attempt safely.
    let told = Mock::builder()
        .route("GET /x = goaway error=enhance-your-calm")
        .route("GET /slow = 200 delay=300ms");
    let mock = told.start().await.unwrap();
    let mut raw = Raw::open(&mock, &[]).await;
    raw.get(1, "/slow").await;
    while mock.kept_waiting() == 0 {
        tokio::task::yield_now().await;
    }
    raw.get(3, "/x").await;
    let goaway = raw.next().await.unwrap();
    assert_eq!((goaway.kind, goaway.stream), (GOAWAY, 0));
    assert_eq!((goaway.number(0), goaway.number(4)), (1, 11));
    let frames = raw.answer(1).await;
    assert_eq!(kinds(&frames), [HEADERS, DATA], "the stream before it is served");
    let end = loop {
        match raw.next().await {
            // What the library sends of a stream that the client knows to be gone.
            Ok(frame) => assert_eq!((frame.kind, frame.stream), (RST_STREAM, 3)),
            Err(end) => break end,
        }
    };
    assert_eq!(end, (End::Fin, Vec::new()));
    mock.quiet().await;
    assert_eq!(fault_of(&mock, 1).as_deref(), Some("goaway"));
}

#[tokio::test]
async fn a_goaway_of_the_first_stream_keeps_none() {
    // Could break if the number before the first one wrapped round.
    let mock = mock("goaway").await;
    let mut raw = Raw::open(&mock, &[]).await;
    raw.get(1, "/x").await;
    let goaway = raw.next().await.unwrap();
    assert_eq!((goaway.kind, goaway.number(0), goaway.number(4)), (GOAWAY, 0, 0));
    let end = loop {
        match raw.next().await {
            Ok(frame) => assert_eq!(frame.kind, RST_STREAM),
            Err(end) => break end,
        }
    };
    assert_eq!(end.0, End::Fin);
}

#[tokio::test]
async fn a_stream_is_reset_with_its_code_and_its_siblings_live() {
    // Could break if the library threw the data before it away, or took the connection down.
    for (script, before, code) in [
        ("rst-stream", &[][..], 2),
        ("rst-stream error=refused-stream", &[], 7),
        ("rst-stream error=no-error", &[], 0),
        ("rst-stream after=10 error=cancel", &[HEADERS, DATA], 8),
    ] {
        let mock = mock(&format!("{script}, 200")).await;
        let mut raw = Raw::open(&mock, &[]).await;
        raw.get(1, "/x").await;
        let frames = raw.answer(1).await;
        assert_eq!(kinds(&frames), [before, &[RST_STREAM]].concat(), "{script}");
        assert_eq!(frames.last().unwrap().number(0), code, "{script}");
        assert_eq!(body_bytes(&frames), if before.is_empty() { 0 } else { 10 });
        raw.get(3, "/x").await;
        assert_eq!(kinds(&raw.answer(3).await), [HEADERS, DATA]);
        mock.quiet().await;
        assert_eq!(fault_of(&mock, 0).as_deref(), Some("rst-stream"));
    }
}

#[tokio::test]
async fn a_reset_and_a_close_take_the_connection_and_every_sibling() {
    // Could break if a sibling were open in the journal for ever, or ended without the fault that ended it.
    for (action, before, end) in [
        ("reset", &[][..], End::Rst),
        ("close", &[], End::Fin),
        ("reset after=7", &[HEADERS, DATA], End::Rst),
        ("close after=7", &[HEADERS, DATA], End::Fin),
    ] {
        let told = Mock::builder()
            .route("GET /hang = hang")
            .route(format!("GET /x = {action}"));
        let mock = told.start().await.unwrap();
        let mut raw = Raw::open(&mock, &[]).await;
        raw.get(1, "/hang").await;
        while mock.kept_waiting() == 0 {
            tokio::task::yield_now().await;
        }
        raw.get(3, "/x").await;
        let mut frames = Vec::new();
        let ended = loop {
            match raw.next().await {
                Ok(frame) => frames.push(frame),
                Err((end, left)) => {
                    assert!(left.is_empty(), "{action}: {left:?}");
                    break end;
                }
            }
        };
        assert_eq!((kinds(&frames), ended), (before.to_vec(), end), "{action}");
        drop(raw);
        mock.quiet().await;
        let name = action.split(' ').next().unwrap();
        let mix = (fault_of(&mock, 0), fault_of(&mock, 1));
        assert_eq!(mix, (Some("hang".to_owned()), Some(name.to_owned())));
        assert!(mock.journal().attempts[0].client_left.is_none(), "{action}");
    }
}

#[tokio::test]
async fn a_hang_is_silence_on_its_stream_alone_and_sees_it_given_up() {
    // Could break if the mock waited for the connection's end: a client that cancels keeps its connection.
    let mock = mock("hang, hang after=4, 200").await;
    let mut raw = Raw::open(&mock, &[]).await;
    raw.get(1, "/x").await;
    while mock.kept_waiting() < 1 {
        tokio::task::yield_now().await;
    }
    raw.get(3, "/x").await;
    while mock.kept_waiting() < 2 {
        tokio::task::yield_now().await;
    }
    raw.get(5, "/x").await;
    assert_eq!(kinds(&raw.answer(5).await), [HEADERS, DATA]);
    for stream in [1, 3] {
        raw.send(&Frame::new(RST_STREAM, 0, stream, &8_u32.to_be_bytes()))
            .await;
    }
    mock.quiet().await;
    let journal = mock.journal();
    let left: Vec<_> = journal
        .attempts
        .iter()
        .map(|attempt| (attempt.client_left.is_some(), attempt.status))
        .collect();
    assert_eq!(left, [(true, None), (true, Some(200)), (false, Some(200))]);
}

#[tokio::test]
async fn a_client_that_leaves_is_seen_by_every_stream() {
    // Could break if a stream that waits for its delay did not look at the connection.
    let mock = mock("hang, 200 delay=1h, drip bps=1").await;
    let mut raw = Raw::open(&mock, &[]).await;
    for (waiting, stream) in [(1, 1), (2, 3), (3, 5)] {
        raw.get(stream, "/x").await;
        while mock.kept_waiting() < waiting {
            tokio::task::yield_now().await;
        }
    }
    drop(raw);
    mock.quiet().await;
    let journal = mock.journal();
    assert!(
        journal
            .attempts
            .iter()
            .all(|attempt| attempt.client_left.is_some())
    );
    assert_eq!(mock.kept_waiting(), 0);
}

#[tokio::test]
async fn a_body_of_a_wrong_length_ends_the_stream_and_not_the_connection() {
    // Could break if the library corrected the length, or the mock ended the connection as over HTTP/1.1.
    for (action, missing) in [
        ("truncate at=50%", None),
        ("wrong-length +5", Some(5)),
        ("wrong-length -5", Some(-5)),
    ] {
        let mock = Mock::builder()
            .route(format!("GET /x = {action}, 200"))
            .start()
            .await
            .unwrap();
        let (answer, claimed, sibling) = by_library(&mock).await;
        assert!(sibling, "{action}: the connection goes on");
        match missing {
            Some(missing) => assert_eq!(claimed - answer, missing, "{action}"),
            None => assert_eq!(answer, claimed / 2, "{action}"),
        }
    }
}

/// Reads one answer without minding its length: how long it is, how long it says that it is, and whether the next
/// stream of the connection is answered.
async fn by_library(mock: &Mock) -> (i64, i64, bool) {
    let mut raw = Raw::open(mock, &[]).await;
    raw.get(1, "/x").await;
    let frames = raw.answer(1).await;
    // The library's encoder leaves digits in Huffman code, so the length is read by its own decoder below.
    let length = i64::try_from(body_bytes(&frames)).unwrap();
    raw.get(3, "/x").await;
    let sibling = kinds(&raw.answer(3).await) == [HEADERS, DATA];
    mock.reset();
    let stream = TcpStream::connect(mock.address()).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    let driven = tokio::spawn(connection);
    let request = ::http::Request::get("http://mock/x").body(()).unwrap();
    let (response, _body) = client.ready().await.unwrap().send_request(request, true).unwrap();
    let claimed = response.await.unwrap().headers()["content-length"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    driven.abort();
    (length, claimed, sibling)
}

#[tokio::test]
async fn garbage_is_no_frame_and_half_a_close_is_heard_by_nobody_else() {
    // Could break if the bytes were wrapped in frames, or the mock stopped reading after its own FIN.
    let garbage = mock("garbage").await;
    let mut raw = Raw::open(&garbage, &[]).await;
    raw.get(1, "/x").await;
    let (end, left) = raw.next().await.unwrap_err();
    assert_eq!(end, End::Fin);
    assert!(left.starts_with(b"\xff\xfe\x00seawall"), "{left:?}");

    let half = mock("half-close").await;
    let mut raw = Raw::open(&half, &[]).await;
    raw.get(1, "/x").await;
    let mut frames = Vec::new();
    while let Ok(frame) = raw.next().await {
        frames.push(frame);
    }
    assert_eq!(kinds(&frames), [HEADERS]);
    assert_eq!(frames[0].flags & END_STREAM, 0);
    for _ in 0..50 {
        raw.stream.write_all(&[0; 1_000]).await.unwrap();
    }
    assert_eq!(half.journal().open, 1, "it reads on");
    drop(raw);
    half.quiet().await;
    assert!(half.journal().attempts[0].client_left.is_some());
}

#[tokio::test]
async fn a_body_waits_for_the_clients_window() {
    // Could break if it were sent beyond the window, or a reader that pauses were given up.
    let mock = mock("truncate at=200000").await;
    let mut raw = Raw::open(&mock, &[(4, 1_000)]).await;
    raw.get(1, "/x").await;
    let mut frames = vec![raw.next().await.unwrap(), raw.next().await.unwrap()];
    assert_eq!(
        (kinds(&frames), body_bytes(&frames)),
        (vec![HEADERS, DATA], 1_000)
    );
    while !frames.last().unwrap().ends() {
        let more = 50_000_u32.to_be_bytes();
        raw.send(&Frame::new(WINDOW_UPDATE, 0, 0, &more)).await;
        raw.send(&Frame::new(WINDOW_UPDATE, 0, 1, &more)).await;
        let before = body_bytes(&frames);
        while body_bytes(&frames) < (before + 50_000).min(200_000) {
            frames.push(raw.next().await.unwrap());
        }
    }
    assert_eq!(body_bytes(&frames), 200_000);
}

#[tokio::test]
async fn what_http2_lacks_is_a_500_that_says_so() {
    // Could break if it were played as something else: a test of chunks would pass over HTTP/2.
    for action in ["bad-chunk", "slow-headers"] {
        let mock = mock(action).await;
        let mut raw = Raw::open(&mock, &[]).await;
        raw.get(1, "/x").await;
        raw.answer(1).await;
        mock.quiet().await;
        let journal = mock.journal();
        let seen = (journal.attempts[0].status, fault_of(&mock, 0));
        assert_eq!(seen, (Some(500), Some("not-served".to_owned())), "{action}");
    }
    for action in ["goaway", "rst-stream"] {
        let mock = mock(action).await;
        let answer = ask(&mock, "GET", "/x", "").await;
        assert_eq!(
            (status(&answer), header(&answer, "x-seawall-fault")),
            (500, Some("not-served"))
        );
        assert!(answer.contains("over HTTP/1.1"), "{answer}");
    }
}

#[tokio::test]
async fn what_is_no_http2_ends_with_an_orderly_close() {
    // Could break if a frame of nonsense were waited for, or the end were a reset that eats the GOAWAY.
    let mock = mock("200").await;
    let mut raw = Raw::open(&mock, &[]).await;
    // DATA on stream 0 is an error of the connection (RFC 9113, 6.1).
    raw.send(&Frame::new(DATA, 0, 0, b"x")).await;
    let goaway = raw.next().await.unwrap();
    assert_eq!((goaway.kind, goaway.number(4)), (GOAWAY, 1));
    assert_eq!(raw.next().await.unwrap_err().0, End::Fin);
}

#[tokio::test]
async fn many_streams_at_once_are_each_answered() {
    // Could break if streams waited for each other, or a thousand of them ran into a limit that is not one.
    let told = Mock::builder().route("POST /x = 200 delay=20ms, 200").seed(1);
    let mock = told.start().await.unwrap();
    let stream = TcpStream::connect(mock.address()).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    let driven = tokio::spawn(connection);
    let mut client = client.ready().await.unwrap();
    let mut answers = tokio::task::JoinSet::new();
    for _ in 0..900 {
        client = client.ready().await.unwrap();
        let request = ::http::Request::post("http://mock/x").body(()).unwrap();
        let (response, mut body) = client.send_request(request, false).unwrap();
        body.send_data("{}".into(), true).unwrap();
        answers.spawn(async move {
            let response = response.await.unwrap();
            let (parts, mut body) = response.into_parts();
            while let Some(data) = body.data().await {
                data.unwrap();
            }
            parts.status.as_u16()
        });
    }
    while let Some(status) = answers.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    mock.quiet().await;
    let journal = mock.journal();
    assert_eq!(journal.attempts.len(), 900);
    assert!(journal.attempts.iter().all(|attempt| attempt.connection == 1));
    driven.abort();
}

/// A client that is no part of what is tested: the library's, with a task that drives it.
async fn library(mock: &Mock) -> (h2::client::SendRequest<bytes::Bytes>, tokio::task::JoinHandle<()>) {
    let stream = TcpStream::connect(mock.address()).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    let driven = tokio::spawn(async move {
        // How it ends is seen by the streams.
        connection.await.ok();
    });
    (client.ready().await.unwrap(), driven)
}

/// Sends one request with this body; its status, its headers, and its body.
async fn sent(
    client: &h2::client::SendRequest<bytes::Bytes>,
    request: ::http::Request<()>,
    body: &[u8],
) -> (u16, ::http::HeaderMap, Vec<u8>) {
    let mut client = client.clone().ready().await.unwrap();
    let (response, mut sending) = client.send_request(request, body.is_empty()).unwrap();
    let mut left = body;
    while !left.is_empty() {
        sending.reserve_capacity(left.len());
        let granted = std::future::poll_fn(|context| sending.poll_capacity(context)).await;
        let (piece, rest) = left.split_at(granted.unwrap().unwrap().min(left.len()));
        left = rest;
        sending
            .send_data(bytes::Bytes::copy_from_slice(piece), left.is_empty())
            .unwrap();
    }
    let (head, mut receiving) = response.await.unwrap().into_parts();
    let mut answer = Vec::new();
    while let Some(piece) = receiving.data().await {
        answer.extend_from_slice(&piece.unwrap());
    }
    (head.status.as_u16(), head.headers, answer)
}

#[tokio::test]
async fn a_request_is_the_same_request_whichever_protocol_brought_it() {
    // Could break if a header, the query or the end of the body were lost between the library and the exchange.
    let told = Mock::builder()
        .route("POST /v1/chat/completions = 503, 200")
        .route("HEAD /x = 200")
        .route("PUT /x = 200");
    let mock = told.start().await.unwrap();
    let (client, driven) = library(&mock).await;
    let to = |method: &str, path: &str| {
        let request = ::http::Request::builder().method(method);
        let request = request.uri(format!("http://mock{path}"));
        request.header("idempotency-key", "k-7").body(()).unwrap()
    };
    let body = br#"{"model":"small","messages":[{"role":"user","content":"Why?"}]}"#;
    let (status, headers, answer) = sent(&client, to("POST", "/v1/chat/completions?x=1"), body).await;
    assert_eq!(
        (status, &headers["x-seawall-fault"]),
        (503, &"503".parse().unwrap())
    );
    assert_eq!(headers["content-length"], answer.len().to_string());
    let (status, headers, answer) = sent(&client, to("POST", "/v1/chat/completions"), body).await;
    assert_eq!(
        (status, &headers["content-type"]),
        (200, &"application/json".parse().unwrap())
    );
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert!(
        answer["choices"][0]["message"]["content"]
            .as_str()
            .unwrap()
            .contains("Why?")
    );
    let (status, headers, answer) = sent(&client, to("HEAD", "/x"), b"").await;
    assert_eq!((status, answer.len()), (200, 0));
    assert_ne!(headers["content-length"], "0");
    // More than any window at its start.
    let (status, ..) = sent(&client, to("PUT", "/x"), &vec![b'x'; 3 << 20]).await;
    assert_eq!(status, 200);
    let (status, _, journal) = sent(&client, to("GET", "/__seawall/journal"), b"").await;
    let journal: Value = serde_json::from_slice(&journal).unwrap();
    assert_eq!((status, journal["attempts"].as_array().unwrap().len()), (200, 4));
    mock.quiet().await;
    let attempt = &mock.journal().attempts[0];
    assert_eq!(
        (attempt.path.as_str(), attempt.key.as_deref()),
        ("/v1/chat/completions", Some("k-7"))
    );
    assert!(mock.journal().attempts[3].bytes_in > 3 << 20);
    driven.abort();
}

#[tokio::test]
async fn a_stream_of_events_ends_its_stream_and_a_cut_one_is_reset() {
    // Could break if the end of events were the connection's, or a cut stream looked whole.
    let told =
        Mock::builder().route("POST /v1/chat/completions = stream events=2, stream events=2 then=cut, 200");
    let mock = told.start().await.unwrap();
    let (client, driven) = library(&mock).await;
    let request = || {
        let request = ::http::Request::post("http://mock/v1/chat/completions");
        request.body(()).unwrap()
    };
    let (status, headers, events) = sent(&client, request(), b"{}").await;
    assert_eq!((status, headers.contains_key("content-length")), (200, false));
    assert!(String::from_utf8(events).unwrap().ends_with("data: [DONE]\n\n"));
    let mut ready = client.clone().ready().await.unwrap();
    let (response, _) = ready.send_request(request(), true).unwrap();
    let mut body = response.await.unwrap().into_body();
    let broken = loop {
        match body.data().await {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("a cut stream has no end"),
        }
    };
    assert_eq!(broken.reason(), Some(h2::Reason::INTERNAL_ERROR));
    assert_eq!(sent(&client, request(), b"{}").await.0, 200);
    mock.quiet().await;
    assert!(
        mock.journal()
            .attempts
            .iter()
            .all(|attempt| attempt.connection == 1)
    );
    driven.abort();
}

#[tokio::test]
async fn a_client_that_gives_up_hundreds_at_once_keeps_its_connection() {
    // Could break if a batch that is cancelled passed for a flood, or if one that is given up took a place for ever.
    let mock = mock("hang").await;
    let mut raw = Raw::open(&mock, &[]).await;
    for round in 0..5 {
        let first = 1 + round * 400;
        for stream in (first..first + 400).step_by(2) {
            raw.get(stream, "/x").await;
        }
        for stream in (first..first + 400).step_by(2) {
            let cancel = Frame::new(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
            raw.send(&cancel).await;
        }
    }
    raw.get(9_001, "/elsewhere").await;
    assert_eq!(kinds(&raw.answer(9_001).await), [HEADERS, DATA]);
    mock.quiet().await;
    assert_eq!((mock.journal().open, mock.kept_waiting()), (0, 0));
}

#[tokio::test]
async fn curl_speaks_http2_to_it() {
    // Could break if only our own reader understood it: 92 is a stream that ended as none should, 28 silence.
    let curl = |arguments: Vec<String>| {
        tokio::task::spawn_blocking(move || {
            let output = std::process::Command::new("curl")
                .args(arguments)
                .output()
                .unwrap();
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stdout).into_owned(),
            )
        })
    };
    let version = std::process::Command::new("curl").arg("--version").output();
    if !version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).contains("HTTP2")) {
        return;
    }
    let folder = std::env::temp_dir().join(format!("seawall-lab-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (action, codes) in [
        ("200", &[0][..]),
        ("rst-stream", &[92]),
        ("truncate at=50%", &[92]),
        // Sending, receiving, or below a frame: whatever it was at when the reset came.
        ("reset", &[16, 55, 56]),
        ("hang", &[28]),
    ] {
        for plain in [true, false] {
            let told = Mock::builder().route(format!("GET /x = {action}"));
            let told = if plain { told } else { told.tls() };
            let mock = told.start().await.unwrap();
            let mut arguments: Vec<String> = [
                "-s",
                "--noproxy",
                "*",
                "--max-time",
                if action == "hang" { "0.5" } else { "600" },
                "-w",
                " HTTP/%{http_version}",
            ]
            .map(str::to_owned)
            .to_vec();
            match mock.ca_pem() {
                None => arguments.push("--http2-prior-knowledge".to_owned()),
                Some(pem) => {
                    let file = folder.join("ca.pem");
                    std::fs::write(&file, pem).unwrap();
                    arguments.extend([
                        "--http2".to_owned(),
                        "--cacert".to_owned(),
                        file.display().to_string(),
                    ]);
                }
            }
            arguments.push(format!("{}/x", mock.url()));
            let (found, said) = curl(arguments).await.unwrap();
            let found = found.expect("curl ends by itself");
            assert!(codes.contains(&found), "{action} {plain}: {found} {said}");
            if found == 0 {
                assert!(said.ends_with(" HTTP/2"), "{said}");
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
