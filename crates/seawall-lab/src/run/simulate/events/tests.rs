use super::*;
use std::path::PathBuf;

const DAY: i128 = 86_400_000_000_000;

fn moment(text: &str) -> Option<i128> {
    Moment::parse(text).map(|moment| moment.0)
}

#[test]
fn dates_are_those_of_the_calendar() {
    // Could break around a leap day, at a zone, or by a fraction that is read as a whole number.
    assert_eq!(moment("1970-01-01T00:00:00Z"), Some(0));
    assert_eq!(moment("1970-01-02 00:00:00.5"), Some(DAY + 500_000_000));
    assert_eq!(moment("2000-03-01T00:00:00Z"), Some(11_017 * DAY));
    assert_eq!(
        moment("2024-02-29T12:00:00+01:00"),
        moment("2024-02-29T11:00:00Z")
    );
    assert_eq!(
        moment("2024-03-01T00:30:00-01:30"),
        moment("2024-03-01T02:00:00Z")
    );
    let leap = moment("2024-03-01T00:00:00Z").zip(moment("2024-02-28T00:00:00Z"));
    assert_eq!(leap.map(|(after, before)| after - before), Some(2 * DAY));
    for wrong in [
        "",
        "2024-01-01",
        "2024-1a-01T00:00:00",
        "2024-00-01T00:00:00",
        "2024-01-32T00:00:00",
        "2024-01-01T24:00:00",
        "2024-01-01T00:00:00.1234567890",
        "2024-01-01T00:00:00+1",
        "12024-01-01T00:00:00",
        "2024-01-01-01T00:00:00",
        "2023-02-29T00:00:00",
        "2024-02-30T00:00:00",
        "2024-04-31T00:00:00",
        "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00+00:60",
        "2024-01-01T00:00:00+999999999999999999:00",
        "2024-01-01T00:00:00--1:-1",
    ] {
        assert_eq!(moment(wrong), None, "{wrong}");
    }
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("seawall-events-{}-{name}", std::process::id()));
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
fn a_down_lasts_from_the_first_that_says_so_to_the_next_up() {
    // Could break by a second down that begins anew, by another service's up, or by the file's last
    // moment, which brings nobody up.
    let text = "ts,service,state,code,ms\n\
        2024-10-30T00:00:00Z,other,up,200,1\n\
        2024-10-30T00:00:10Z,mine,down,0,0\n\
        2024-10-30T00:00:20Z,mine,down,0,0\n\
        2024-10-30T00:00:25Z,other,up,200,1\n\
        2024-10-30T00:00:40Z,mine,up,200,1\n\
        2024-10-30T00:01:00Z,mine,down,0,0\n\
        2024-10-30T00:01:30Z,other,down,0,0\n";
    let path = file("downs", text);
    let secs = Duration::from_secs;
    assert_eq!(
        read(&path, "mine"),
        Ok(vec![(secs(10), Some(secs(30))), (secs(60), None)])
    );
    let known = BTreeSet::from(["mine".to_owned(), "other".to_owned()]);
    assert_eq!(read(&path, "thine"), Err(Failure::Service { known }));
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn a_file_of_events_that_cannot_be_read_says_where() {
    // Could break by an event that is passed over: an outage would last until the next one.
    for (text, told) in [
        ("ts,state\n", ":1: the first line names no column `service`"),
        ("ts,service,state\nnow,a,up\n", ":2: `now` is no time"),
        (
            "ts,service,state\n2024-10-30T00:00:00Z,a,sideways\n",
            ":2: `sideways` is neither up nor down",
        ),
        ("ts,service,state\n", "no event is in this file"),
        (
            "ts,service,state\n2024-10-30T00:00:10Z,a,down\n2024-10-30T00:00:00Z,b,up\n2024-10-30T00:00:05Z,a,up\n",
            ":4: 2024-10-30T00:00:05Z is before the event of a above it; sort the rows by `ts`, the oldest first",
        ),
        (
            "ts,service,state,ts\n2024-10-30T00:00:10Z,a,down,2024-10-30T00:00:10Z\n",
            ":1: the first line names the column `ts` twice; keep the one that is meant",
        ),
    ] {
        let path = file("wrong", text);
        match read(&path, "a") {
            Err(Failure::File(why)) => assert!(why.contains(told), "{why}"),
            other => panic!("{text}: {other:?}"),
        }
        std::fs::remove_file(path).expect("it is there");
    }
}
