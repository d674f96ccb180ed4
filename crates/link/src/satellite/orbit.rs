//! Propagation delay from geometry: a Walker constellation of satellites over a terminal and a gateway.

use crossfade_core::{OutOfRange, RunSeed, SimTime};
use rand::RngExt;
use std::f64::consts::TAU;

/// Mean radius of the earth in km (IUGG).
const EARTH_KM: f64 = 6371.0;
/// Gravitational parameter of the earth in km^3/s^2 (WGS 84).
const GRAVITY: f64 = 398_600.441_8;
/// Angular velocity of the earth's rotation in rad/s (WGS 84).
const TURN: f64 = 7.292_115e-5;
/// Speed of light in km/s.
const LIGHT: f64 = 299_792.458;

/// Place on the earth, which is modelled as a sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Latitude in degrees north.
    pub latitude_deg: f64,
    /// Longitude in degrees east.
    pub longitude_deg: f64,
}

impl Place {
    /// Position in units of the earth's radius, after the earth has turned by `angle` radians.
    fn up(self, angle: f64) -> [f64; 3] {
        let (sin_latitude, cos_latitude) = libm::sincos(self.latitude_deg.to_radians());
        let (sin, cos) = libm::sincos(self.longitude_deg.to_radians() + angle);
        [cos_latitude * cos, cos_latitude * sin, sin_latitude]
    }
}

/// Shell of satellites on circular orbits of one altitude and inclination: a Walker delta pattern (J. G. Walker,
/// "Satellite constellations", Journal of the British Interplanetary Society 37, 1984).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shell {
    /// Altitude of the orbits above the ground in km.
    pub altitude_km: f64,
    /// Inclination of the orbital planes against the equator, in degrees.
    pub inclination_deg: f64,
    /// Number of orbital planes.
    pub planes: u32,
    /// Number of satellites in each plane.
    pub per_plane: u32,
    /// Phasing F of the Walker pattern: a satellite is ahead of its neighbour in the plane to the west by F x 360
    /// degrees / number of satellites.
    pub phasing: u32,
}

/// Bent-pipe path from a terminal up to one satellite of a shell, and down to a gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Orbit {
    /// Shell of satellites that serve the terminal.
    pub shell: Shell,
    /// Place of the terminal.
    pub terminal: Place,
    /// Place of the gateway.
    pub gateway: Place,
    /// Least elevation of the satellite over terminal and gateway, in degrees.
    pub min_elevation_deg: f64,
}

impl Orbit {
    /// Checks the parameters of shell and places.
    ///
    /// # Errors
    /// If an altitude, an angle or a number of satellites is outside its range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let Shell { altitude_km, inclination_deg, planes, per_plane, phasing } = self.shell;
        OutOfRange::unless(
            (160.0..=50_000.0).contains(&altitude_km),
            "altitude",
            format!("{altitude_km} km"),
            "between 160 and 50000 km",
        )?;
        let inclined = (0.0..=180.0).contains(&inclination_deg);
        OutOfRange::unless(inclined, "inclination", inclination_deg, "between 0 and 180 degrees")?;
        OutOfRange::unless((1..=1000).contains(&planes), "planes", planes, "between 1 and 1000")?;
        OutOfRange::unless((1..=1000).contains(&per_plane), "per_plane", per_plane, "between 1 and 1000")?;
        OutOfRange::unless(phasing < planes, "phasing", phasing, "below planes")?;
        let elevation = self.min_elevation_deg;
        OutOfRange::unless(
            (0.0..90.0).contains(&elevation),
            "min_elevation_deg",
            elevation,
            "at least 0 and below 90 degrees",
        )?;
        for (name, place) in [("terminal", self.terminal), ("gateway", self.gateway)] {
            let (north, east) = (place.latitude_deg, place.longitude_deg);
            OutOfRange::unless(
                (-90.0..=90.0).contains(&north),
                name,
                north,
                "a latitude between -90 and 90 degrees",
            )?;
            OutOfRange::unless(
                (-180.0..=180.0).contains(&east),
                name,
                east,
                "a longitude between -180 and 180 degrees",
            )?;
        }
        Ok(())
    }

    /// The satellites over the two places in a run, which begins at a randomly drawn time of day.
    pub(super) fn pass(&self, seed: RunSeed) -> Pass {
        let share: f64 = seed.stream("satellite.orbit").random();
        Pass { orbit: self.clone(), begins_s: share * TAU / TURN }
    }

    /// Best satellite and delay in each slot of the first hour, in which the satellites complete about half of an
    /// orbit; `None` for slots without a satellite.
    fn first_hour(&self, slot: SimTime) -> Vec<Option<(u32, SimTime)>> {
        let pass = Pass { orbit: self.clone(), begins_s: 0.0 };
        let slots = (SimTime::from_millis(3_600_000) / slot).max(2);
        (0..slots).map(|number| pass.best(slot * number)).collect()
    }

    /// Share of slots in the first hour whose satellite differs from that of the slot before.
    pub(super) fn handover_share(&self, slot: SimTime) -> f64 {
        let satellites: Vec<Option<u32>> =
            self.first_hour(slot).into_iter().map(|best| best.map(|(satellite, _)| satellite)).collect();
        let changes = satellites.windows(2).filter(|pair| pair[0] != pair[1]).count();
        changes as f64 / (satellites.len() - 1) as f64
    }

    /// Mean one-way delay in the first hour, over the slots with a satellite.
    pub(super) fn mean_delay(&self, slot: SimTime) -> SimTime {
        let delays: Vec<f64> =
            self.first_hour(slot).into_iter().flatten().map(|(_, delay)| delay.as_secs_f64()).collect();
        if delays.is_empty() {
            return SimTime::ZERO;
        }
        SimTime::from_secs_f64(delays.iter().sum::<f64>() / delays.len() as f64)
    }

    /// Share of slots in the first hour with a satellite that both terminal and gateway see.
    pub fn coverage(&self, slot: SimTime) -> f64 {
        let hour = self.first_hour(slot);
        hour.iter().flatten().count() as f64 / hour.len() as f64
    }
}

