use super::*;
use expect_test::expect;

#[test]
fn an_item_that_went_or_came_is_told() {
    // A snapshot that is compared as a whole says that something changed; a review must see what.
    assert_eq!(difference("pub fn a::b()\n", "pub fn a::b()\n"), None);
    let told = difference(
        "pub fn a::b()\npub fn a::c(u32)\n",
        "pub fn a::b()\npub fn a::c(u64)\n",
    );
    expect![[r#"
        is not the public API of this code; `cargo xtask api` writes it, a review decides:
              - pub fn a::c(u32)
              + pub fn a::c(u64)"#]]
    .assert_eq(&told.unwrap());
}
