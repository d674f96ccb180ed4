//! Spatial reuse: the largest set of exchanges that can take place simultaneously.
//!
//! In an exchange both ends send and receive. Two exchanges are independent if no node of one is within the
//! interference range of a node of the other. With N antennas each node can null N - 1 nodes of other exchanges, and
//! one null by either node removes the interference between two nodes. Only nodes within the range of reception can be
//! overheard, so two nodes between range and interference range cannot be nulled unless knowledge is perfect.
//!
//! The result is an upper bound: nulls are assigned as if all exchanges were coordinated.

use crate::config::Knowledge;
use crate::error::{MeshError, out_of_range, positive};
use crate::topology::{Position, apart, within};

/// Number of search steps after which the search stops with the best set so far.
const MOST_STEPS: u64 = 20_000_000;

/// Parameters of spatial reuse: ranges, antennas and knowledge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReuseRules {
    /// Range of reception in metres.
    pub range_m: f64,
    /// Range of interference in metres, at least the range of reception.
    pub interference_m: f64,
    /// Number of antennas of each node; with one, no node is nulled.
    pub antennas: usize,
    /// Source of a node's knowledge about exchanges nearby, which decides which nodes it can null.
    pub knowledge: Knowledge,
}

/// Largest set of simultaneous exchanges that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// Exchanges, each with the numbers of its two nodes.
    pub exchanges: Vec<(usize, usize)>,
    /// True if no larger set exists; false if the search stopped at its limit of steps.
    pub is_exact: bool,
}

/// Largest set of exchanges over `links` that can take place simultaneously. A link that is listed twice, or in both
/// directions, counts once.
///
/// # Errors
/// If a link has a node that does not exist, joins a node with itself or is longer than the range; if two nodes have
/// the same position; if there is no antenna, a range is not positive, or the interference range is below the range.
pub fn largest(
    positions: &[Position],
    links: &[(usize, usize)],
    rules: &ReuseRules,
) -> Result<Reuse, MeshError> {
    apart(positions)?;
    positive("range", rules.range_m)?;
    if !(rules.interference_m >= rules.range_m && rules.interference_m.is_finite()) {
        let allowed = format!("at least range, {} m", rules.range_m);
        return out_of_range("interference", format!("{} m", rules.interference_m), allowed);
    }
    if rules.antennas == 0 {
        return out_of_range("antennas", 0, "at least 1");
    }
    let mut distinct: Vec<(usize, usize)> = links.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
    for &(a, b) in &distinct {
        if b >= positions.len() || a == b {
            return out_of_range(
                "link",
                format!("{a}-{b}"),
                format!("between two of {} nodes", positions.len()),
            );
        }
        let distance_m = positions[a].distance_m(positions[b]);
        if !within(distance_m, rules.range_m) {
            return Err(MeshError::HopTooLong {
                route: 0,
                from: a,
                to: b,
                distance_m,
                range_m: rules.range_m,
            });
        }
    }
    // Sorted by position, so that the candidates left in the search lie on one side.
    let middle =
        |&(a, b): &(usize, usize)| (positions[a].x_m + positions[b].x_m, positions[a].y_m + positions[b].y_m);
    distinct.sort_by(|a, b| {
        let (a_mid, b_mid) = (middle(a), middle(b));
        a_mid.0.total_cmp(&b_mid.0).then(a_mid.1.total_cmp(&b_mid.1)).then(a.cmp(b))
    });
    distinct.dedup();
    Ok(Search::new(positions, &distinct, rules).run())
}