/// The satellites over the terminal and the gateway in a run.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    orbit: Orbit,
    /// Time of day in seconds at which the run begins.
    begins_s: f64,
}

impl Pass {
    /// The satellite that both places see at `now` and that is highest over the terminal, with the one-way delay
    /// through it; `None` if there is none.
    fn best(&self, now: SimTime) -> Option<(u32, SimTime)> {
        let Orbit { shell, terminal, gateway, min_elevation_deg } = &self.orbit;
        let time_s = self.begins_s + now.as_secs_f64();
        let [user, gateway] = [terminal, gateway].map(|place| place.up(TURN * time_s));
        let radius = (EARTH_KM + shell.altitude_km) / EARTH_KM;
        let radius_km = radius * EARTH_KM;
        let mean_motion = (GRAVITY / (radius_km * radius_km * radius_km)).sqrt();
        let (sin_i, cos_i) = libm::sincos(shell.inclination_deg.to_radians());
        let least = libm::sin(min_elevation_deg.to_radians());
        let satellites = f64::from(shell.planes * shell.per_plane);
        let mut best: Option<(f64, u32, f64)> = None;
        for plane in 0..shell.planes {
            let (sin_node, cos_node) = libm::sincos(TAU * f64::from(plane) / f64::from(shell.planes));
            let ahead = TAU * f64::from(shell.phasing * plane) / satellites + mean_motion * time_s;
            for number in 0..shell.per_plane {
                let (sin_u, cos_u) =
                    libm::sincos(TAU * f64::from(number) / f64::from(shell.per_plane) + ahead);
                let satellite = [
                    radius * (cos_node * cos_u - sin_node * sin_u * cos_i),
                    radius * (sin_node * cos_u + cos_node * sin_u * cos_i),
                    radius * sin_u * sin_i,
                ];
                let (height, range) = sight(user, satellite);
                if height < least || best.is_some_and(|(highest, ..)| height <= highest) {
                    continue;
                }
                let (height_over_gateway, range_of_gateway) = sight(gateway, satellite);
                if height_over_gateway >= least {
                    best = Some((height, plane * shell.per_plane + number, range + range_of_gateway));
                }
            }
        }
        best.map(|(_, satellite, range)| (satellite, SimTime::from_secs_f64(range * EARTH_KM / LIGHT)))
    }

    /// Number of the best satellite at `now`; `None` if there is none.
    pub(super) fn satellite(&self, now: SimTime) -> Option<u32> {
        self.best(now).map(|(satellite, _)| satellite)
    }

    /// One-way delay through the best satellite at `now`; `None` if there is none.
    pub(super) fn delay(&self, now: SimTime) -> Option<SimTime> {
        self.best(now).map(|(_, delay)| delay)
    }
}

