use super::*;

#[test]
fn colour_is_for_terminals_that_want_it() {
    // Escape codes in a log file, or in spite of NO_COLOR, are noise that somebody has to filter out again.
    let os = |text: &'static str| Some(OsStr::new(text));
    for (color, terminal, no_color, term, expected) in [
        (Color::Auto, true, None, os("xterm"), Paint::Colored),
        (Color::Auto, true, None, None, Paint::Colored),
        (Color::Auto, true, os(""), None, Paint::Colored),
        (Color::Auto, true, os("1"), None, Paint::Plain),
        (Color::Auto, true, None, os("dumb"), Paint::Plain),
        (Color::Auto, false, None, os("xterm"), Paint::Plain),
        (Color::Never, true, None, os("xterm"), Paint::Plain),
        (Color::Always, false, os("1"), os("dumb"), Paint::Colored),
    ] {
        let painted = paint(color, terminal, no_color, term);
        assert_eq!(painted, expected, "{color:?} {terminal} {no_color:?} {term:?}");
    }
}

#[test]
fn what_a_terminal_would_obey_is_not_said() {
    // Could break by an error that names a path as it is: its bytes would move the cursor, or set a title.
    let said = harmless("/tmp/\u{1b}[31mred\u{9b}2J\u{7}.toml:1:2: one\n\ttwo \u{fc}");
    assert_eq!(
        said,
        "/tmp/\u{fffd}[31mred\u{fffd}2J\u{fffd}.toml:1:2: one\n\ttwo \u{fc}"
    );
}
