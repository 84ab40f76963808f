use seawall_core::profile::RequestFacts;
use serde_json::Value;

/// Tools that the caller runs, or that only read; any other kind is taken for one that acts.
const HARMLESS_TOOLS: [&str; 13] = [
    "apply_patch",
    "bash",
    "computer",
    "custom",
    "file_search",
    "function",
    "image_generation",
    "local_shell",
    "memory",
    "text_editor",
    "tool_search",
    "web_fetch",
    "web_search",
];

/// Reads from a request's body what decides whether it may be repeated (rule E1): a stored conversation, work in
/// the background, a server-side tool that acts. The key is a header, the adapter's to set.
///
/// A body that is not JSON says nothing. A tool of an unknown kind counts as one that acts: a repeat that is not
/// made is cheaper than one that acts twice.
pub fn request_facts(bytes: &[u8]) -> RequestFacts {
    let mut facts = RequestFacts::default();
    let Ok(Value::Object(body)) = serde_json::from_slice(bytes) else {
        return facts;
    };
    let is_true = |key| body.get(key).and_then(Value::as_bool) == Some(true);
    let is_there = |key| body.get(key).is_some_and(|value| !value.is_null());
    facts.stream = is_true("stream");
    facts.background = is_true("background");
    facts.conversation = is_there("conversation");
    let tools = body.get("tools").and_then(Value::as_array);
    let acts = |tool: &Value| {
        tool.get("type")
            .and_then(Value::as_str)
            .is_some_and(acts_on_the_world)
    };
    let servers = body.get("mcp_servers").and_then(Value::as_array);
    facts.acting_tool =
        tools.is_some_and(|tools| tools.iter().any(acts)) || servers.is_some_and(|all| !all.is_empty());
    facts
}

/// Kinds carry versions and previews: `web_search_20250305`, `computer_use_preview`.
fn acts_on_the_world(kind: &str) -> bool {
    !HARMLESS_TOOLS.iter().any(|harmless| {
        kind.strip_prefix(harmless)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}
