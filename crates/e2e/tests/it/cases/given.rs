//! What a case's server does: its steps, bodies and dates, from the words that cases use.

use crate::server::{Deed, Request, Step, answer};
use seawall_core::time::{Duration, Wall};
use serde_json::Value;

/// Longer than any cut that a case asks for.
const OK: &str = r#"{"id":"ok-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}"#;

/// What a case's server does with the lane's request of this number.
pub(super) fn step(script: &[Value], nth: usize, wall: Wall) -> Step {
    let step = &script[nth.min(script.len() - 1)];
    Step {
        effect: step["effect"].as_bool().unwrap_or(false),
        delay: step["delay"].as_str().map_or(Duration::ZERO, length),
        deed: deed(step, wall),
    }
}

fn deed(step: &Value, wall: Wall) -> Deed {
    let abort = step["abort"].as_str();
    match abort {
        Some("rst") => return Deed::Reset,
        Some("fin") => return Deed::Close,
        // Longer than any limit: the client is the one that ends it.
        Some(stall) if stall.starts_with("stall:") => return Deed::Stall,
        Some(_) | None => {}
    }
    let status = u16::try_from(step["s"].as_u64().unwrap()).unwrap();
    let (kind, body) = body(step["b"].as_str(), status);
    let given: Vec<(String, String)> = step["h"].as_object().map_or_else(Vec::new, |headers| {
        let filled = |(name, value): (&String, &Value)| (name.clone(), filled(value.as_str().unwrap(), wall));
        headers.iter().map(filled).collect()
    });
    let mut headers: Vec<(&str, &str)> = given.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    headers.extend(kind.map(|kind| ("content-type", kind)));
    let Some(cut) = abort else {
        return Deed::Write(answer(status, &headers, &body, body.len()));
    };
    let sent_bytes: usize = cut.strip_prefix("trunc:").unwrap().parse().unwrap();
    assert!(sent_bytes < body.len(), "a cut body is shorter than the whole");
    Deed::WriteClose(answer(status, &headers, &body[..sent_bytes], body.len()))
}

