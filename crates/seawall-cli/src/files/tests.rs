use super::*;

#[test]
fn a_file_that_cannot_take_its_place_leaves_no_part() {
    // Could break by a rename that fails after all was written: a page of megabytes would stay under a hidden name.
    let folder = std::env::temp_dir().join(format!("seawall-part-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let error = write_whole("--html", &folder.join("none/"), "text").unwrap_err();
    let left: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    fs::remove_dir_all(&folder).unwrap();
    assert!(error.to_string().contains("name a place in a folder"), "{error}");
    assert!(left.is_empty(), "{left:?}");
}
