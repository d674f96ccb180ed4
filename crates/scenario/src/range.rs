//! Values of an axis in their written forms: `a,b,c`, `start:stop:step`, `log:start:stop:points`.

use crate::document::parse_value;
use serde_json::Value;

/// Maximum number of values of an axis and of points of a plan; more are taken as a mistake.
pub(crate) const MOST_POINTS: usize = 100_000;

/// Expands the written form of an axis to its values.
///
/// - `a,b,c`: each as on the command line. Commas inside brackets, braces and quotes do not separate.
/// - `start:stop:step`: both ends included, the stop if it is hit within rounding. Values are the
///   decimals that were meant (`0:1:0.1` gives 0.3, not 0.30000000000000004).
/// - `log:start:stop:points`: evenly spaced logarithms. The ends are exact; the values between are
///   rounded to 6 significant digits (more where neighbours would coincide), so that decades are exact and
///   files readable.
///
/// `start`, `stop` and `step` may carry one and the same unit (`1 ms:10 ms:1 ms`, `log:0.1:10:5` has none).
///
/// # Errors
/// The error in one line.
pub(crate) fn expand(text: &str) -> Result<Vec<Value>, String> {
    if let Some(rest) = text.trim().strip_prefix("log:") {
        return log_range(rest);
    }
    let parts: Vec<&str> = text.split(':').collect();
    if let [start, stop, step] = parts[..]
        && number_and_unit(start).is_some()
    {
        return linear_range(start, stop, step);
    }
    let items = split_list(text);
    if items.iter().any(|item| item.is_empty()) {
        return Err("must not have empty items".to_owned());
    }
    Ok(items.into_iter().map(parse_value).collect())
}

fn linear_range(start: &str, stop: &str, step: &str) -> Result<Vec<Value>, String> {
    const FORM: &str = "must be start:stop:step, such as 0:30:1";
    let ([start, stop, step], unit) = numbers([start, stop, step]).ok_or(FORM)?;
    let steps = (stop - start) / step;
    if step == 0.0 || !steps.is_finite() || steps < 0.0 {
        return Err(format!("{FORM}; the step must lead from start to stop"));
    }
    // A stop missed only by rounding belongs to the range.
    let count = (steps + 1e-9).floor() + 1.0;
    if count > MOST_POINTS as f64 {
        return Err(format!("has {count} values; at most {MOST_POINTS} are allowed"));
    }
    let values = (0..count as u32).map(|i| sum(start, f64::from(i) * step));
    Ok(values.map(|value| with_unit(value, unit)).collect())
}

fn log_range(text: &str) -> Result<Vec<Value>, String> {
    const FORM: &str = "must be log:start:stop:points, such as log:0.001:0.3:13";
    let parts: Vec<&str> = text.split(':').collect();
    let &[start, stop, points] = &parts[..] else { return Err(FORM.to_owned()) };
    let ([start, stop], unit) = numbers([start, stop]).ok_or(FORM)?;
    let points: u32 = points.trim().parse().map_err(|_| FORM)?;
    if !(start > 0.0 && stop > 0.0 && start != stop && (2..=MOST_POINTS as u32).contains(&points)) {
        return Err(format!("{FORM}; two different positive ends and 2 to {MOST_POINTS} points"));
    }
    let exact: Vec<f64> =
        (0..points).map(|i| start * libm::pow(stop / start, f64::from(i) / f64::from(points - 1))).collect();
    let readable = |digits| {
        let mut values: Vec<f64> = exact.iter().map(|&value| rounded(value, digits)).collect();
        values[0] = start;
        values[exact.len() - 1] = stop;
        values
    };
    let all_differ = |values: &Vec<f64>| values.windows(2).all(|pair| pair[0] != pair[1]);
    let values = (6..=17).map(readable).find(all_differ).ok_or("has more points than there are numbers")?;
    Ok(values.into_iter().map(|value| with_unit(value, unit)).collect())
}

/// Sum of two decimals, rounded to 12 significant digits of the larger one, so that the sum of `a` and `-a` is 0.
fn sum(a: f64, b: f64) -> f64 {
    let value = a + b;
    let decimals = 11.0 - libm::log10(a.abs().max(b.abs()).max(value.abs())).floor();
    if !(0.0..=300.0).contains(&decimals) {
        return rounded(value, 12);
    }
    // Avoids "-0".
    format!("{value:.0$}", decimals as usize).parse().map_or(value, |decimal: f64| decimal + 0.0)
}

/// `value` rounded to `digits` significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// Number with its unit (if there is one) as JSON. Whole numbers become integers, which both integer and float keys
/// accept.
fn with_unit(number: f64, unit: &str) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !unit.is_empty() {
        Value::String(format!("{number} {unit}"))
    } else if number.fract() == 0.0 && number.abs() < EXACT {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}

/// Parses several numbers and the unit that some or all of them carry, which must be one.
fn numbers<const N: usize>(texts: [&str; N]) -> Option<([f64; N], &str)> {
    let mut numbers = [0.0; N];
    let mut common = "";
    for (number, text) in numbers.iter_mut().zip(texts) {
        let (value, unit) = number_and_unit(text)?;
        *number = value;
        if !unit.is_empty() {
            if !common.is_empty() && common != unit {
                return None;
            }
            common = unit;
        }
    }
    Some((numbers, common))
}

