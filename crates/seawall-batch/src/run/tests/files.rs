//! Names: which file is which, and who may write it.

use super::*;

#[test]
fn one_file_is_never_both_read_and_written() {
    // Could break: another spelling or a link of the same file.
    let dir = Dir::new();
    let good = options(&dir, &MIXED);
    let input = good.inputs[0].clone();
    let around = dir
        .path("../")
        .join(input.parent().unwrap().file_name().unwrap())
        .join("in.jsonl");
    let link = dir.path("link.jsonl");
    fs::hard_link(&input, &link).unwrap();
    for out in [input.clone(), around, link] {
        for options in [
            Options {
                out: out.clone(),
                ..good.clone()
            },
            Options {
                errors: Some(out.clone()),
                ..good.clone()
            },
        ] {
            assert_eq!(go(&options, &Fake::default()).unwrap_err().exit(), Exit::Usage);
        }
    }
    let both = Options {
        errors: Some(good.out.clone()),
        ..good.clone()
    };
    assert_eq!(go(&both, &Fake::default()).unwrap_err().exit(), Exit::Usage);
    assert_eq!(read(&input), rows(&MIXED));
}

#[test]
fn names_that_are_no_file_are_refused_before_anything_is_made() {
    // Could break: `-` as a file of that name; state beside /dev/stdout where that leads to a regular file; an input
    // named twice told row by row.
    let dir = Dir::new();
    let good = options(&dir, &MIXED);
    let with_slash = dir.path("new.jsonl/");
    for out in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "."]
        .map(std::path::PathBuf::from)
        .into_iter()
        .chain([with_slash])
    {
        let options = Options {
            out: out.clone(),
            ..good.clone()
        };
        let error = go(&options, &Fake::default()).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage, "{}: {error}", out.display());
    }
    assert!(!dir.path("new.jsonl.seawall").exists());
    let twice = Options {
        inputs: vec![good.inputs[0].clone(), good.inputs[0].clone()],
        ..good.clone()
    };
    let error = go(&twice, &Fake::default()).unwrap_err();
    assert!(error.to_string().ends_with("so name it once"), "{error}");
    let stream = Options {
        inputs: vec!["-".into()],
        ..good
    };
    assert_eq!(go(&stream, &Fake::default()).unwrap_err().exit(), Exit::Usage);
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_stay_apart() {
    // Could break: two outputs whose names differ in bytes that are not UTF-8, and one state directory for both.
    use std::os::unix::ffi::OsStrExt as _;
    let out = |bytes: &[u8]| Options::new(Vec::new(), std::ffi::OsStr::from_bytes(bytes).into());
    let (one, other) = (out(b"a\xff.jsonl"), out(b"a\xfe.jsonl"));
    assert_ne!(one.state_dir(), other.state_dir());
    assert_ne!(one.errors_path(), other.errors_path());
}

#[test]
fn two_runs_never_share_an_output() {
    // Could break: a lock that is a file's existence (stale after a kill) or not taken at all.
    let dir = Dir::new();
    let options = options(&dir, &MIXED);
    let mut scan = input::scan(&options.inputs, &options.rules()).unwrap();
    let held = state::hold(&options, &mut scan).unwrap();
    let error = go(&options, &Fake::default()).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(
        error
            .to_string()
            .contains(&format!("process {}", std::process::id())),
        "{error}"
    );
    drop(held);
    assert!(go(&options, &Fake::default()).is_ok());
}

#[test]
fn two_outputs_never_share_an_error_file_or_one_file_by_two_names() {
    // Could break: each run locks beside its own output, and writes at its own place in the shared file.
    let dir = Dir::new();
    let first = Options {
        errors: Some(dir.path("shared.jsonl")),
        ..options(&dir, &MIXED)
    };
    let mut scan = input::scan(&first.inputs, &first.rules()).unwrap();
    let held = state::hold(&first, &mut scan).unwrap();
    let link = dir.path("link.jsonl");
    fs::hard_link(&first.out, &link).unwrap();
    for existing in [
        Existing::Continue,
        Existing::Adopt,
        Existing::Fresh,
        Existing::Overwrite,
    ] {
        for (out, errors) in [
            (dir.path("other.jsonl"), first.errors.clone()),
            (link.clone(), None),
        ] {
            let second = Options {
                out,
                errors,
                existing,
                ..first.clone()
            };
            let error = go(&second, &Fake::default()).unwrap_err();
            assert!(matches!(error, BatchError::Locked { .. }), "{error}");
        }
    }
    assert!(first.out.exists() && link.exists());
    drop(held);
    assert!(go(&first, &Fake::default()).is_ok());
}
