//! A function as a call: what it says stays, what it does becomes an attempt.
//!
//! What can go wrong: an error in code that nobody wrote. So what is wrong with the function is said here, where it is
//! written, and generated code has the span of what it was made of.

use crate::words::{Method, Rules, Words};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{
    Error, FnArg, GenericArgument, ItemFn, Pat, PathArguments, Receiver, ReceiverKind, Result, ReturnType,
    Signature, Type, TypePath,
};

/// The function as a call; or what is wrong, and the function as it was, so that nobody is told of more than that.
pub(crate) fn expand(words: TokenStream, function: TokenStream) -> TokenStream {
    match expanded(words, function.clone()) {
        Ok(expanded) => expanded,
        Err(error) => {
            let error = error.into_compile_error();
            quote!(#error #function)
        }
    }
}

fn expanded(words: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let said = words.clone();
    let words: Words = syn::parse2(words)?;
    let function: ItemFn = syn::parse2(function).map_err(|error| {
        Error::new(
            error.span(),
            format!("this attribute is for functions with a body: {error}"),
        )
    })?;
    let ItemFn {
        attrs,
        vis,
        mut sig,
        block,
        ..
    } = function;
    let end = End::of(&sig)?;
    refuse_what_cannot_be_again(&sig)?;
    let attempts = Attempts {
        own: arguments(&mut sig, &said),
        block: as_generated(block.to_token_stream()),
        methods: words.methods,
    };
    // Wherever the function was written, by a macro too, this name is its own.
    let rules = Ident::new("__seawall_rules", Span::mixed_site());
    let bound = bound(&rules, words.rules);
    let call = match sig.asyncness {
        Some(_) => attempts.awaited(&rules, &end),
        None => attempts.on_a_thread(&rules, &end),
    };
    let ended = match end.told {
        Told::Whole => call,
        Told::AsItsOwn => quote_spanned!(end.span=> ::seawall::retry::ended_as_own(#call)),
    };
    Ok(quote! {
        #(#attrs)* #vis #sig {
            #bound
            #ended
        }
    })
}

/// What the call is made of.
struct Attempts {
    /// Where each attempt gets its arguments.
    own: TokenStream,
    block: TokenStream,
    methods: Vec<Method>,
}

impl Attempts {
    fn awaited(self, rules: &Ident, end: &End) -> TokenStream {
        let Self { own, block, .. } = &self;
        let attempt = &end.attempt;
        // It is never made: it says what the block returns, for `return` and `?` in it.
        let typed = end.can_be_named.then(|| {
            quote_spanned! {end.span=>
                #[allow(
                    unknown_lints, unreachable_code, clippy::diverging_sub_expression, clippy::empty_loop,
                    clippy::needless_return, clippy::let_unit_value, clippy::unreachable,
                    reason = "it is never made, and types the block"
                )]
                if false {
                    let __seawall_attempt: #attempt = loop {};
                    return __seawall_attempt;
                }
            }
        });
        let methods = self.methods();
        quote_spanned! {end.span=>
            ::seawall::retry(|| { #own async move { #typed #block } }, #rules) #methods.await
        }
    }

    fn on_a_thread(self, rules: &Ident, end: &End) -> TokenStream {
        let Self { own, block, .. } = &self;
        let attempt = &end.attempt;
        let typed = end.can_be_named.then(|| quote!(-> #attempt));
        let methods = self.methods();
        quote_spanned! {end.span=>
            ::seawall::blocking::retry(|| #typed { #own #block }, #rules) #methods.call()
        }
    }

    fn methods(&self) -> TokenStream {
        let methods = self.methods.iter();
        methods
            .map(|Method { name, argument }| quote!(.#name(#argument)))
            .collect()
    }
}

/// The block of a function that is now inside another one. Where it is one line, its braces would be called unnecessary if
/// they counted as written there.
fn as_generated(block: TokenStream) -> TokenStream {
    let generated = |token| match token {
        TokenTree::Group(mut group) => {
            group.set_span(group.span().resolved_at(Span::mixed_site()));
            TokenTree::Group(group)
        }
        other => other,
    };
    block.into_iter().map(generated).collect()
}

/// Binds what the call goes by to this name.
fn bound(name: &Ident, rules: Rules) -> TokenStream {
    match rules {
        Rules::Preset(preset) => quote! {
            static __SEAWALL_POLICY: ::seawall::Policy = ::seawall::Policy::preset(::seawall::Preset::#preset);
            let #name = &__SEAWALL_POLICY;
        },
        // Whatever derefs to it comes as it.
        Rules::Of(value, kind) => quote_spanned! {value.span()=>
            #[allow(clippy::borrow_deref_ref, clippy::needless_borrow, reason = "it may be one already")]
            let #name: &::seawall::#kind = &(#value);
        },
    }
}

/// How the function tells of its end.
struct End {
    /// What one attempt returns.
    attempt: TokenStream,
    told: Told,
    /// Whether the compiler takes the type of an attempt in a body.
    can_be_named: bool,
    /// Where the function says it: what is wrong about the end as a whole is told there.
    span: Span,
}

enum Told {
    /// It returns a `RetryError`.
    Whole,
    /// It returns an error of its own, that is made of a `RetryError`.
    AsItsOwn,
}

impl End {
    fn of(sig: &Signature) -> Result<Self> {
        let output = match &sig.output {
            ReturnType::Type(_, output) => output,
            ReturnType::Default => {
                let message = "returns nothing: what can be called again returns a `Result`";
                return Err(Error::new(sig.ident.span(), message));
            }
        };
        if let Some(message) = refused_output(output) {
            return Err(Error::new(output.span(), message));
        }
        let (attempt, told) = match in_retry_error(output) {
            Some((answer, error)) => (quote!(::core::result::Result<#answer, #error>), Told::Whole),
            None => (output.to_token_stream(), Told::AsItsOwn),
        };
        let can_be_named = !holds_impl(attempt.clone());
        Ok(Self {
            attempt,
            told,
            can_be_named,
            span: output.span(),
        })
    }
}

/// Why no attempt can return this. A name that says nothing may be that of a `Result`.
fn refused_output(output: &Type) -> Option<&'static str> {
    const FUTURE: &str = "returns a future: write it as an `async fn`";
    const NO_RESULT: &str = "is no `Result`: nothing tells an attempt that failed from one that did not";
    match output {
        Type::ImplTrait(_) => Some(FUTURE),
        Type::Path(TypePath { path, .. }) => {
            let last = path.segments.last()?.ident.to_string();
            match &*last {
                "Pin" | "BoxFuture" | "LocalBoxFuture" => Some(FUTURE),
                "Option" | "Vec" | "String" | "bool" => Some(NO_RESULT),
                _ => None,
            }
        }
        Type::Tuple(_) | Type::Reference(_) | Type::Array(_) => Some(NO_RESULT),
        _ => None,
    }
}

/// `T` and `E` of a `Result<T, RetryError<E>>`.
fn in_retry_error(output: &Type) -> Option<(TokenStream, TokenStream)> {
    let [answer, error] = &arguments_of(output, "Result")?[..] else {
        return None;
    };
    let GenericArgument::Type(error) = error else {
        return None;
    };
    let [error] = &arguments_of(error, "RetryError")?[..] else {
        return None;
    };
    Some((answer.to_token_stream(), error.to_token_stream()))
}

/// The generic arguments of a type whose path ends in `name`.
fn arguments_of<'t>(of: &'t Type, name: &str) -> Option<Vec<&'t GenericArgument>> {
    let Type::Path(TypePath { path, .. }) = of else {
        return None;
    };
    let last = path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if last.ident == name => {
            Some(arguments.args.iter().collect())
        }
        PathArguments::AngleBracketed(_) | PathArguments::Parenthesized(_) | PathArguments::None => None,
    }
}

fn holds_impl(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "impl",
        TokenTree::Group(group) => holds_impl(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

fn refuse_what_cannot_be_again(sig: &Signature) -> Result<()> {
    if let Some(constness) = &sig.constness {
        let message = "a `const fn` fails at once and for good: there is nothing to wait for";
        return Err(Error::new(constness.span(), message));
    }
    let mut wrong: Option<Error> = None;
    let mut refuse = |error: Error| match &mut wrong {
        Some(earlier) => earlier.combine(error),
        None => wrong = Some(error),
    };
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                if let Some(message) = refused_receiver(receiver, sig.asyncness.is_some()) {
                    refuse(Error::new(receiver.span(), message));
                }
            }
            FnArg::Typed(argument) => {
                if sig.asyncness.is_some() && is_exclusive(&argument.ty) {
                    let message =
                        "two attempts would share this `&mut`: take it by `&`, or use `seawall::retry`";
                    refuse(Error::new(argument.ty.span(), message));
                }
            }
        }
    }
    wrong.map_or(Ok(()), Err)
}

/// Why attempts cannot have this `self`.
fn refused_receiver(receiver: &Receiver, is_async: bool) -> Option<&'static str> {
    const BY_VALUE: &str = "the first attempt would take `self` with it: take `&self`";
    const EXCLUSIVE: &str = "two attempts would share this `&mut self`: take `&self`";
    match &receiver.kind {
        ReceiverKind::Value => Some(BY_VALUE),
        ReceiverKind::Reference(_, _, Some(_)) if is_async => Some(EXCLUSIVE),
        ReceiverKind::Reference(..) => None,
        ReceiverKind::Typed(_, of) => match &**of {
            Type::Reference(of) if is_async && of.mutability.is_some() => Some(EXCLUSIVE),
            Type::Reference(_) => None,
            _ => Some(BY_VALUE),
        },
        _ => Some(BY_VALUE),
    }
}

fn is_exclusive(of: &Type) -> bool {
    matches!(of, Type::Reference(of) if of.mutability.is_some())
}

/// Names each argument, and says how an attempt comes by its own.
fn arguments(sig: &mut Signature, said: &TokenStream) -> TokenStream {
    let mut own = TokenStream::new();
    for (number, input) in sig.inputs.iter_mut().enumerate() {
        let FnArg::Typed(argument) = input else {
            continue;
        };
        let name = match &*argument.pat {
            Pat::Ident(simple) if simple.subpat.is_none() && simple.by_ref.is_none() => simple.ident.clone(),
            Pat::Wild(_) => continue,
            _ => Ident::new(&format!("__seawall_argument_{number}"), Span::mixed_site()),
        };
        if names(said.clone(), &name) {
            // What the attribute uses, the body need not.
            own.extend(quote!(#[allow(unused_variables, reason = "the attribute uses it")]));
        }
        own.extend(own_argument(&name, &argument.pat, &argument.ty));
        *argument.pat = syn::parse_quote!(#name);
    }
    own
}

/// Whether `name` stands anywhere in these tokens.
fn names(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == *name,
        TokenTree::Group(group) => names(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

fn own_argument(name: &Ident, pattern: &Pat, of: &Type) -> TokenStream {
    let span = of.span();
    if is_exclusive(of) {
        return quote_spanned!(span=> let #pattern = &mut *#name;);
    }
    quote_spanned!(span=> let #pattern = ::core::clone::Clone::clone(&#name);)
}

#[cfg(test)]
mod tests;
