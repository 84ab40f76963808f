//! The attribute of the crate `seawall`, which re-exports it: use it from there.

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, parse_macro_input};

/// Placeholder
#[proc_macro_attribute]
pub fn retry(_words: TokenStream, function: TokenStream) -> TokenStream {
    let function = parse_macro_input!(function as ItemFn);
    quote!(#function).into()
}
