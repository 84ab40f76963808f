use super::*;

/// Relative luminance, as WCAG 2 defines it.
fn luminance(colour: &str) -> f64 {
    let part = |from: usize| {
        let value = f64::from(u8::from_str_radix(&colour[from..from + 2], 16).expect("a colour")) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a colour, 0 to 255"
)]
fn whole(part: f64) -> u8 {
    part.round() as u8
}

/// What is seen where one colour lies on another, so opaque.
fn over(top: &str, bottom: &str, opaque: f64) -> String {
    let part = |from: usize| {
        let of = |colour: &str| f64::from(u8::from_str_radix(&colour[from..from + 2], 16).expect("a colour"));
        format!("{:02x}", whole(of(top) * opaque + of(bottom) * (1.0 - opaque)))
    };
    format!("#{}{}{}", part(1), part(3), part(5))
}

#[test]
fn whatever_must_be_told_apart_is_by_its_brightness_on_paper_and_in_the_dark() {
    // Could break by a colour that is changed for its beauty. WCAG 2.2: 4.5 for text (1.4.3), 3 for graphics (1.4.11).
    let text = [
        (Ink::Text, Ink::Surface),
        (Ink::Muted, Ink::Surface),
        (Ink::Answers, Ink::Surface),
        (Ink::OutageEdge, Ink::Surface),
        (Ink::Text, Ink::Load),
        (Ink::Text, Ink::Outage),
        (Ink::Muted, Ink::Load),
        (Ink::Muted, Ink::Outage),
    ];
    let mut graphics = vec![
        (Ink::LoadEdge, Ink::Surface),
        (Ink::LoadEdge, Ink::Load),
        (Ink::LoadEdge, Ink::Outage),
        (Ink::Answers, Ink::Load),
        (Ink::Answers, Ink::Outage),
        (Ink::Answers, Ink::Grid),
        (Ink::OutageEdge, Ink::Outage),
        (Ink::OutageEdge, Ink::Load),
        (Ink::Axis, Ink::Surface),
    ];
    for kind in 0..KINDS {
        graphics.push((Ink::Kind(kind), Ink::Surface));
        graphics.push((Ink::Kind(kind), Ink::Outage));
    }
    for colours in [Ink::on_paper, Ink::in_the_dark] {
        for (least, pairs) in [(4.5, &text[..]), (3.0, &graphics)] {
            for (one, other) in pairs {
                let contrast = contrast(colours(*one), colours(*other));
                assert!(
                    contrast >= least,
                    "{one:?} on {other:?}: {contrast:.2}, at least {least}"
                );
            }
        }
        // The line of answers on the band of its seeds, itself on load or on the page.
        for below in [Ink::Load, Ink::Surface] {
            let band = over(colours(Ink::Answers), colours(below), 0.18);
            let contrast = contrast(colours(Ink::Answers), &band);
            assert!(
                contrast >= 3.0,
                "answers on their band over {below:?}: {contrast:.2}"
            );
        }
    }
}

#[test]
fn kinds_differ_by_more_than_colour_and_every_colour_has_one_for_the_dark() {
    // Could break by a seventh kind that has the dash of the first, by two inks of one class.
    let style = dark_style();
    let all: Vec<Ink> = Ink::PLAIN.into_iter().chain((0..KINDS).map(Ink::Kind)).collect();
    for (nth, ink) in all.iter().enumerate() {
        assert!(style.contains(&format!(".f-{}{{fill:{}}}", ink.class(), ink.in_the_dark())));
        assert!(
            all[..nth].iter().all(|other| other.class() != ink.class()),
            "{ink:?}"
        );
    }
    for kind in 0..KINDS {
        for other in 0..kind {
            assert_ne!(Ink::Kind(kind).dash(), Ink::Kind(other).dash());
            assert_ne!(Ink::Kind(kind).on_paper(), Ink::Kind(other).on_paper());
        }
    }
}