/// Splits a text into its leading number and the trimmed unit.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(text.len());
    (1..=digits).rev().find_map(|end| {
        let number: f64 = text[..end].parse().ok()?;
        number.is_finite().then(|| (number, text[end..].trim_start()))
    })
}

/// Splits a text at the commas outside brackets, braces and quotes.
fn split_list(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut depth, mut quote) = (0, 0_usize, None);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (_, Some(open)) => quote = (c != open).then_some(open),
            ('"' | '\'', None) => quote = Some(c),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                items.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(text[start..].trim());
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn values(text: &str) -> Value {
        Value::Array(expand(text).unwrap())
    }

    #[test]
    fn lists() {
        assert_eq!(values("reno,newreno"), json!(["reno", "newreno"]));
        assert_eq!(values("0.001, 0.01,1"), json!([0.001, 0.01, 1]));
        assert_eq!(values("1 ms,20 ms"), json!(["1 ms", "20 ms"]));
        assert_eq!(values("[\"a,b\", 1],[\"c\", 2]"), json!([["a,b", 1], ["c", 2]]));
        assert_eq!(values("{ model = \"iid\", p_e = 1 }"), json!([{ "model": "iid", "p_e": 1 }]));
    }

    #[test]
    fn ranges_include_both_ends_and_read_as_written() {
        assert_eq!(values("0:1:0.1"), json!([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]));
        assert_eq!(values("6:24:6"), json!([6, 12, 18, 24]));
        assert_eq!(values("0:10:4"), json!([0, 4, 8]));
        assert_eq!(values("3:1:-1"), json!([3, 2, 1]));
        assert_eq!(values("5:5:1"), json!([5]));
        assert_eq!(values("-0.3:0.3:0.1"), json!([-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]));
        assert_eq!(values("-68.4:0:7.6")[9], json!(0));
        assert_eq!(values("-684:0:0.1")[6839], json!(-0.1));
        assert_eq!(values("-2:0:2 ms"), json!(["-2 ms", "0 ms"]));
        assert_eq!(values("0:20:10 ms"), json!(["0 ms", "10 ms", "20 ms"]));
        assert_eq!(values("1 %:2 %:0.5 %"), json!(["1 %", "1.5 %", "2 %"]));
        // Zero is zero: 11 * 8.2 is not 90.2.
        assert_eq!(values("-90.2:0:8.2")[11], json!(0));
        assert_eq!(values("-100:0.002:0.002")[50_001], json!(0.002));
    }

    #[test]
    fn log_ranges_hit_ends_and_decades() {
        assert_eq!(values("log:0.001:1:4"), json!([0.001, 0.01, 0.1, 1]));
        assert_eq!(values("log:1:1000:4"), json!([1, 10, 100, 1000]));
        assert_eq!(values("log:10:0.1:3"), json!([10, 1, 0.1]));
        assert_eq!(values("log:1:100 kbit/s:3"), json!(["1 kbit/s", "10 kbit/s", "100 kbit/s"]));
        // 0.001 * 300^(i/12)
        let thirteen = values("log:0.001:0.3:13");
        assert_eq!(thirteen[0], json!(0.001));
        assert_eq!(thirteen[1], json!(0.00160852));
        assert_eq!(thirteen[12], json!(0.3));
        // Six digits are not enough to tell these apart.
        let close = expand("log:1:1.000001:5").unwrap();
        assert!(close.windows(2).all(|pair| pair[0].as_f64() < pair[1].as_f64()), "{close:?}");
    }

    #[test]
    fn slips_are_refused() {
        for text in [
            "0:10:0",
            "0:10:-1",
            "10:0:1",
            "0:10:nan",
            "0:1e9:1e-9",
            "0:1e308:1e-308",
            "0 ms:10 s:1 ms",
            "log:0:1:3",
            "log:1:10",
            "log:1:10:1",
            "log:1:10:x",
            "log:1:1:3",
            "log:1:10:1000000",
            "log:-1:1:3",
            "a,,b",
            "",
            "log:",
            "log:1:1.0000000000000002:9",
        ] {
            let problem = expand(text).unwrap_err();
            assert!(!problem.is_empty() && !problem.contains('\n'), "{text}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(log:)?[-0-9.eE:a-z,\\[\\]{}\"' %]{0,24}") {
            if let Ok(values) = expand(&text) {
                prop_assert!((1..=MOST_POINTS).contains(&values.len()));
            }
        }

        #[test]
        fn ranges_have_the_count_asked_for(start in -1000_i32..1000, step in 1_i32..100, n in 1_u16..50) {
            let tenth = |x: i32| f64::from(x) / 10.0;
            let stop = tenth(start + i32::from(n - 1) * step);
            let text = format!("{}:{stop}:{}", tenth(start), tenth(step));
            let values = expand(&text).unwrap();
            let meant = (0..i32::from(n)).map(|i| Some(tenth(start + i * step)));
            prop_assert_eq!(values.iter().map(Value::as_f64).collect::<Vec<_>>(), meant.collect::<Vec<_>>());
        }
    }
}
