//! Row 18: a prompt cut to its model's window less a reserve, by tokens, where a letter ends, with a mark.
use seawall::ai::fit::{Fit, FitError, FittedText, Strategy};
use seawall::ai::{Client, Error};

pub fn fitted(model: &str, prompt: &str) -> Result<FittedText, FitError> {
    let window = match model {
        "deepseek-chat" => 64_000,
        "claude-2" => 100_000,
        "gpt-4o" => 128_000,
        _ => {
            return Fit::for_model(model)?
                .reserve(100)
                .strategy(Strategy::cut())
                .text(prompt);
        }
    };
    let fit = Fit::with_window(model, window)
        .reserve(100)
        .strategy(Strategy::cut());
    fit.text(prompt)
}

pub async fn run(client: &Client, model: &str, prompt: &FittedText) -> Result<String, Error> {
    client.ask(model, &prompt.text).await
}
