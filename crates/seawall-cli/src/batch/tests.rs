use super::*;

#[test]
fn a_providers_key_is_for_its_own_hosts() {
    // A host that only looks like the provider's, or that speaks its dialect, would get the key of whoever was talked
    // into typing it.
    for (host, variable) in [
        ("team.openai.azure.com", Some("AZURE_OPENAI_API_KEY")),
        ("team.cognitiveservices.azure.com", Some("AZURE_OPENAI_API_KEY")),
        ("api.groq.com", Some("GROQ_API_KEY")),
        ("API.GitHub.com", Some("GITHUB_TOKEN")),
        ("azure.com", None),
        ("openai.azure.com.evil.example", None),
        ("api.groq.com.evil.example", None),
        ("evilgroq.com", None),
        ("evil-github.com", None),
        ("somebody.github.io", None),
        ("127.0.0.1", None),
        ("localhost", None),
        ("", None),
    ] {
        assert_eq!(usual_variable(host), variable, "{host}");
    }
}
