//! Keys of a satellite shell, with the terminal and gateway that it passes over.

use super::base::{absent, named};
use crate::error::{ScenarioError, join};
use crate::quantity::Length;
use crossfade_link::satellite::{Orbit, Place, Shell};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Walker shell of satellites over a terminal and a gateway: in each slot the satellite that stands highest over the
/// terminal carries packets, in straight lines at the speed of light.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OrbitTable {
    /// Altitude of the satellites above the ground, such as "550 km".
    #[schemars(extend("x-default" = "550 km, with terminal and gateway"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub altitude: Option<Length>,

    /// Inclination of the orbital planes in degrees.
    #[schemars(range(min = 0, max = 180), extend("x-default" = "53, with terminal and gateway"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inclination_deg: Option<f64>,

    /// Number of orbital planes of the satellite shell.
    #[schemars(range(min = 1, max = 1000), extend("x-default" = "72, with terminal and gateway"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planes: Option<u32>,

    /// Number of satellites on each orbital plane.
    #[schemars(range(min = 1, max = 1000), extend("x-default" = "22, with terminal and gateway"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_plane: Option<u32>,

    /// Phasing: lead of a satellite over its neighbour in the plane to the west. The unit is 360 degrees divided by the
    /// number of all satellites.
    #[schemars(range(min = 0, max = 999), extend("x-default" = "0, with terminal and gateway"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phasing: Option<u32>,

    /// Least elevation in degrees at which a satellite is used, over terminal and gateway.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 90, "x-default" = "25, with terminal and gateway"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_elevation_deg: Option<f64>,

    /// Place of the terminal: degrees north and degrees east. Needs gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<[f64; 2]>,

    /// Place of the gateway: degrees north and degrees east. Needs terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<[f64; 2]>,
}

absent!(OrbitTable);

impl OrbitTable {
    /// Fills in the defaults of the orbits in the table called `table`; `None` if the table is absent.
    pub(super) fn resolve(&mut self, table: &str) -> Result<Option<Orbit>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let place = |name: &str, given: Option<[f64; 2]>| {
            let [latitude_deg, longitude_deg] = given.ok_or_else(|| {
                ScenarioError::missing(&join(table, name), "degrees north and east such as [52.3, 8.0]")
            })?;
            Ok(Place { latitude_deg, longitude_deg })
        };
        let (terminal, gateway) = (place("terminal", self.terminal)?, place("gateway", self.gateway)?);
        let orbit = Orbit {
            // The first shell of Starlink.
            shell: Shell {
                altitude_km: self.altitude.get_or_insert(Length(550e3)).0 / 1e3,
                inclination_deg: *self.inclination_deg.get_or_insert(53.0),
                planes: *self.planes.get_or_insert(72),
                per_plane: *self.per_plane.get_or_insert(22),
                phasing: *self.phasing.get_or_insert(0),
            },
            terminal,
            gateway,
            min_elevation_deg: *self.min_elevation_deg.get_or_insert(25.0),
        };
        orbit.check().map_err(|error| named(table, &error))?;
        Ok(Some(orbit))
    }
}
