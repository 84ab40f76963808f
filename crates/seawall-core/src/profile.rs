//! What is known of each provider: its codes, its endpoints, its idempotency keys (rules D1 to D3, E1, H9).
//!
//! What can go wrong: a status alone does not say whether money is gone, a prompt is too long or a lock is held,
//! and treating one provider's code as another's stops calls that would succeed. So every provider is one static
//! table, looked up by name, host or path, and `generic` knows HTTP alone. A code that a table does not name
//! decides nothing: the status does.

use crate::facts::{BodyFacts, Facts, Replay};
use crate::verdict::Endpoint;

/// A provider whose dialect is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// OpenAI, and the many that speak its API.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Azure OpenAI.
    Azure,
    /// Google's Gemini API and Vertex AI.
    Gemini,
    /// Groq.
    Groq,
    /// Stripe.
    Stripe,
    /// GitHub.
    GitHub,
    /// HTTP, and the body hints `RetryInfo` and `retry_after`; no codes.
    Generic,
}

impl Provider {
    /// Every provider, in the order that help texts list them.
    pub const ALL: [Self; 8] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Azure,
        Self::Gemini,
        Self::Groq,
        Self::Stripe,
        Self::GitHub,
        Self::Generic,
    ];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Azure => "azure",
            Self::Gemini => "gemini",
            Self::Groq => "groq",
            Self::Stripe => "stripe",
            Self::GitHub => "github",
            Self::Generic => "generic",
        }
    }

    /// The provider of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// The provider that a host belongs to or, where the host says nothing, whose dialect the path is in.
    ///
    /// ```
    /// use seawall_core::profile::Provider;
    /// assert_eq!(Provider::inferred(Some("api.stripe.com"), "/v1/anything"), Provider::Stripe);
    /// assert_eq!(Provider::inferred(Some("llm.internal:8000"), "/v1/chat/completions"), Provider::OpenAi);
    /// assert_eq!(Provider::inferred(None, "/v1/orders"), Provider::Generic);
    /// ```
    pub fn inferred(host: Option<&str>, path: &str) -> Self {
        host.and_then(Self::of_host)
            .unwrap_or_else(|| Self::of_path(path))
    }

    fn of_host(host: &str) -> Option<Self> {
        let host = host
            .rsplit_once(':')
            .map_or(host, |(host, _)| host)
            .trim_end_matches('.');
        let within = |domain: &str| {
            let start = host.len().checked_sub(domain.len());
            let tail = start.and_then(|start| host.as_bytes().get(start..));
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(domain.as_bytes()))
                && start.is_some_and(|start| start == 0 || host.as_bytes()[start - 1] == b'.')
        };
        [
            ("openai.azure.com", Self::Azure),
            ("cognitiveservices.azure.com", Self::Azure),
            ("services.ai.azure.com", Self::Azure),
            ("openai.com", Self::OpenAi),
            ("anthropic.com", Self::Anthropic),
            ("generativelanguage.googleapis.com", Self::Gemini),
            ("aiplatform.googleapis.com", Self::Gemini),
            ("groq.com", Self::Groq),
            ("stripe.com", Self::Stripe),
            ("github.com", Self::GitHub),
        ]
        .into_iter()
        .find(|(domain, _)| within(domain) || is_regional_vertex(host, domain))
        .map(|(_, provider)| provider)
    }

    fn of_path(path: &str) -> Self {
        let path = trimmed(path);
        let verb = path.rsplit('/').next().unwrap_or(path);
        if path.contains("/openai/deployments/") {
            Self::Azure
        } else if GEMINI_VERBS.iter().any(|known| verb.ends_with(known)) {
            Self::Gemini
        } else if ends_with_any(path, ANTHROPIC_ENDPOINTS) || path.ends_with("/v1/messages/batches") {
            Self::Anthropic
        } else if ends_with_any(path, OPENAI_ENDPOINTS)
            || OPENAI_OTHERS.iter().any(|part| path.contains(part))
        {
            Self::OpenAi
        } else if STRIPE_PATHS.iter().any(|start| is_under(path, start)) {
            Self::Stripe
        } else {
            Self::Generic
        }
    }

    /// What is known of this provider.
    pub const fn profile(self) -> &'static Profile {
        match self {
            Self::OpenAi => &OPENAI,
            Self::Anthropic => &ANTHROPIC,
            Self::Azure => &AZURE,
            Self::Gemini => &GEMINI,
            Self::Groq => &GROQ,
            Self::Stripe => &STRIPE,
            Self::GitHub => &GITHUB,
            Self::Generic => &GENERIC,
        }
    }
}

