//! Network profiles of iBox, with values for both directions: `bottleneck_bandwidth` in kbit/s, `buffer_size_bytes`,
//! `propagation_delay` in ms and `cross_traffic_pattern`, a list of kbit/s for each second.

use super::item::{AtEnd, Direction, Extra, Found, Item, Room, Step, Whole};
use super::json::{Json, Tree, Value};
use super::line::Parser;
use crate::trace::TraceError;
use crossfade_core::SimTime;

/// Further values of a profile that are passed on as notes.
const NOTES: [&str; 5] =
    ["measurement_node", "peer_cloud_server", "data_flow_direction", "link_type", "data_source_url"];

/// Reader of network profiles of iBox.
#[derive(Default)]
pub(super) struct Reader {
    json: Json,
}

impl Parser for Reader {
    fn push(&mut self, bytes: &[u8], _found: &mut Found) -> Result<(), TraceError> {
        self.json.push(bytes, &mut |_, tree| Err(tree.refuse("pattern: has no place in a profile")))
    }

    fn finish(&mut self, found: &mut Found) -> Result<Whole, TraceError> {
        let root = self.json.finish(&mut |_, tree| Err(tree.refuse("pattern: has no place in a profile")))?;
        let Some(config) = root.get("config") else {
            return Err(root.refuse("config: is needed, with uplink and downlink"));
        };
        let mut lasts = SimTime::ZERO;
        for (name, direction) in [("uplink", Direction::Up), ("downlink", Direction::Down)] {
            let Some(link) = config.get(name) else {
                return Err(config.refuse(format!("config.{name}: is needed")));
            };
            for step in steps(name, link)? {
                lasts = lasts.max(step.time);
                found.push_back((direction, Item::Step(step)));
            }
        }
        let note = |name: &str| match root.get(name).map(|found| &found.value) {
            Some(Value::Text(text)) => Some((name.to_owned(), text.clone())),
            _ => None,
        };
        let notes = NOTES.into_iter().filter_map(note).collect();
        Ok(Whole { lasts, at_end: AtEnd::Unsaid, notes })
    }
}

/// Steps of one direction, one per second of cross traffic, which ends with its pattern.
fn steps(way: &str, link: &Tree) -> Result<Vec<Step>, TraceError> {
    let number = |name: &str, most: f64| {
        let value = link.get(name);
        let found = value.and_then(Tree::number).filter(|number| (0.0..=most).contains(number));
        found.ok_or_else(|| {
            let shown = value.map_or("nothing".to_owned(), Tree::shown);
            let problem = format!("config.{way}.{name} = {shown}: must be a number from 0 to {most:e}");
            value.unwrap_or(link).refuse(problem)
        })
    };
    let usual = Step {
        rate_bps: Some(number("bottleneck_bandwidth", 1e12)? * 1e3),
        delay: Some(SimTime::from_secs_f64(number("propagation_delay", 8.64e9)? / 1e3)),
        queue: Some(Room::Bytes(number("buffer_size_bytes", 1e15)? as u64)),
        ..Step::default()
    };
    let pattern = match link.get("cross_traffic_pattern") {
        None => &[],
        Some(Tree { value: Value::List(rows), .. }) => rows.as_slice(),
        Some(other) => {
            let problem = format!("config.{way}.cross_traffic_pattern = {}: must be a list", other.shown());
            return Err(other.refuse(problem));
        }
    };
    let second = SimTime::from_millis(1000);
    let mut found = Vec::new();
    for (index, traffic) in pattern.iter().enumerate() {
        let kbps = traffic.number().filter(|kbps| (0.0..=1e12).contains(kbps)).ok_or_else(|| {
            let name = format!("config.{way}.cross_traffic_pattern[{index}]");
            traffic.refuse(format!("{name} = {}: must be a number of kbit/s", traffic.shown()))
        })?;
        let mut step = Step { time: second * index as u64, lasts: Some(second), ..usual.clone() };
        step.add(Extra::CrossTraffic, kbps * 1e3);
        found.push(step);
    }
    found.push(Step { time: second * pattern.len() as u64, ..usual });
    Ok(found)
}
