use super::*;
use crate::repo::File;

#[test]
fn a_block_is_read_as_commands_and_what_they_print() {
    // Could break if a continued line, an exit code or a block of another kind were taken for output.
    let page = "\
text
```sh
$ not ours
```
````text
```console
$ quoted, not shown
```
````
```console
$ seawall explain \\
    --status 429
one
two
$ seawall check x
? 2
three
? 7
```
";
    let blocks = blocks("a.md", page).expect("a right document");
    let step = |line, command: &str, exit, expected: &str| Step {
        line,
        command: command.to_owned(),
        exit,
        expected: expected.to_owned(),
    };
    let steps = vec![
        step(11, "seawall explain --status 429", 0, "one\ntwo\n"),
        step(15, "seawall check x", 2, "three\n? 7\n"),
    ];
    assert_eq!(
        blocks,
        [Block {
            path: "a.md".to_owned(),
            line: 10,
            steps
        }]
    );
}

#[test]
fn a_block_that_nobody_would_check_is_an_error() {
    // Could break if an open block, or output above the first command, were dropped in silence.
    for page in ["```console\n$ seawall x\n", "```console\nout\n$ seawall x\n```\n"] {
        assert!(blocks("a.md", page).is_err(), "{page}");
    }
}

#[test]
fn a_command_is_split_as_a_shell_would() {
    // Could break if quotes inside a word, or empty words, were lost.
    let split = |text: &str| split(text).map(|words| words.join("|"));
    for (text, words) in [
        ("a  b", "a|b"),
        ("a 'b c' d", "a|b c|d"),
        ("--h='N: V'x", "--h=N: Vx"),
        ("a '' b", "a||b"),
        (r#"a "b \" c" d\ e"#, "a|b \" c|d e"),
        (r"a 'b\'", r"a|b\"),
    ] {
        assert_eq!(split(text).as_deref(), Some(words), "{text}");
    }
    for text in ["a 'b", "a \"b", "a \\"] {
        assert_eq!(split(text), None, "{text}");
    }
}

#[test]
fn wildcards_take_what_they_should_and_no_more() {
    // Could break if `...` took a part of a line, or `[..]` went over a line's end.
    for (expected, actual, fit) in [
        ("a\nb\n", "a\nb\n\n", true),
        ("a\n", "a\nb\n", false),
        ("a\nb\n", "a\n", false),
        ("", "", true),
        ("", "a\n", false),
        ("a[..]z", "abcz", true),
        ("a[..]z", "az", true),
        ("a[..]z", "abc", false),
        ("a[..]b[..]b", "ab", false),
        ("a[..]z", "a\nz", false),
        ("[..]b[..]", "abc", true),
        ("...", "", true),
        ("...\nz", "a\nb\nz", true),
        ("a\n...\nz", "a\nz", true),
        ("a\n...\nz", "a\nz\nz", true),
        ("a\n...\nz", "a\nb", false),
        ("a\n...", "b\na", false),
        ("...\na\n...\nb\n...", "x\na\ny\nb", true),
    ] {
        assert_eq!(fits(expected, actual), fit, "{expected:?} {actual:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_command_that_prints_or_ends_otherwise_is_a_failure() {
    // Could break if the exit code or standard error were not looked at, or foreign commands were run.
    let repo = Repo::of(Vec::new());
    let check = |text: &str| {
        let page = format!("```console\n{text}```\n");
        let block = blocks("a.md", &page).expect("a right document").remove(0);
        run(&repo, Path::new("/bin/sh"), &block).expect("a shell runs")
    };
    let good = check("$ seawall -c 'echo out; echo err >&2; exit 3'\n? 3\nout\nerr\n$ rm -rf x\n");
    assert_eq!((good.ran, good.skipped, good.failures), (1, 1, Vec::new()));
    for bad in [
        "$ seawall -c 'exit 3'\n",
        "$ seawall -c 'echo out'\nother\n",
        "$ seawall -c 'echo err >&2'\n",
        "$ seawall -c 'kill -9 $$'\n",
        "$ seawall -c 'echo out\nout\n",
    ] {
        assert_eq!(check(bad).failures.len(), 1, "{bad}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_shown_and_not_run_is_a_failure() {
    // Could break if a foreign command's output went unchecked, or if a reader of files left its folder.
    let repo = Repo::of(Vec::new());
    let check = |text: &str| {
        let page = format!("```console\n{text}```\n");
        let block = blocks("a.md", &page).expect("a right document").remove(0);
        let ran = run(&repo, Path::new("/bin/sh"), &block).expect("a shell runs");
        (ran.ran, ran.skipped, ran.failures.len())
    };
    assert_eq!(
        check("$ seawall -c 'echo one >a; echo two >>a'\n$ cat a\none\ntwo\n$ head -n 1 a\none\n"),
        (3, 0, 0)
    );
    for outside in ["/etc/hosts", "../a", "~/a"] {
        assert_eq!(check(&format!("$ cat {outside}\n")), (0, 1, 0), "{outside}");
    }
    assert_eq!(check("$ kill %1\n"), (0, 1, 0));
    assert_eq!(check("$ ls\na\n"), (0, 1, 1));
}

#[cfg(unix)]
#[test]
fn a_server_goes_on_beside_the_commands_below_it_and_ends_with_its_block() {
    // Could break if the written address were asked, which anybody may hold, or if each check left a server behind.
    let repo = Repo::of(Vec::new());
    let page = "\
```console
$ seawall -c 'echo $$ $1 at http://127.0.0.1:40001; exec tail -f /dev/null' \\
    --listen 127.0.0.1:9000 &
[..] 127.0.0.1:0 at http://127.0.0.1:9000
$ seawall -c 'echo ${0##*:}; echo $0' http://127.0.0.1:9000/x
40001/x
http://127.0.0.1:9000/x
$ curl http://192.0.2.1/
$ seawall -c 'echo why >&2; exit 3' &
? 3
why
```
";
    let run = |page: &str| {
        let block = blocks("a.md", page).expect("a right document").remove(0);
        run(&repo, Path::new("/bin/sh"), &block).expect("a shell runs")
    };
    let ran = run(page);
    assert_eq!((ran.ran, ran.skipped, ran.failures), (3, 1, Vec::new()));
    let ran = run(&page.replacen("[..] 127", "other 127", 1));
    assert_eq!(ran.failures.len(), 1);
    let printed = ran.failures[0].detail.lines().last().expect("what it printed");
    let id = printed.split(' ').next().expect("its process");
    let alive = Command::new("/bin/sh")
        .args(["-c", "kill -0 $0 2>/dev/null", id])
        .status()
        .expect("a shell runs");
    assert!(!alive.success(), "{printed}");
}

#[test]
fn only_readme_and_docs_are_shown() {
    // Could break if the blocks of a changelog or a test were run.
    let block = "```console\n$ seawall x\n```\n";
    let files = ["README.md", "docs/a.md", "CHANGELOG.md", "docs/a.txt"];
    let repo = Repo::of(files.iter().map(|path| File::new(path, block)).collect());
    assert_eq!(blocks_of(&repo).expect("right documents").len(), 2);
}

#[cfg(unix)]
#[test]
fn a_picture_is_what_its_page_draws_and_no_picture_is_left_over() {
    // Could break if a page showed what a command drew long ago, what no command draws, or if an unseen file were kept.
    let page = "\
![load](figures/a/load.svg) ![other](figures/b.svg), [a link](other.md)
```console
$ seawall -c 'mkdir -p figures/a; printf new >figures/a/load.svg; printf x >figures/a/unseen.svg'
```
";
    let repo = |there: &str| {
        Repo::of(vec![
            File::new("docs/guide/a.md", page),
            File::new("docs/guide/figures/a/load.svg", there),
            File::new("docs/guide/figures/c.svg", "kept"),
        ])
    };
    let fresh = repo("new");
    let block = blocks_of(&fresh).expect("a right document").remove(0);
    let ran = run(&fresh, Path::new("/bin/sh"), &block).expect("a shell runs");
    assert_eq!(ran.failures, Vec::new());
    let [picture] = ran.drawn.as_slice() else {
        panic!("{:?}", ran.drawn)
    };
    assert_eq!(picture.path, "docs/guide/figures/a/load.svg");
    assert!(figures::stands(&fresh, picture) && !figures::stands(&repo("old"), picture));
    let drawn = [picture.path.clone()].into();
    let left = figures::left_over(&fresh, &drawn);
    let named = |path: &str| left.iter().filter(|finding| finding.starts_with(path)).count();
    assert_eq!(
        (
            left.len(),
            named("docs/guide/figures/b.svg"),
            named("docs/guide/figures/c.svg")
        ),
        (2, 1, 1),
        "{left:?}"
    );
}
