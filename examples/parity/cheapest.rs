//! Row 14: the cheapest model that does the task; after a failure the cheapest of the others, twice at the most.
use seawall::ai::prices::{Billed, Prices};
use seawall::ai::{ByTask, Chat, Client, ClientBuilder, Error, Task, Usage};

pub fn models(prompt: &str) -> Vec<String> {
    let models = ByTask::otherwise(["gpt-4.1"])
        .when(["summarize", "classify"], ["gpt-4.1-nano"])
        .when(["explain", "translate"], ["gpt-4.1-mini"]);
    let used = Billed::from(Usage::new(500, 500));
    let order = models.cheapest(&Task::of_text(prompt), used, &Prices::builtin());
    order.quotes.iter().map(|quote| quote.name.to_owned()).collect()
}

pub fn client(url: &str, models: &[String]) -> ClientBuilder {
    let mut client = Client::builder().base_url(format!("{url}/v1"));
    for fallback in &models[1..] {
        client = client.fallback_model(fallback);
    }
    client
}

pub async fn run(client: &Client, model: &str, prompt: &str) -> Result<String, Error> {
    let answer = client.chat(Chat::new(model).user(prompt)).await?;
    Ok(format!("{}: {}", answer.model_asked(), answer.text()))
}