/// What is known of one provider; see [`Provider::profile`].
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// Whose it is.
    pub provider: Provider,
    quota_spent: Signs,
    context_too_long: Signs,
    invalid_key: Signs,
    conflict: Conflict,
    keys: Keys,
    endpoints: &'static [&'static str],
}

/// Codes or types that say one thing, and words of a message where the provider has no code for it.
#[derive(Debug, PartialEq, Eq)]
struct Signs {
    codes: &'static [&'static str],
    /// All the words of one row must be in the message.
    phrases: &'static [&'static [&'static str]],
}

impl Signs {
    const NONE: Self = Self::codes(&[]);

    const fn codes(codes: &'static [&'static str]) -> Self {
        Self { codes, phrases: &[] }
    }

    fn are_in(&self, body: &BodyFacts<'_>) -> bool {
        let named = |name: Option<&str>| name.is_some_and(|name| self.codes.contains(&name));
        let message = body.message.unwrap_or("");
        named(body.code)
            || named(body.kind)
            || self
                .phrases
                .iter()
                .any(|words| words.iter().all(|word| message.contains(word)))
    }
}

/// What a 409 means (rule D2).
#[derive(Debug, PartialEq, Eq)]
enum Conflict {
    /// The request contradicts what is there: the caller's.
    Fault,
    /// Somebody else holds a lock: it passes.
    Lock,
    /// A lock where the provider names it so, or names nothing.
    LockOfCode(&'static str),
}

/// Whether idempotency keys are honoured (rule E1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// The provider documents that it honours `Idempotency-Key`.
    Honoured,
    /// Nobody knows; a caller who sends one is taken at their word.
    Trusted,
    /// The provider documents none, so that a key protects nothing.
    Ignored,
}

/// What an adapter read from a request, as far as it decides whether a repeat is safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// The caller sends an idempotency key.
    pub key: bool,
    /// The answer is asked for as a stream.
    pub stream: bool,
    /// The answer becomes part of a stored conversation.
    pub conversation: bool,
    /// The work goes on after the answer.
    pub background: bool,
    /// A server-side tool may act on the world.
    pub acting_tool: bool,
}

/// The header that carries an idempotency key, in lower case.
pub const KEY_HEADER: &str = "idempotency-key";

impl Profile {
    /// What kind of call this is: decides the default limits (rules F1 and F2).
    pub fn endpoint(&self, method: &str, path: &str, request: RequestFacts) -> Endpoint {
        if !self.is_inference(method, path) {
            Endpoint::General
        } else if request.stream || trimmed(path).ends_with(":streamGenerateContent") {
            Endpoint::InferenceStream
        } else {
            Endpoint::Inference
        }
    }

