use super::*;
use serde_json::json;

#[test]
fn every_value_of_a_table_has_a_row_and_neighbours_that_are_alike_share_theirs() {
    // Could break by a nested value that is dropped, or by shards that are told a hundred times.
    let Value::Object(table) = json!({
        "horizon": "10s",
        "load": { "rate": 10, "bursts": [] },
        "server": [{ "workers": 2 }, { "workers": 2 }, { "workers": 3 }],
        "layer": [{ "name": "edge" }],
    }) else {
        panic!("a table");
    };
    let rows: Vec<String> = of_table(&table)
        .into_iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    assert_eq!(
        rows,
        [
            "horizon = 10s",
            "layer.name = edge",
            "load.bursts = none",
            "load.rate = 10",
            "server 1 to 2.workers = 2",
            "server 3.workers = 3",
        ]
    );
}

#[test]
fn a_list_without_end_is_cut_and_says_so() {
    // Could break by a page of a million rows.
    let list: Vec<Value> = (0..1_000).map(|number| json!(number)).collect();
    let mut rows = Vec::new();
    add_list(&mut rows, "outages", &list);
    assert_eq!(rows.len(), LISTED_MAX + 1);
    assert_eq!(rows[LISTED_MAX].1, "and 988 more, in --json");
}
