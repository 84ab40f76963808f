/// What is wrong with an upstream's address; nothing where it can be called. Held to what the HTTP adapter takes, and
/// here because files are read without it, too. Never repeats the address: secrets travel in addresses.
pub(super) fn fault(url: &str) -> Option<&'static str> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Some("lacks a scheme");
    };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Some("has a scheme other than http and https");
    }
    let (rest, query) = rest
        .split_once('?')
        .map_or((rest, None), |(rest, query)| (rest, Some(query)));
    // The version of an API is the one thing of a query that is an upstream's.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~');
    let is_version = |query: &str| {
        query
            .strip_prefix("api-version=")
            .is_some_and(|version| version.chars().all(is_plain))
    };
    if url.contains('#') || query.is_some_and(|query| !is_version(query)) {
        return Some("holds a fragment, or a query other than api-version, which belongs to calls");
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.contains('@') {
        return Some("holds a user name or password, which belongs in a credential");
    }
    let is_path =
        |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}');
    if !path.chars().all(is_path) {
        return Some("has a path with a character that must be written as %XX");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (host, port),
            Some(_) | None => return Some("has a host that is no IPv6 address"),
        },
        None => authority
            .find(':')
            .map_or((authority, ""), |at| authority.split_at(at)),
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    if host.is_empty() {
        return Some("lacks a host");
    }
    if !host.chars().all(is_host) {
        return Some("has a host with a character that no host has");
    }
    let port_fits = match port.strip_prefix(':') {
        None => port.is_empty(),
        Some("") => true,
        Some(digits) => {
            digits.bytes().all(|digit| digit.is_ascii_digit())
                && digits.parse::<u16>().is_ok_and(|port| port > 0)
        }
    };
    (!port_fits).then_some("has a port that is not a number from 1 to 65535")
}