    /// What sending this call twice may do (rule E1). A route's own `replay` stands before this.
    ///
    /// ```
    /// use seawall_core::{facts::Replay, profile::{Provider, RequestFacts}};
    /// let openai = Provider::OpenAi.profile();
    /// let plain = RequestFacts::default();
    /// assert_eq!(openai.replay_of("POST", "/v1/responses", plain), Replay::Declared);
    /// let background = RequestFacts { background: true, ..plain };
    /// assert_eq!(openai.replay_of("POST", "/v1/responses", background), Replay::Unsafe);
    /// ```
    pub fn replay_of(&self, method: &str, path: &str, request: RequestFacts) -> Replay {
        if matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE") {
            return Replay::Idempotent;
        }
        if request.key {
            match self.keys {
                Keys::Honoured | Keys::Trusted => return Replay::Keyed,
                Keys::Ignored => {}
            }
        }
        let acts = request.conversation || request.background || request.acting_tool;
        if self.is_inference(method, path) && !acts {
            Replay::Declared
        } else {
            Replay::Unsafe
        }
    }

    /// Whether the provider documents that it honours idempotency keys, so that one is made for each write (rule E3).
    pub fn honours_keys(&self) -> bool {
        self.keys == Keys::Honoured
    }

    fn is_inference(&self, method: &str, path: &str) -> bool {
        let path = trimmed(path);
        let verb = path.rsplit('/').next().unwrap_or(path);
        let known = |end: &&str| {
            if end.starts_with(':') {
                verb.ends_with(*end)
            } else {
                path.ends_with(*end)
            }
        };
        method == "POST" && self.endpoints.iter().any(known)
    }

    /// Whether the body says that money or quota is gone (rule D1).
    pub(crate) fn says_quota_spent(&self, body: &BodyFacts<'_>) -> bool {
        self.quota_spent.are_in(body) || (self.provider == Provider::Gemini && body.quota_spent)
    }

    /// Whether the body says that the prompt is longer than the model's window (rule D3).
    pub(crate) fn says_context_too_long(&self, body: &BodyFacts<'_>) -> bool {
        self.context_too_long.are_in(body)
    }

    /// Whether the body says that the key itself is not valid (rule H9).
    pub(crate) fn says_invalid_key(&self, body: &BodyFacts<'_>) -> bool {
        self.invalid_key.are_in(body)
    }

    /// Whether a 409 with this body is a lock that passes (rule D2).
    pub(crate) fn is_lock(&self, body: &BodyFacts<'_>) -> bool {
        match self.conflict {
            Conflict::Fault => false,
            Conflict::Lock => true,
            Conflict::LockOfCode(code) => body.code.is_none_or(|given| given == code),
        }
    }

    /// Whether this status is the provider's own for a tier without room: Groq's 498, which says of itself that the
    /// request was not processed and may come again.
    pub(crate) const fn is_over_capacity(&self, status: u16) -> bool {
        matches!((self.provider, status), (Provider::Groq, 498))
    }

    /// Whether a 403 is GitHub's rate limit rather than a denial.
    pub(crate) fn is_rate_limit_403(&self, facts: &Facts<'_>) -> bool {
        let remaining = facts.headers.get("x-ratelimit-remaining").map(<[u8]>::trim_ascii);
        self.provider == Provider::GitHub && (remaining == Some(b"0") || self.is_secondary_limit(facts))
    }

    /// Whether the message is that of GitHub's secondary rate limit.
    pub(crate) fn is_secondary_limit(&self, facts: &Facts<'_>) -> bool {
        self.provider == Provider::GitHub
            && facts
                .body
                .message
                .is_some_and(|text| text.contains("secondary rate limit") || text.contains("abuse detection"))
    }
}

/// `us-central1-aiplatform.googleapis.com`: a region joined to the domain's first name.
fn is_regional_vertex(host: &str, domain: &str) -> bool {
    domain.starts_with("aiplatform.")
        && host
            .strip_suffix(domain)
            .is_some_and(|region| region.ends_with('-') && !region.contains('.'))
}

/// The path without its query, fragment and closing slash.
fn trimmed(path: &str) -> &str {
    let end = path.find(['?', '#']).unwrap_or(path.len());
    path[..end].trim_end_matches('/')
}

fn ends_with_any(path: &str, ends: &[&str]) -> bool {
    ends.iter().any(|end| path.ends_with(end))
}