/// Pairs of nodes of two exchanges of which one must null the other; `None` if the exchanges cannot take place
/// simultaneously.
fn nulls_between(
    first: (usize, usize),
    second: (usize, usize),
    positions: &[Position],
    rules: &ReuseRules,
) -> Option<Vec<(usize, usize)>> {
    let mut pairs = Vec::new();
    for a in [first.0, first.1] {
        for b in [second.0, second.1] {
            if a == b {
                return None;
            }
            let distance = positions[a].distance_m(positions[b]);
            if within(distance, rules.interference_m) {
                let known = rules.knowledge == Knowledge::Perfect || within(distance, rules.range_m);
                if rules.antennas == 1 || !known {
                    return None;
                }
                pairs.push((a, b));
            }
        }
    }
    Some(pairs)
}

/// Russian doll search (Verfaillie, Lemaitre and Schiex 1996), as Ostergard uses it for cliques: the largest set among
/// the last links bounds what they can add to a set.
struct Search<'a> {
    links: &'a [(usize, usize)],
    /// Necessary nulls for each pair of links; `None` if the two exclude each other.
    between: Vec<Option<Vec<(usize, usize)>>>,
    nulls: usize,
    nodes: usize,
    /// Size of the largest set among the links from each index on.
    bound: Vec<usize>,
    best: Vec<usize>,
    steps: u64,
}

/// Nulls between the nodes of the chosen links, and the number that each node uses.
#[derive(Clone)]
struct Nulls {
    /// Nulls made, each as the nulling node and the nulled one.
    made: Vec<(usize, usize)>,
    spent: Vec<usize>,
}

impl Nulls {
    /// Makes a null of `node` available, if need be by letting other nodes null instead; false if that is impossible.
    fn make_room(&mut self, node: usize, limit: usize, asked: &mut Vec<usize>) -> bool {
        if self.spent[node] < limit {
            return true;
        }
        asked.push(node);
        for i in 0..self.made.len() {
            let (by, of) = self.made[i];
            if by == node && !asked.contains(&of) && self.make_room(of, limit, asked) {
                self.made[i] = (of, by);
                self.spent[of] += 1;
                self.spent[by] -= 1;
                return true;
            }
        }
        false
    }

    /// Lets one of two nodes null the other; false if neither has a null available.
    fn add(&mut self, (a, b): (usize, usize), limit: usize) -> bool {
        for (by, of) in [(a, b), (b, a)] {
            if self.make_room(by, limit, &mut Vec::new()) {
                self.made.push((by, of));
                self.spent[by] += 1;
                return true;
            }
        }
        false
    }
}

impl<'a> Search<'a> {
    fn new(positions: &[Position], links: &'a [(usize, usize)], rules: &ReuseRules) -> Self {
        let pair = |i: usize| {
            let (first, second) = (links[i / links.len()], links[i % links.len()]);
            nulls_between(first, second, positions, rules)
        };
        Self {
            links,
            between: (0..links.len() * links.len()).map(pair).collect(),
            nulls: rules.antennas - 1,
            nodes: positions.len(),
            bound: vec![0; links.len() + 1],
            best: Vec::new(),
            steps: 0,
        }
    }

    fn run(mut self) -> Reuse {
        for first in (0..self.links.len()).rev() {
            let nulls = Nulls { made: Vec::new(), spent: vec![0; self.nodes] };
            let candidates: Vec<usize> =
                (first + 1..self.links.len()).filter(|&other| self.go_together(first, other)).collect();
            self.extend(&mut vec![first], &candidates, &nulls);
            self.bound[first] = self.best.len();
        }
        let is_exact = self.steps < MOST_STEPS;
        let mut exchanges: Vec<(usize, usize)> = self.best.iter().map(|&link| self.links[link]).collect();
        exchanges.sort_unstable();
        Reuse { exchanges, is_exact }
    }

    fn go_together(&self, first: usize, second: usize) -> bool {
        self.between[first * self.links.len() + second].is_some()
    }

