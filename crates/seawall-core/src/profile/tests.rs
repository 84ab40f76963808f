use super::*;

const PLAIN: RequestFacts = RequestFacts {
    key: false,
    stream: false,
    conversation: false,
    background: false,
    acting_tool: false,
};

#[test]
fn a_repeat_is_safe_only_where_somebody_says_so() {
    // A write taken for inference is done twice; inference taken for a write is not retried, and users suffer.
    let key = RequestFacts { key: true, ..PLAIN };
    for (provider, method, path, request, expected) in [
        (Provider::Generic, "GET", "/v1/orders", PLAIN, Replay::Idempotent),
        (
            Provider::Generic,
            "DELETE",
            "/v1/orders/1",
            PLAIN,
            Replay::Idempotent,
        ),
        (
            Provider::Generic,
            "PUT",
            "/v1/orders/1",
            PLAIN,
            Replay::Idempotent,
        ),
        (Provider::Generic, "PATCH", "/v1/orders/1", PLAIN, Replay::Unsafe),
        (Provider::Generic, "POST", "/v1/orders", PLAIN, Replay::Unsafe),
        (Provider::Generic, "POST", "/v1/orders", key, Replay::Keyed),
        (Provider::Generic, "post", "/v1/orders", PLAIN, Replay::Unsafe),
        (
            Provider::Generic,
            "POST",
            "/v1/chat/completions",
            PLAIN,
            Replay::Unsafe,
        ),
        (Provider::Stripe, "POST", "/v1/charges", key, Replay::Keyed),
        (Provider::Stripe, "POST", "/v1/charges", PLAIN, Replay::Unsafe),
        (
            Provider::OpenAi,
            "POST",
            "/v1/chat/completions",
            PLAIN,
            Replay::Declared,
        ),
        (
            Provider::OpenAi,
            "POST",
            "/v1/chat/completions?x=1",
            key,
            Replay::Declared,
        ),
        (
            Provider::OpenAi,
            "POST",
            "/api/v1/chat/completions/",
            PLAIN,
            Replay::Declared,
        ),
        (
            Provider::OpenAi,
            "POST",
            "/v1/completions",
            PLAIN,
            Replay::Declared,
        ),
        (Provider::OpenAi, "POST", "/v1/responses", PLAIN, Replay::Declared),
        (
            Provider::OpenAi,
            "POST",
            "/v1/embeddings",
            PLAIN,
            Replay::Declared,
        ),
        (
            Provider::OpenAi,
            "POST",
            "/v1/moderations",
            PLAIN,
            Replay::Declared,
        ),
        (
            Provider::OpenAi,
            "POST",
            "/v1/responses/resp_1/cancel",
            PLAIN,
            Replay::Unsafe,
        ),
        (
            Provider::OpenAi,
            "POST",
            "/v1/images/generations",
            PLAIN,
            Replay::Unsafe,
        ),
        (
            Provider::OpenAi,
            "POST",
            "/v1/audio/speech",
            PLAIN,
            Replay::Unsafe,
        ),
        (Provider::OpenAi, "POST", "/v1/videos", PLAIN, Replay::Unsafe),
        (Provider::OpenAi, "POST", "/v1/files", key, Replay::Unsafe),
        (Provider::OpenAi, "POST", "/v1/batches", PLAIN, Replay::Unsafe),
        (
            Provider::OpenAi,
            "POST",
            "/v1/threads/t/runs",
            PLAIN,
            Replay::Unsafe,
        ),
        (
            Provider::Anthropic,
            "POST",
            "/v1/messages",
            PLAIN,
            Replay::Declared,
        ),
        (
            Provider::Anthropic,
            "POST",
            "/v1/messages/batches",
            PLAIN,
            Replay::Unsafe,
        ),
        (
            Provider::Azure,
            "POST",
            "/openai/deployments/d/chat/completions",
            PLAIN,
            Replay::Declared,
        ),
        (
            Provider::Azure,
            "POST",
            "/openai/deployments/d/images/generations",
            PLAIN,
            Replay::Unsafe,
        ),
        (
            Provider::Gemini,
            "POST",
            "/v1beta/models/g:generateContent",
            PLAIN,
            Replay::Declared,
        ),
        (
            Provider::Gemini,
            "POST",
            "/v1beta/models/g:streamGenerateContent?alt=sse",
            PLAIN,
            Replay::Declared,
        ),
        (
            Provider::Gemini,
            "POST",
            "/v1beta/models/g:batchGenerateContent",
            PLAIN,
            Replay::Unsafe,
        ),
        (
            Provider::Gemini,
            "POST",
            "/upload/v1beta/files",
            PLAIN,
            Replay::Unsafe,
        ),
        (
            Provider::Groq,
            "POST",
            "/openai/v1/chat/completions",
            PLAIN,
            Replay::Declared,
        ),
        (Provider::GitHub, "POST", "/repos/o/r/issues", key, Replay::Unsafe),
    ] {
        let replay = provider.profile().replay_of(method, path, request);
        assert_eq!(
            replay,
            expected,
            "{} {method} {path} {request:?}",
            provider.name()
        );
    }
}

