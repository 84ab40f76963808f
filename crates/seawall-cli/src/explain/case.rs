use super::{Args, Fault};
use crate::failure::Failure;
use crate::files::{read_at_most, read_config};
use crate::named::{self, obeyed};
use seawall_core::caller::CallerWord;
use seawall_core::classify::Override;
use seawall_core::facts::{Headers, Replay};
use seawall_core::policy::{Policy, Preset};
use seawall_core::profile::{Profile, Provider, RequestFacts};
use seawall_core::time::{Duration, Wall};
use seawall_core::verdict::Endpoint;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The largest file that is read as a body.
const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The largest file that is read as a policy: 1 MiB, a thousand times what one takes.
const POLICY_BYTES_MAX: u64 = 1024 * 1024;

/// What was asked about, with every default filled in.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) method: String,
    pub(super) profile: &'static Profile,
    pub(super) policy: Policy,
    /// The user's own word on statuses and codes.
    pub(super) overrides: Vec<Override>,
    pub(super) replay: Replay,
    pub(super) caller: CallerWord,
    pub(super) endpoint: Endpoint,
    /// The nearest of the user's or the policy's, and the caller's (rule F4).
    pub(super) deadline: Duration,
    pub(super) attempts: u32,
    pub(super) elapsed: Duration,
    pub(super) status: Option<u16>,
    pub(super) headers: HeaderList,
    pub(super) body: Option<Vec<u8>>,
    pub(super) fault: Option<Fault>,
    pub(super) wall: Wall,
}

impl Case {
    /// Fills in the defaults and reads the files that are named.
    pub(super) fn read(args: &Args) -> Result<Self, Failure> {
        if args.status.is_none() && args.error.is_none() {
            return Err(Failure::usage(
                "nothing to explain; say what the attempt met, with --status 503 or --error reset",
            ));
        }
        let method = args.method.to_ascii_uppercase();
        let known = Known::read(args)?;
        let profile = args
            .provider
            .or(known.provider)
            .unwrap_or_else(|| Provider::inferred(None, &args.path))
            .profile();
        let caller = CallerWord::read(&HeaderList::read(&args.request_headers, "--request-header")?);
        let request = RequestFacts {
            key: args.key.is_some() || caller.key,
            ..RequestFacts::default()
        };
        let replay = args
            .replay
            .or(caller.replay)
            .unwrap_or_else(|| profile.replay_of(&method, &args.path, request));
        let policy = known.policy;
        let endpoint = profile.endpoint(&method, &args.path, request);
        let allowed = args
            .deadline
            .unwrap_or_else(|| policy.call.deadline_for(endpoint));
        Ok(Self {
            profile,
            policy,
            overrides: known.overrides,
            replay,
            endpoint,
            deadline: caller.deadline.map_or(allowed, |length| length.min(allowed)),
            caller,
            attempts: args.attempts,
            elapsed: args.elapsed,
            status: args.status.or_else(|| args.error.and_then(Fault::status)),
            headers: HeaderList::read(&args.headers, "--header")?,
            body: args.body.as_deref().map(read_body).transpose()?,
            fault: args.error,
            wall: args.now.unwrap_or_else(host_date),
            method,
        })
    }
}

/// What is known of the upstream.
struct Known {
    policy: Policy,
    provider: Option<Provider>,
    overrides: Vec<Override>,
}

impl Known {
    /// What was typed, or what the file says of the upstream that was named.
    fn read(args: &Args) -> Result<Self, Failure> {
        let Some(name) = &args.upstream else {
            let policy = args
                .policy
                .as_deref()
                .map_or(Ok(Policy::preset(Preset::Default)), read_policy)?;
            return Ok(Self {
                policy,
                provider: None,
                overrides: Vec::new(),
            });
        };
        let config = read_config(&args.config)?;
        obeyed(&config, &["policy"])?;
        let upstream = named::upstream(&config, name)?;
        Ok(Self {
            policy: *upstream.policy.policy(),
            provider: upstream.dialect(),
            overrides: upstream.classify.clone(),
        })
    }
}

/// Headers as they were typed: names in lower case, values as bytes.
#[derive(Debug, Default)]
pub(super) struct HeaderList(Vec<(String, Vec<u8>)>);

impl HeaderList {
    fn read(lines: &[OsString], flag: &str) -> Result<Self, Failure> {
        let mut list = Vec::new();
        for line in lines {
            let bytes = line.as_encoded_bytes();
            let colon = bytes.iter().position(|byte| *byte == b':');
            let name = colon.and_then(|colon| std::str::from_utf8(bytes[..colon].trim_ascii()).ok());
            let (Some(colon), Some(name)) = (colon, name.filter(|name| !name.is_empty())) else {
                let line = line.to_string_lossy();
                return Err(Failure::usage(format!(
                    "{flag} {line:?} is no header; write 'Name: value'"
                )));
            };
            list.push((
                name.to_ascii_lowercase(),
                bytes[colon + 1..].trim_ascii().to_vec(),
            ));
        }
        Ok(Self(list))
    }
}

impl Headers for HeaderList {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_slice())
    }
}

impl Fault {
    /// The status that came before the fault, where the fault implies one.
    fn status(self) -> Option<u16> {
        match self {
            Self::Truncated | Self::Empty | Self::ErrorInside => Some(200),
            Self::Dns
            | Self::Refused
            | Self::ConnectTimeout
            | Self::Tls
            | Self::BadCert
            | Self::Reset
            | Self::Closed
            | Self::ReusedClosed
            | Self::Timeout
            | Self::Idle
            | Self::RefusedStream
            | Self::GoAway => None,
        }
    }
}

pub(crate) fn read_policy(name: &str) -> Result<Policy, Failure> {
    if let Some(preset) = Preset::named(name) {
        return Ok(Policy::preset(preset));
    }
    if !Path::new(name).exists() {
        let presets = Preset::ALL.map(Preset::name).join(", ");
        return Err(Failure::usage(format!(
            "--policy {name}: no such file, and the presets are {presets}"
        )));
    }
    let bytes = read_at_most(Path::new(name), &format!("--policy {name}"), POLICY_BYTES_MAX)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("--policy {name}: not a text file; a policy is TOML")))?;
    Ok(seawall::config::read_policy(name, &text)?)
}

fn read_body(text: &OsStr) -> Result<Vec<u8>, Failure> {
    let bytes = text.as_encoded_bytes();
    let Some(file) = bytes.strip_prefix(b"@") else {
        return Ok(bytes.to_vec());
    };
    let Ok(name) = std::str::from_utf8(file) else {
        return Err(Failure::usage(
            "--body: the file's name is not text; give the body itself",
        ));
    };
    read_at_most(Path::new(name), &format!("--body @{name}"), BODY_BYTES_MAX)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where `explain` asks for the date; --now replaces it"
)]
fn host_date() -> Wall {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let unix_ms = since.map_or(0, |length| i64::try_from(length.as_millis()).unwrap_or(i64::MAX));
    Wall { unix_ms }
}
