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