fn is_under(path: &str, start: &str) -> bool {
    path.strip_prefix(start)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

const OPENAI_ENDPOINTS: &[&str] = &[
    "/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/v1/moderations",
];
/// In OpenAI's dialect, and not inference for rule E1.
const OPENAI_OTHERS: &[&str] = &[
    "/v1/images/",
    "/v1/audio/",
    "/v1/videos",
    "/v1/threads",
    "/v1/assistants",
    "/v1/fine_tuning/",
    "/v1/vector_stores",
    "/v1/responses/",
    "/v1/chat/completions/",
];
const AZURE_ENDPOINTS: &[&str] = &[
    "/chat/completions",
    "/completions",
    "/embeddings",
    "/openai/responses",
    "/v1/responses",
];
const ANTHROPIC_ENDPOINTS: &[&str] = &["/v1/messages", "/v1/messages/count_tokens", "/v1/complete"];
const GEMINI_VERBS: &[&str] = &[
    ":generateContent",
    ":streamGenerateContent",
    ":countTokens",
    ":embedContent",
    ":batchEmbedContents",
];
const GEMINI_ENDPOINTS: &[&str] = &[
    ":generateContent",
    ":streamGenerateContent",
    ":countTokens",
    ":embedContent",
    ":batchEmbedContents",
    "/openai/chat/completions",
    "/openai/embeddings",
];
const GROQ_ENDPOINTS: &[&str] = &["/chat/completions", "/v1/responses", "/v1/embeddings"];
/// Paths that nobody but Stripe uses; `/v1/customers` and the like are anyone's.
const STRIPE_PATHS: &[&str] = &[
    "/v1/payment_intents",
    "/v1/setup_intents",
    "/v1/charges",
    "/v1/checkout/sessions",
];

const OPENAI_QUOTA: Signs = Signs {
    codes: &[
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
    ],
    phrases: &[&["credit balance"]],
};
const OPENAI_CONTEXT: Signs = Signs::codes(&["context_length_exceeded"]);
const OPENAI_KEY: Signs = Signs::codes(&["invalid_api_key", "account_deactivated"]);

static OPENAI: Profile = Profile {
    provider: Provider::OpenAi,
    quota_spent: OPENAI_QUOTA,
    context_too_long: OPENAI_CONTEXT,
    invalid_key: OPENAI_KEY,
    conflict: Conflict::Lock,
    keys: Keys::Ignored,
    endpoints: OPENAI_ENDPOINTS,
};
static ANTHROPIC: Profile = Profile {
    provider: Provider::Anthropic,
    quota_spent: Signs {
        codes: &["billing_error", "enforced_spend_limit_reached"],
        phrases: &[&["credit balance"]],
    },
    context_too_long: Signs {
        codes: &[],
        phrases: &[&["prompt is too long"], &["exceed context limit"]],
    },
    invalid_key: Signs::codes(&["authentication_error"]),
    conflict: Conflict::Fault,
    keys: Keys::Ignored,
    endpoints: ANTHROPIC_ENDPOINTS,
};
static AZURE: Profile = Profile {
    provider: Provider::Azure,
    quota_spent: OPENAI_QUOTA,
    context_too_long: OPENAI_CONTEXT,
    invalid_key: OPENAI_KEY,
    conflict: Conflict::Fault,
    keys: Keys::Ignored,
    endpoints: AZURE_ENDPOINTS,
};
static GEMINI: Profile = Profile {
    provider: Provider::Gemini,
    // A spent quota is told in its details: `BodyFacts::quota_spent`.
    quota_spent: Signs::NONE,
    context_too_long: Signs {
        codes: &[],
        phrases: &[&["input token count", "exceeds the maximum"]],
    },
    invalid_key: Signs::codes(&["API_KEY_INVALID"]),
    conflict: Conflict::Fault,
    keys: Keys::Ignored,
    endpoints: GEMINI_ENDPOINTS,
};
static GROQ: Profile = Profile {
    provider: Provider::Groq,
    quota_spent: OPENAI_QUOTA,
    context_too_long: OPENAI_CONTEXT,
    invalid_key: OPENAI_KEY,
    conflict: Conflict::Fault,
    keys: Keys::Ignored,
    endpoints: GROQ_ENDPOINTS,
};
static STRIPE: Profile = Profile {
    provider: Provider::Stripe,
    quota_spent: Signs::NONE,
    context_too_long: Signs::NONE,
    invalid_key: Signs::codes(&["api_key_expired"]),
    conflict: Conflict::LockOfCode("idempotency_key_in_use"),
    keys: Keys::Honoured,
    endpoints: &[],
};
static GITHUB: Profile = Profile {
    provider: Provider::GitHub,
    quota_spent: Signs::NONE,
    context_too_long: Signs::NONE,
    invalid_key: Signs::NONE,
    conflict: Conflict::Fault,
    keys: Keys::Ignored,
    endpoints: &[],
};
static GENERIC: Profile = Profile {
    provider: Provider::Generic,
    quota_spent: Signs::NONE,
    context_too_long: Signs::NONE,
    invalid_key: Signs::NONE,
    conflict: Conflict::Fault,
    keys: Keys::Trusted,
    endpoints: &[],
};

#[cfg(test)]
mod tests;