/// A body by its name, and its content type. A good answer whose body no case cares about has a good one.
fn body(name: Option<&str>, status: u16) -> (Option<&'static str>, String) {
    const JSON: Option<&str> = Some("application/json");
    const SSE: Option<&str> = Some("text/event-stream");
    let Some(name) = name else {
        return match status {
            200..300 => (JSON, OK.to_owned()),
            _ => (None, String::new()),
        };
    };
    let (kind, word) = name.split_once(':').unwrap_or((name, ""));
    match kind {
        "ok" => (JSON, OK.to_owned()),
        "ok.sse" => (SSE, format!("{}{}data: [DONE]\n\n", delta("o"), delta("k"))),
        "empty" => (None, String::new()),
        "text" => (Some("text/plain"), word.to_owned()),
        "html.cf" => (
            Some("text/html"),
            format!("<html><title>{word}: error</title><body>cloudflare</body></html>"),
        ),
        "json.cf" => (JSON, format!(r#"{{"cloudflare_error":true,"status":{word}}}"#)),
        "openai.rate_limit" => (JSON, openai("rate_limit_exceeded", "requests")),
        "openai.insufficient_quota" => (JSON, openai("insufficient_quota", "insufficient_quota")),
        "anthropic.overloaded" => (JSON, anthropic("overloaded_error")),
        "anthropic.rate_limit" => (JSON, anthropic("rate_limit_error")),
        "gemini.retryinfo" => (
            JSON,
            format!(
                r#"{{"error":{{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{word}"}}]}}}}"#
            ),
        ),
        "sse" if word.starts_with("delta, [DONE]") => (SSE, format!("{}data: [DONE]\n\n", delta("ok"))),
        "sse" if word.starts_with("responses API") => {
            let events = ["created", "function_call_arguments.done", "output_item.done"];
            let event = |kind| format!("event: response.{kind}\ndata: {{\"type\":\"response.{kind}\"}}\n\n");
            (SSE, events.map(event).concat())
        }
        "sse" if word.starts_with("2 deltas then event error") => (
            SSE,
            format!(
                "{}{}event: error\ndata: {}\n\n",
                delta("o"),
                delta("k"),
                anthropic("overloaded_error")
            ),
        ),
        _ => panic!("no body is called {name}"),
    }
}

fn delta(text: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
    )
}

fn openai(code: &str, kind: &str) -> String {
    format!(r#"{{"error":{{"message":"m","type":"{kind}","param":null,"code":"{code}"}}}}"#)
}

fn anthropic(kind: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#)
}

/// Replaces the placeholders of a header's value, by the server's date.
fn filled(value: &str, wall: Wall) -> String {
    let Some(word) = value.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")) else {
        return value.to_owned();
    };
    let sign = word.rfind(['+', '-']).unwrap();
    let (name, shift) = word.split_at(sign);
    let (back, shift) = (shift.starts_with('-'), &shift[1..]);
    let ms = match (name, shift.parse::<i64>()) {
        ("epoch_ms", Ok(ms)) => ms,
        (_, Ok(seconds)) => seconds * 1_000,
        (_, Err(_)) => i64::try_from(length(shift).as_millis()).unwrap(),
    };
    let unix_ms = wall.unix_ms + if back { -ms } else { ms };
    // Dates have whole seconds: a server that says "in 4 s" rounds up.
    let date = Date::of(unix_ms.div_euclid(1_000) + i64::from(unix_ms.rem_euclid(1_000) > 0));
    match name {
        "epoch_ms" => unix_ms.to_string(),
        "epoch" => date.unix_seconds.to_string(),
        "http-date" => date.imf(),
        "asctime" => date.asctime(),
        "rfc850" => date.rfc850(),
        "rfc3339" => date.rfc3339(),
        _ => panic!("no placeholder is called {name}"),
    }
}

/// `5s`, `60d`, `1h`, `500ms`.
fn length(text: &str) -> Duration {
    match text.strip_suffix('d') {
        Some(days) => Duration::from_secs(days.parse::<u64>().unwrap() * 86_400),
        None => text.parse().unwrap(),
    }
}

struct Date {
    unix_seconds: i64,
    year: i64,
    /// From 0.
    month: usize,
    day: i64,
    /// 0 is a Thursday, as the first day of the epoch was.
    weekday: usize,
    time: String,
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];

impl Date {
    fn of(unix_seconds: i64) -> Self {
        let (mut days, of_day) = (unix_seconds.div_euclid(86_400), unix_seconds.rem_euclid(86_400));
        let weekday = usize::try_from(days.rem_euclid(7)).unwrap();
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut year = 1970;
        while days >= 365 + i64::from(leap(year)) {
            days -= 365 + i64::from(leap(year));
            year += 1;
        }
        let lengths = [
            31,
            28 + i64::from(leap(year)),
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ];
        let mut month = 0;
        while days >= lengths[month] {
            days -= lengths[month];
            month += 1;
        }
        Self {
            unix_seconds,
            year,
            month,
            day: days + 1,
            weekday,
            time: format!("{:02}:{:02}:{:02}", of_day / 3_600, of_day / 60 % 60, of_day % 60),
        }
    }

    fn imf(&self) -> String {
        let (day, month) = (&DAYS[self.weekday][..3], MONTHS[self.month]);
        format!("{day}, {:02} {month} {} {} GMT", self.day, self.year, self.time)
    }

    fn asctime(&self) -> String {
        let (day, month) = (&DAYS[self.weekday][..3], MONTHS[self.month]);
        format!("{day} {month} {:2} {} {}", self.day, self.time, self.year)
    }

    fn rfc850(&self) -> String {
        let (day, month) = (DAYS[self.weekday], MONTHS[self.month]);
        format!(
            "{day}, {:02}-{month}-{:02} {} GMT",
            self.day,
            self.year % 100,
            self.time
        )
    }

    fn rfc3339(&self) -> String {
        format!(
            "{}-{:02}-{:02}T{}Z",
            self.year,
            self.month + 1,
            self.day,
            self.time
        )
    }
}

/// The idempotency key that a request carried.
pub(super) fn key(request: &Request) -> Option<&str> {
    request.header("idempotency-key")
}

#[test]
fn placeholders_are_the_dates_that_they_name() {
    // Breaks when a server of these tests says another date than the case does: every date case would be void.
    let wall = Wall::from_unix_ms(1_767_225_600_000);
    for (placeholder, date) in [
        ("{{http-date+4s}}", "Thu, 01 Jan 2026 00:00:04 GMT"),
        ("{{http-date-1h}}", "Wed, 31 Dec 2025 23:00:00 GMT"),
        ("{{http-date+60d}}", "Mon, 02 Mar 2026 00:00:00 GMT"),
        ("{{asctime+4s}}", "Thu Jan  1 00:00:04 2026"),
        ("{{rfc850+4s}}", "Thursday, 01-Jan-26 00:00:04 GMT"),
        ("{{rfc3339+40s}}", "2026-01-01T00:00:40Z"),
        ("{{epoch+5}}", "1767225605"),
        ("{{epoch_ms+5000}}", "1767225605000"),
        ("90", "90"),
    ] {
        assert_eq!(filled(placeholder, wall), date);
    }
}
