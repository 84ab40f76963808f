use super::keys::Text;
use super::{address, blot};
use std::net::{IpAddr, SocketAddr};

/// A name, a variable or a header that is longer than this was pasted by mistake.
const NAME_CHARS_MAX: usize = 128;

/// What is wrong with a text, and what to do; nothing where it is right.
pub(super) fn fault(kind: Text, text: &str) -> Option<(String, &'static str)> {
    let wrong = |message: &str, help: &'static str| Some((message.to_owned(), help));
    if text.trim().is_empty() {
        return wrong("this text is empty", "write it, or take the key out");
    }
    if text.chars().any(char::is_control) {
        return wrong("this text holds a control character", "take it out");
    }
    match kind {
        Text::Any | Text::File | Text::Pattern | Text::Destination | Text::Percentile => None,
        Text::Name => name(text),
        Text::Url => address::fault(text).map(|fault| {
            (
                format!("the address {fault}"),
                "write it as in \"https://api.example.com/v1\"",
            )
        }),
        Text::Env => env(text),
        Text::Header if !is_header(text) => wrong(
            "this is no header's name",
            "a header's name is letters, digits and `-`",
        ),
        Text::Path if !text.starts_with('/') => wrong(
            "a path starts with `/`",
            "write it as calls have it, as in \"/v1/chat/completions\"",
        ),
        Text::Listen if !is_listen(text) => wrong(
            "this is no address to listen on",
            "write HOST:PORT, as in \"127.0.0.1:8787\"",
        ),
        Text::Host if !text.chars().all(is_host) => wrong(
            "this is no host's name",
            "write it as in \"ai.example.com\" or \"ai.example.com:8443\"",
        ),
        Text::Origin if !is_origin(text) => wrong(
            "this is no origin",
            "write scheme and host alone, as in \"https://app.example.com\"",
        ),
        Text::Hash if !is_hash(text) => wrong(
            "this is no hash of a token",
            "write \"sha256:\" and the 64 digits that `printf %s TOKEN | sha256sum` prints; a token itself never stands in this file",
        ),
        Text::Target => {
            let (upstream, model) = text.split_once('/').unwrap_or((text, "any"));
            if model.is_empty() {
                return wrong(
                    "there is no model after the `/`",
                    "write \"UPSTREAM/MODEL\", or \"UPSTREAM\" alone",
                );
            }
            name(upstream)
        }
        Text::Header | Text::Path | Text::Listen | Text::Host | Text::Origin | Text::Hash => None,
    }
}

fn name(text: &str) -> Option<(String, &'static str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = text.chars().count() <= NAME_CHARS_MAX && text.chars().all(is_name);
    (!fits).then(|| {
        let message = "a name here has letters, digits, `-`, `_` and `.` alone, 128 at the most";
        (message.to_owned(), "write it as in \"main-team\"")
    })
}

fn env(text: &str) -> Option<(String, &'static str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fits = text.chars().all(is_name) && !text.starts_with(|c: char| c.is_ascii_digit());
    if fits && text.len() <= NAME_CHARS_MAX && !blot::is_secret(text) {
        return None;
    }
    let help = "name the variable that holds the key, as in { env = \"MAIN_API_KEY\" }; the key itself never stands in this \
                file, which is copied, committed and shown";
    Some(("this is no name of an environment variable".to_owned(), help))
}

pub(super) fn is_header(text: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.len() <= NAME_CHARS_MAX && text.chars().all(is_token)
}

fn is_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':' | '[' | ']')
}

fn is_listen(text: &str) -> bool {
    let by_name = |text: &str| {
        text.rsplit_once(':')
            .is_some_and(|(host, port)| host == "localhost" && port.parse::<u16>().is_ok())
    };
    text.parse::<SocketAddr>().is_ok() || by_name(text)
}

/// Whether an address to listen on is this machine's alone.
pub(super) fn is_loopback(listen: &str) -> bool {
    listen.starts_with("localhost:")
        || listen
            .parse::<SocketAddr>()
            .is_ok_and(|address| match address.ip() {
                IpAddr::V4(ip) => ip.is_loopback(),
                IpAddr::V6(ip) => ip.is_loopback(),
            })
}

fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or(text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && host.chars().all(is_host))
}

fn is_hash(text: &str) -> bool {
    text.strip_prefix("sha256:")
        .is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}
