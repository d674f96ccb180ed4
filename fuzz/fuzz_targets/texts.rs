//! Mutators of tables and JSON that know their structure: they change lines, fields, items and values.

use crate::draw::Draw;
use serde_json::{Value, json};

/// Fields of tables: some valid, some of wrong types, some far out of range.
const FIELDS: [&str; 32] = [
    "0",
    "1",
    "2",
    "3",
    "64",
    "65",
    "200",
    "1000",
    "1001",
    "10000",
    "1000001",
    "-1",
    "0.5",
    "1.5",
    "-100.5",
    "1e6",
    "1e-9",
    "1e10",
    "1e300",
    "1e400",
    "-0",
    "+1",
    "nan",
    "inf",
    "-inf",
    "",
    " ",
    "x",
    "#",
    "18446744073709551615",
    "18446744073709551616",
    "\u{feff}",
];
const SEPARATORS: [char; 4] = [',', ' ', ';', '\t'];

/// `text` with one to four changes of its lines and fields; `words` are the words that its parser knows.
pub(crate) fn lines(draw: &mut Draw, text: &str, words: &[&str]) -> String {
    let mut rows: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for _ in 0..1 + draw.below(4) {
        let (at, other) = (draw.below(rows.len()), draw.below(rows.len()));
        match draw.below(12) {
            0 if rows.len() > 1 => drop(rows.remove(at)),
            1 => rows.insert(at, rows[other].clone()),
            2 => rows.swap(at, other),
            3 => rows.insert(at, ["", "# end", " ", ",", "\r"][draw.below(5)].to_owned()),
            4 if !words.is_empty() => rows[at] = (*draw.of(words)).to_owned(),
            _ => rows[at] = fields(draw, &rows[at], &rows[other], words),
        }
    }
    rows.join("\n")
}

/// `row` with one changed field; `other` is another row, from which a field may come.
fn fields(draw: &mut Draw, row: &str, other: &str, words: &[&str]) -> String {
    let is_there = SEPARATORS.iter().find(|separator| row.contains(**separator));
    let separator = *is_there.unwrap_or_else(|| draw.of(&SEPARATORS));
    let mut fields: Vec<String> = row.split(separator).map(str::to_owned).collect();
    let at = draw.below(fields.len());
    match draw.below(12) {
        0 => drop(fields.remove(at)),
        1 => fields.insert(at, fields[at].clone()),
        2 => {
            let with = draw.below(fields.len());
            fields.swap(at, with);
        }
        3 | 4 => {
            if let Some(field) = other.split(separator).nth(at) {
                field.clone_into(&mut fields[at]);
            }
        }
        5 if !words.is_empty() => (*draw.of(words)).clone_into(&mut fields[at]),
        6 | 7 => (*draw.of(&FIELDS)).clone_into(&mut fields[at]),
        _ => fields[at] = draw.quantity_for(&fields[at]).unwrap_or_else(|| (*draw.of(&FIELDS)).to_owned()),
    }
    fields.join(&separator.to_string())
}

/// Changes one random part of a JSON value.
pub(crate) fn json(draw: &mut Draw, value: &mut Value) {
    let goes_on = draw.below(5) > 0;
    match value {
        Value::Array(items) if goes_on && !items.is_empty() => {
            let at = draw.below(items.len());
            json(draw, &mut items[at]);
        }
        Value::Object(table) if goes_on && !table.is_empty() => {
            let at = draw.below(table.len());
            if let Some(inner) = table.values_mut().nth(at) {
                json(draw, inner);
            }
        }
        Value::Array(items) if !items.is_empty() && draw.below(8) > 0 => {
            let (at, with) = (draw.below(items.len()), draw.below(items.len()));
            match draw.below(4) {
                0 => drop(items.remove(at)),
                1 | 2 => items.insert(at, items[with].clone()),
                _ => items.swap(at, with),
            }
        }
        Value::Object(table) if !table.is_empty() && draw.below(8) > 0 => {
            let at = draw.below(table.len());
            if let Some(name) = table.keys().nth(at).cloned()
                && let Some(inner) = table.remove(&name)
                && draw.below(2) == 0
            {
                table.insert("x".to_owned(), inner);
            }
        }
        Value::Number(number) if draw.below(4) > 0 => {
            let other = draw.number_for(number.as_f64().unwrap_or_default());
            *value = if number.is_f64() { json!(other) } else { json!(other as i64) };
        }
        _ => {
            let others = [
                json!(0),
                json!(1),
                json!(-1),
                json!(1.5),
                json!(1e300),
                json!("x"),
                json!([]),
                json!({}),
                json!(null),
            ];
            *value = draw.of(&others).clone();
        }
    }
}
