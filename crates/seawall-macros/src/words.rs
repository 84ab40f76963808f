//! What the attribute says, read.

use proc_macro2::Span;
use quote::{ToTokens as _, quote, quote_spanned};
use seawall_core::facts::Replay;
use seawall_core::policy::Preset;
use seawall_core::time::Duration;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token};

/// Everything that the attribute says.
pub(crate) struct Words {
    pub(crate) rules: Rules,
    /// Calls of methods, in the order in which they were said.
    pub(crate) methods: Vec<Method>,
}

/// Whose rules the function goes by.
pub(crate) enum Rules {
    /// Those of the preset of this variant.
    Preset(Ident),
    /// Those of what an expression gives, which is of the type of this name.
    Of(Box<Expr>, Ident),
}

/// One word that is a method of the call.
pub(crate) struct Method {
    pub(crate) name: Ident,
    pub(crate) argument: proc_macro2::TokenStream,
}

/// `name = value`.
struct Word {
    name: Ident,
    value: Expr,
}

const RULES: &str = "say whose rules this function goes by: `policy = \"interactive\"`, `policy = POLICY`, `gate = GATE` or \
                     `upstream = UPSTREAM`";

/// Those that take an expression as it stands.
const AS_IS: [&str; 6] = ["when", "classify", "classify_by", "hint", "notify", "retries_max"];

impl Parse for Word {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name: Ident = input.parse()?;
        if !input.peek(Token![=]) {
            return Err(Error::new(
                name.span(),
                format!("`{name}` says something: `{name} = ..`"),
            ));
        }
        input.parse::<Token![=]>()?;
        Ok(Self {
            name,
            value: input.parse()?,
        })
    }
}

impl Parse for Words {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let words = Punctuated::<Word, Token![,]>::parse_terminated(input)?;
        let (mut rules, mut methods) = (None, Vec::<Method>::new());
        for Word { name, value } in words {
            let said = name.to_string();
            match said.as_str() {
                "policy" | "gate" | "upstream" => {
                    if rules.replace(read_rules(&said, value)?).is_some() {
                        return Err(Error::new(
                            name.span(),
                            "a function goes by one policy, gate or upstream",
                        ));
                    }
                    continue;
                }
                "deadline" | "total" | "replay" => {}
                known if AS_IS.contains(&known) => {}
                other => return Err(Error::new(name.span(), unknown(other))),
            }
            refuse_twice(&methods, &name)?;
            let argument = match said.as_str() {
                "deadline" | "total" => length(value)?,
                "replay" => replay(&value)?,
                _ => value.into_token_stream(),
            };
            methods.push(Method { name, argument });
        }
        let rules = rules.ok_or_else(|| Error::new(Span::call_site(), RULES))?;
        Ok(Self { rules, methods })
    }
}

fn refuse_twice(methods: &[Method], name: &Ident) -> Result<()> {
    let classifies = |name: &Ident| name == "classify" || name == "classify_by";
    for Method { name: earlier, .. } in methods {
        if earlier == name {
            return Err(Error::new(name.span(), format!("`{name}` is said twice")));
        }
        if classifies(earlier) && classifies(name) {
            return Err(Error::new(
                name.span(),
                "`classify` and `classify_by` say the same thing: say one",
            ));
        }
    }
    Ok(())
}

fn unknown(word: &str) -> String {
    match word {
        "retries" => "a call makes no more retries than its policy; say `retries_max` for fewer".to_owned(),
        "key" => {
            "a key is of one call and not of a function: use `seawall::retry_with(..).key(..)`".to_owned()
        }
        "reject" | "classify_ok" | "hold" => {
            format!("`{word}` changes what a call brings: use `seawall::retry(..).{word}(..)`")
        }
        _ => format!(
            "`{word}` is no word of this attribute; there are policy, gate, upstream, deadline, total, replay, {}",
            AS_IS.join(", ")
        ),
    }
}

fn read_rules(word: &str, value: Expr) -> Result<Rules> {
    match (word, text(&value)) {
        ("policy", Some(name)) => match Preset::named(&name.value()) {
            Some(preset) => Ok(Rules::Preset(Ident::new(variant(preset), name.span()))),
            None => {
                let names = Preset::ALL.map(Preset::name).join(", ");
                let said = name.value();
                Err(Error::new(
                    name.span(),
                    format!("there is no preset `{said}`; there are {names}"),
                ))
            }
        },
        ("policy", None) => Ok(Rules::Of(
            Box::new(value),
            Ident::new("Policy", Span::call_site()),
        )),
        ("gate", None) => Ok(Rules::Of(Box::new(value), Ident::new("Gate", Span::call_site()))),
        (_, None) => Ok(Rules::Of(
            Box::new(value),
            Ident::new("Upstream", Span::call_site()),
        )),
        (_, Some(name)) => Err(Error::new(
            name.span(),
            format!("`{word}` is an expression, as `{word} = self.{word}`; only presets have names"),
        )),
    }
}

const fn variant(preset: Preset) -> &'static str {
    match preset {
        Preset::Default => "Default",
        Preset::Interactive => "Interactive",
        Preset::Batch => "Batch",
        Preset::Writes => "Writes",
        Preset::Off => "Off",
    }
}

fn length(value: Expr) -> Result<proc_macro2::TokenStream> {
    if let Expr::Lit(ExprLit {
        lit: Lit::Int(_) | Lit::Float(_),
        ..
    }) = value
    {
        return Err(Error::new(
            value.span(),
            "a length of time has a unit, as `\"20s\"` or `\"1m30s\"`",
        ));
    }
    let Some(text) = text(&value) else {
        return Ok(value.into_token_stream());
    };
    match Duration::parse_units(&text.value()) {
        Some(Duration::ZERO) => Err(Error::new(
            text.span(),
            format!("`{}` is no time at all: no attempt would be made", text.value()),
        )),
        Some(length) => {
            let nanos = length.as_nanos();
            Ok(quote_spanned!(text.span()=> ::seawall::Duration::from_nanos(#nanos)))
        }
        None => Err(Error::new(
            text.span(),
            format!(
                "`{}` is no length of time, as `20s`, `500ms` or `1m30s`",
                text.value()
            ),
        )),
    }
}

fn replay(value: &Expr) -> Result<proc_macro2::TokenStream> {
    let Some(text) = text(value) else {
        return Ok(quote!(#value));
    };
    let variant = match Replay::named(&text.value()) {
        Some(Replay::Idempotent) => "Idempotent",
        Some(Replay::Keyed) => "Keyed",
        Some(Replay::Declared) => "Declared",
        Some(Replay::Unsafe) => "Unsafe",
        None => {
            let said = text.value();
            return Err(Error::new(
                text.span(),
                format!("`{said}` says nothing of a repeat; there are idempotent, keyed, declared, unsafe"),
            ));
        }
    };
    let variant = Ident::new(variant, text.span());
    Ok(quote!(::seawall::seawall_core::facts::Replay::#variant))
}

fn text(value: &Expr) -> Option<&LitStr> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => Some(text),
        _ => None,
    }
}