/// Sine of the elevation of a satellite seen from a place, and its distance; all lengths in units of the earth's
/// radius.
fn sight(place: [f64; 3], satellite: [f64; 3]) -> (f64, f64) {
    let between: [f64; 3] = std::array::from_fn(|i| satellite[i] - place[i]);
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let range = dot(between, between).sqrt();
    (dot(between, place) / range, range)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in km to a satellite at an altitude of h km and an elevation of e degrees: d = sqrt(R^2 sin^2 e + 2 R h
    /// + h^2) - R sin e.
    fn slant_range_km(altitude_km: f64, elevation_deg: f64) -> f64 {
        let up = EARTH_KM * libm::sin(elevation_deg.to_radians());
        (up * up + 2.0 * EARTH_KM * altitude_km + altitude_km * altitude_km).sqrt() - up
    }

    /// Delays of one leg agree with tables of the geometry, in ms for elevations of 90, 60, 40, 25 and 10 degrees.
    #[test]
    fn legs_take_as_long_as_the_tables_say() {
        for (altitude_km, legs) in [
            (340.0, [1.13, 1.30, 1.71, 2.43, 4.25]),
            (550.0, [1.83, 2.09, 2.71, 3.75, 6.05]),
            (1200.0, [4.00, 4.51, 5.65, 7.35, 10.44]),
            (35_786.0, [119.4, 121.8, 126.0, 130.3, 135.4]),
        ] {
            for (elevation, leg) in [90.0, 60.0, 40.0, 25.0, 10.0].into_iter().zip(legs) {
                let found = slant_range_km(altitude_km, elevation) / LIGHT * 1e3;
                let half_a_digit = if leg > 100.0 { 0.05 } else { 0.005 };
                assert!((found - leg).abs() <= half_a_digit + 1e-9, "{altitude_km} km, {elevation}: {found}");
            }
        }
    }

    fn starlink() -> Orbit {
        let shell =
            Shell { altitude_km: 550.0, inclination_deg: 53.0, planes: 72, per_plane: 22, phasing: 17 };
        let place = |latitude_deg, longitude_deg| Place { latitude_deg, longitude_deg };
        Orbit { shell, terminal: place(52.3, 8.0), gateway: place(50.3, 8.5), min_elevation_deg: 25.0 }
    }

    #[test]
    fn a_bent_pipe_takes_two_legs_between_the_shortest_and_the_longest() {
        let orbit = starlink();
        let [shortest, longest] =
            [90.0, 25.0].map(|elevation| 2.0 * slant_range_km(550.0, elevation) / LIGHT);
        for best in orbit.first_hour(SimTime::from_millis(15_000)) {
            let delay = best.unwrap().1.as_secs_f64();
            assert!((shortest..=longest).contains(&delay), "{delay}");
        }
        assert_eq!(orbit.coverage(SimTime::from_millis(15_000)), 1.0);
    }

    /// A satellite at 550 km stands over the same place again after 102.3 min: one orbit takes 95.5 min, in which the
    /// earth turns on.
    #[test]
    fn a_satellite_comes_round_in_its_period() {
        let one = Shell { planes: 1, per_plane: 1, phasing: 0, inclination_deg: 0.0, ..starlink().shell };
        let origin = Place { latitude_deg: 0.0, longitude_deg: 0.0 };
        let orbit = Orbit { shell: one, terminal: origin, gateway: origin, min_elevation_deg: 0.0 };
        let pass = Pass { orbit, begins_s: 0.0 };
        let overhead = |time_s: f64| {
            pass.delay(SimTime::from_secs_f64(time_s))
                .is_some_and(|delay| delay.as_secs_f64() < 2.0 * 550.5 / LIGHT)
        };
        assert!(overhead(0.0));
        let round = (60..7200).find(|second| overhead(f64::from(*second))).unwrap();
        // 1 / (1/95.5 min - 1/1436.1 min) until it stands over the same place again.
        assert!((f64::from(round) / 60.0 - 102.3).abs() < 0.2, "{round}");
    }

    /// A pass overhead at 550 km lasts 2.7 min above 40 degrees of elevation and 4.5 min above 25 degrees.
    #[test]
    fn a_pass_lasts_as_long_as_the_geometry_says() {
        for (elevation, minutes) in [(25.0, 4.5), (40.0, 2.7)] {
            let one =
                Shell { planes: 1, per_plane: 1, phasing: 0, inclination_deg: 90.0, ..starlink().shell };
            let pole = Place { latitude_deg: 90.0, longitude_deg: 0.0 };
            let orbit = Orbit { shell: one, terminal: pole, gateway: pole, min_elevation_deg: elevation };
            let pass = Pass { orbit, begins_s: 0.0 };
            let seconds =
                (0..5730).filter(|second| pass.delay(SimTime::from_millis(second * 1000)).is_some());
            let found = seconds.count() as f64 / 60.0;
            assert!((found - minutes).abs() < 0.1, "{elevation}: {found}");
        }
    }
}
