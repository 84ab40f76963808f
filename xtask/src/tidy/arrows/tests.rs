use super::*;
use serde_json::json;

fn workspace(name: &str, dependencies: &Value, features: &Value) -> Value {
    let ours = ROWS.iter().filter(|row| row.name != name).map(|row| {
        let publish = if row.reach == Reach::Here {
            json!([])
        } else {
            Value::Null
        };
        json!({"name": row.name, "dependencies": [], "features": {}, "publish": publish})
    });
    let mut packages: Vec<Value> = ours.collect();
    packages.push(json!({"name": name, "dependencies": dependencies, "features": features, "publish": null}));
    json!({ "packages": packages })
}

fn said(name: &str, dependencies: &Value, features: &Value) -> Vec<String> {
    findings(&workspace(name, dependencies, features))
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn an_arrow_the_wrong_way_is_found() {
    // Could break if development dependencies or optional ones were not looked at.
    let none = json!({});
    let lab = json!([{"name": "seawall-lab", "kind": "dev", "optional": false}]);
    assert_eq!(
        said("seawall", &lab, &none),
        ["seawall: may not depend on seawall-lab, not even in its tests"]
    );
    let live = json!([{"name": "seawall", "kind": null, "optional": true}]);
    assert_eq!(
        said("seawall-core", &live, &none),
        ["seawall-core: may not depend on seawall"]
    );
    let batch = json!([{"name": "seawall-batch", "kind": null, "optional": false}]);
    assert_eq!(said("seawall-gateway", &batch, &none).len(), 1);
}

#[test]
fn allowed_arrows_and_strangers_are_left_alone() {
    // Could break if a crate from the registry were taken for one of ours.
    let dependencies = json!([
        {"name": "seawall-core", "kind": null, "optional": false},
        {"name": "seawall-lab", "kind": "dev", "optional": false},
        {"name": "serde_json", "kind": null, "optional": false},
    ]);
    assert_eq!(said("seawall-batch", &dependencies, &json!({})), [""; 0]);
}

#[test]
fn the_lab_meets_the_live_crate_only_behind_net() {
    // Could break if another feature, or the defaults, brought sockets into the pure lab.
    let optional = json!([{"name": "seawall", "kind": null, "optional": true}]);
    let always = json!([{"name": "seawall", "kind": null, "optional": false}]);
    let net = json!({"net": ["dep:seawall"]});
    assert_eq!(said("seawall-lab", &optional, &net), [""; 0]);
    assert_eq!(said("seawall-lab", &always, &net).len(), 1);
    let other = json!({"net": ["dep:seawall"], "html": ["seawall/http"]});
    assert_eq!(said("seawall-lab", &optional, &other).len(), 1);
    let default = json!({"net": ["dep:seawall"], "all": ["net"], "default": ["all"]});
    assert_eq!(said("seawall-lab", &optional, &default).len(), 1);
}

#[test]
fn a_new_crate_needs_a_row() {
    // Could break if an unknown crate were free to depend on anything.
    assert_eq!(said("seawall-extra", &json!([]), &json!({})).len(), 1);
}

#[test]
fn a_crate_of_the_house_is_never_published() {
    // Could break if `publish` were not read: then socket tests could end up in the registry.
    assert_eq!(
        said("e2e", &json!([]), &json!({})),
        ["e2e: must say `publish = false`"]
    );
}
