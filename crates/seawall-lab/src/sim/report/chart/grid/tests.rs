use super::*;
use serde_json::json;

fn shape(table: &Value) -> Option<Shape> {
    let rows: Vec<&Row> = table
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(Value::as_object)
        .collect();
    Shape::of(&rows)
}

#[test]
fn a_grid_is_drawn_over_what_it_is_made_over() {
    // Could break by a figure that is taken for what the grid is made over, or by a deviation that is drawn as a figure.
    let mut rows = Vec::new();
    for clients in [10, 20, 50, 100] {
        for (nth, strategy) in ["none", "full"].into_iter().enumerate() {
            let calls = f64::from(clients) * 3.7 + f64::from(u32::try_from(nth).expect("few"));
            rows.push(
                json!({"clients": clients, "strategy": strategy, "calls": calls, "sd_calls": calls / 9.0}),
            );
        }
    }
    let drawn = shape(&Value::Array(rows)).expect("a grid");
    assert_eq!(
        (drawn.x.as_str(), drawn.values, drawn.sheets),
        ("clients", vec!["calls".to_owned()], vec![])
    );
    let mut rows = Vec::new();
    for (tries, depth) in [(3, 5), (4, 3)] {
        for p in [0.5, 0.9, 0.99, 1.0] {
            rows.push(json!({"tries": tries, "depth": depth, "p": p, "leaf_calls": p * f64::from(tries * depth) + p}));
        }
    }
    let drawn = shape(&Value::Array(rows)).expect("a grid");
    assert_eq!(
        (drawn.x.as_str(), drawn.values),
        ("p", vec!["leaf_calls".to_owned()])
    );
    assert_eq!(drawn.lines, ["depth", "tries"]);
}

#[test]
fn a_grid_with_two_conditions_has_a_picture_for_each_of_one() {
    // Could break by lines that cross each other's conditions.
    let mut rows = Vec::new();
    let mut peak = 40.0;
    for down in [1, 30] {
        for base in [0.1, 0.2, 0.5, 1.0, 2.0] {
            for strategy in ["plain", "full", "equal", "decorrelated"] {
                peak += 1.5;
                rows.push(json!({"base_s": base, "down_s": down, "strategy": strategy, "peak": peak}));
            }
        }
    }
    let table = Value::Array(rows);
    let pictures = all(&table, Setting::File);
    assert_eq!(pictures.len(), 2);
    assert!(pictures[0].1.contains("peak by base_s, down_s 1"));
    assert!(pictures[1].1.contains("peak by base_s, down_s 30"));
    // A line and its sample in the legend for each of four strategies.
    for kind in 0..4 {
        assert_eq!(pictures[0].1.matches(&format!("s-k{kind}\"")).count(), 2);
    }
    assert!(!pictures[0].1.contains("s-k4\""));
}

#[test]
fn what_is_no_grid_is_not_drawn() {
    // Could break by a line through figures that belong to nothing.
    for table in [
        json!([]),
        json!([{"a": 1}]),
        json!([{"a": "x", "b": 2}, {"a": "y", "b": 3}]),
        json!([{"a": 1, "b": 2}, {"a": 1, "b": 3}]),
    ] {
        assert_eq!(shape(&table), None, "{table}");
    }
}