#[test]
fn inference_that_acts_is_no_inference() {
    // A background response, or a tool that writes, happens again with each repeat.
    let profile = Provider::OpenAi.profile();
    for request in [
        RequestFacts {
            conversation: true,
            ..PLAIN
        },
        RequestFacts {
            background: true,
            ..PLAIN
        },
        RequestFacts {
            acting_tool: true,
            ..PLAIN
        },
    ] {
        assert_eq!(
            profile.replay_of("POST", "/v1/responses", request),
            Replay::Unsafe,
            "{request:?}"
        );
    }
    let stream = RequestFacts {
        stream: true,
        ..PLAIN
    };
    assert_eq!(
        profile.replay_of("POST", "/v1/responses", stream),
        Replay::Declared
    );
}

#[test]
fn a_provider_is_known_by_its_host_before_its_path() {
    // A look-alike host that passes for a provider would lend it that provider's trust.
    for (host, path, expected) in [
        (Some("api.openai.com"), "/v1/files", Provider::OpenAi),
        (Some("API.OpenAI.com:443"), "/", Provider::OpenAi),
        (Some("evilopenai.com"), "/", Provider::Generic),
        (Some("openai.com.evil.net"), "/", Provider::Generic),
        (
            Some("x.openai.azure.com"),
            "/openai/v1/chat/completions",
            Provider::Azure,
        ),
        (Some("api.anthropic.com."), "/", Provider::Anthropic),
        (
            Some("generativelanguage.googleapis.com"),
            "/v1beta/openai/chat/completions",
            Provider::Gemini,
        ),
        (
            Some("us-central1-aiplatform.googleapis.com"),
            "/v1/x",
            Provider::Gemini,
        ),
        (Some("x.y-aiplatform.googleapis.com"), "/v1/x", Provider::Generic),
        (
            Some("api.groq.com"),
            "/openai/v1/chat/completions",
            Provider::Groq,
        ),
        (Some("api.stripe.com"), "/v1/customers", Provider::Stripe),
        (Some("api.github.com"), "/repos", Provider::GitHub),
        (Some("127.0.0.1:9000"), "/v1/messages", Provider::Anthropic),
        (Some(""), "/v1/x", Provider::Generic),
        (Some("€"), "/v1/x", Provider::Generic),
        (None, "/v1/chat/completions", Provider::OpenAi),
        (None, "/v1/messages?beta=true", Provider::Anthropic),
        (None, "/v1beta/models/g:generateContent", Provider::Gemini),
        (None, "/openai/deployments/d/chat/completions", Provider::Azure),
        (None, "/v1/images/generations", Provider::OpenAi),
        (None, "/v1/charges", Provider::Stripe),
        (None, "/v1/payment_intents/pi_1/confirm", Provider::Stripe),
        (None, "/v1/charges_report", Provider::Generic),
        (None, "/v1/payments", Provider::Generic),
        (None, "", Provider::Generic),
    ] {
        assert_eq!(Provider::inferred(host, path), expected, "{host:?} {path}");
    }
}

#[test]
fn names_read_back() {
    // A name that prints and does not parse breaks every file that was written from it.
    for provider in Provider::ALL {
        assert_eq!(Provider::named(provider.name()), Some(provider));
        assert_eq!(provider.profile().provider, provider);
    }
    assert_eq!(Provider::named("OpenAI"), None);
}

#[test]
fn only_inference_gets_the_long_limits() {
    // A GET of a model list that may hang for ten minutes is a hang.
    let (openai, gemini) = (Provider::OpenAi.profile(), Provider::Gemini.profile());
    let stream = RequestFacts {
        stream: true,
        ..PLAIN
    };
    for (profile, method, path, request, expected) in [
        (openai, "POST", "/v1/chat/completions", PLAIN, Endpoint::Inference),
        (
            openai,
            "POST",
            "/v1/chat/completions",
            stream,
            Endpoint::InferenceStream,
        ),
        (openai, "GET", "/v1/chat/completions", stream, Endpoint::General),
        (openai, "POST", "/v1/images/generations", PLAIN, Endpoint::General),
        (
            gemini,
            "POST",
            "/v1beta/models/g:streamGenerateContent?alt=sse",
            PLAIN,
            Endpoint::InferenceStream,
        ),
    ] {
        assert_eq!(
            profile.endpoint(method, path, request),
            expected,
            "{method} {path}"
        );
    }
}
