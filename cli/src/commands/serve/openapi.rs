//! OpenAPI description of all calls.

/// Maintained by hand; a test compares its paths with the routes.
pub const TEXT: &str = include_str!("openapi.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::auth::Scope;
    use super::super::routes;
    use super::TEXT;

    #[test]
    fn it_describes_every_route_and_no_other() {
        let api: Value = serde_json::from_str(TEXT).unwrap();
        let mut described = BTreeSet::new();
        for (path, calls) in api["paths"].as_object().unwrap() {
            for (method, call) in calls.as_object().unwrap() {
                let open = call["security"].as_array().is_some_and(Vec::is_empty);
                described.insert((method.to_uppercase(), path.clone(), open));
                assert!(call["summary"].is_string(), "{method} {path}");
                assert!(call["operationId"].is_string(), "{method} {path}");
            }
        }
        let routes = routes::all().into_iter();
        let routes = routes.map(|route| {
            (route.method.to_owned(), route.path.to_owned(), route.scope == Scope::Open)
        });
        assert_eq!(described, routes.collect::<BTreeSet<_>>());
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn walk<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(table) => {
                    found.extend(table.get("$ref").and_then(Value::as_str));
                    table.values().for_each(|value| walk(value, found));
                }
                Value::Array(values) => values.iter().for_each(|value| walk(value, found)),
                _ => {}
            }
        }
        let api: Value = serde_json::from_str(TEXT).unwrap();
        let mut found = Vec::new();
        walk(&api, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let path = reference.strip_prefix('#').unwrap();
            assert!(api.pointer(path).is_some(), "{reference}");
        }
    }
}