    /// Adds candidate links to those chosen; returns true as soon as the largest set has grown, since one more link at
    /// the front can add only one.
    fn extend(&mut self, chosen: &mut Vec<usize>, candidates: &[usize], nulls: &Nulls) -> bool {
        self.steps += 1;
        if chosen.len() > self.best.len() {
            self.best.clone_from(chosen);
            return true;
        }
        for (i, &link) in candidates.iter().enumerate() {
            let most = (candidates.len() - i).min(self.bound[link]);
            if chosen.len() + most <= self.best.len() || self.steps >= MOST_STEPS {
                return false;
            }
            let Some(with_link) = self.add(chosen, link, nulls) else { continue };
            let rest: Vec<usize> =
                candidates[i + 1..].iter().copied().filter(|&other| self.go_together(link, other)).collect();
            chosen.push(link);
            let grown = self.extend(chosen, &rest, &with_link);
            chosen.pop();
            if grown {
                return true;
            }
        }
        false
    }

    /// Nulls after `link` is added to those chosen; `None` if the nodes have too few nulls.
    fn add(&self, chosen: &[usize], link: usize, nulls: &Nulls) -> Option<Nulls> {
        let mut nulls = nulls.clone();
        for &other in chosen {
            for &pair in self.between[other * self.links.len() + link].as_ref()? {
                if !nulls.add(pair, self.nulls) {
                    return None;
                }
            }
        }
        Some(nulls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;
    use crossfade_core::RunSeed;

    fn chain(hops: usize) -> Vec<Position> {
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("mac.topology");
        Topology::Chain { hops, spacing_m: 1.0 }.positions(&mut stream).unwrap()
    }

    fn rules(range_m: f64, interference_m: f64, antennas: usize) -> ReuseRules {
        ReuseRules { range_m, interference_m, antennas, knowledge: Knowledge::Overheard }
    }

    fn in_chain(hops: usize, rules: &ReuseRules) -> usize {
        let links: Vec<(usize, usize)> = (0..hops).map(|i| (i, i + 1)).collect();
        let reuse = largest(&chain(hops), &links, rules).unwrap();
        assert!(reuse.is_exact);
        reuse.exchanges.len()
    }

    /// Links between all nodes within `range_m` of each other.
    fn links_within(positions: &[Position], range_m: f64) -> Vec<(usize, usize)> {
        let linked = |&(a, b): &(usize, usize)| within(positions[a].distance_m(positions[b]), range_m);
        (0..positions.len())
            .flat_map(|a| (a + 1..positions.len()).map(move |b| (a, b)))
            .filter(linked)
            .collect()
    }

    #[test]
    fn chains_have_the_known_integers() {
        for hops in [12, 24] {
            let over = |range, interference, antennas| {
                hops as f64 / in_chain(hops, &rules(range, interference, antennas)) as f64
            };
            assert_eq!(over(1.0, 1.0, 1), 3.0);
            assert_eq!(over(1.0, 2.0, 1), 4.0);
            assert_eq!(over(1.0, 1.0, 2), 2.0);
            assert_eq!(over(1.0, 2.0, 2), 4.0, "as without arrays: who interferes cannot be overheard");
            assert_eq!(over(2.0, 2.0, 2), 2.4);
            assert_eq!(over(2.0, 2.0, 3), 2.0);
        }
    }

    #[test]
    fn perfect_knowledge_is_hearing_as_far_as_interference() {
        for hops in [5, 8, 13] {
            let perfect = ReuseRules { knowledge: Knowledge::Perfect, ..rules(1.0, 2.0, 2) };
            assert_eq!(in_chain(hops, &perfect), in_chain(hops, &rules(2.0, 2.0, 2)));
        }
    }

    /// Brute-force check that exchanges can take place simultaneously: no node in two of them, and of two interfering
    /// nodes of different exchanges one nulls the other, which needs two antennas and, without perfect knowledge, a
    /// distance within the range. The nulls suffice if no set of nodes has more such pairs than nulls (Hakimi 1965, on
    /// orientations of graphs).
    fn possible(exchanges: &[(usize, usize)], positions: &[Position], rules: &ReuseRules) -> bool {
        let square = |a: usize, b: usize| {
            let (dx, dy) = (positions[a].x_m - positions[b].x_m, positions[a].y_m - positions[b].y_m);
            dx * dx + dy * dy
        };
        let mut pairs: Vec<u32> = Vec::new();
        for (i, first) in exchanges.iter().enumerate() {
            for second in &exchanges[i + 1..] {
                for (a, b) in
                    [(first.0, second.0), (first.0, second.1), (first.1, second.0), (first.1, second.1)]
                {
                    let heard = rules.knowledge == Knowledge::Perfect
                        || square(a, b) <= rules.range_m * rules.range_m;
                    let interferes = square(a, b) <= rules.interference_m * rules.interference_m;
                    if a == b || interferes && (rules.antennas < 2 || !heard) {
                        return false;
                    }
                    if interferes {
                        pairs.push(1 << a | 1 << b);
                    }
                }
            }
        }
        (0..1_u32 << positions.len()).all(|nodes| {
            let among = pairs.iter().filter(|pair| **pair & !nodes == 0).count();
            among <= (rules.antennas - 1) * nodes.count_ones() as usize
        })
    }

    #[test]
    fn small_sets_are_those_of_trying_all() {
        let mut stream = RunSeed { seed: 3, run: 0 }.stream("mac.topology");
        let mut sizes = std::collections::BTreeSet::new();
        for (nodes, antennas, knowledge) in [
            (7, 1, Knowledge::Overheard),
            (7, 2, Knowledge::Overheard),
            (8, 2, Knowledge::Perfect),
            (8, 3, Knowledge::Overheard),
            (9, 2, Knowledge::Perfect),
            (9, 4, Knowledge::Perfect),
        ] {
            let positions = Topology::Random { nodes, spacing_m: 1.0 }.positions(&mut stream).unwrap();
            let rules = ReuseRules { knowledge, ..rules(1.2, 1.6, antennas) };
            let links = links_within(&positions, rules.range_m);
            let links = &links[..links.len().min(14)];
            let exchanges = |set: u32| -> Vec<(usize, usize)> {
                (0..links.len()).filter(|link| set >> link & 1 == 1).map(|link| links[link]).collect()
            };
            let sets = (0..1_u32 << links.len()).filter(|set| possible(&exchanges(*set), &positions, &rules));
            let most = sets.map(u32::count_ones).max().unwrap() as usize;
            let found = largest(&positions, links, &rules).unwrap();
            assert_eq!((found.exchanges.len(), found.is_exact), (most, true), "{nodes} nodes, {rules:?}");
            assert!(possible(&found.exchanges, &positions, &rules));
            sizes.insert(most);
        }
        assert!(sizes.len() > 1, "{sizes:?}");
    }

    #[test]
    fn a_star_has_one_exchange_at_a_time() {
        let mut stream = RunSeed { seed: 3, run: 0 }.stream("mac.topology");
        let star = Topology::Star { stations: 6, spacing_m: 1.0 }.positions(&mut stream).unwrap();
        let links: Vec<(usize, usize)> = (1..=6).flat_map(|i| [(i, 0), (0, i)]).collect();
        for antennas in [1, 4] {
            assert_eq!(largest(&star, &links, &rules(1.0, 2.0, antennas)).unwrap().exchanges.len(), 1);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error =
            |links: &[(usize, usize)], rules| largest(&chain(3), links, &rules).unwrap_err().to_string();
        assert_eq!(error(&[], rules(1.0, 0.5, 1)), "interference = 0.5 m: must be at least range, 1 m");
        assert_eq!(error(&[], rules(1.0, 1.0, 0)), "antennas = 0: must be at least 1");
        assert_eq!(error(&[(1, 4)], rules(1.0, 1.0, 1)), "link = 1-4: must be between two of 4 nodes");
        assert!(error(&[(0, 2)], rules(1.0, 1.0, 1)).contains("2 m apart, beyond range = 1 m"));
    }
}
