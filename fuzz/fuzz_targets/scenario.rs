//! Fuzz target: any text as a scenario must give an error of one line, or a plan whose points have ids.
#![no_main]

mod draw;
mod mutate;

use crossfade_scenario::{Overrides, Plan};
use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target};

/// Contents of files, chosen by the last byte of a file's name: an empty one, and one of each kind that a scenario may
/// name.
const FILES: [&str; 10] = [
    "",
    "0100\n1001\n",
    "0\n5\n5\n12\n",
    "time_s,rate_bps\n0,1e6\n1.5,2e6\n",
    "time_s,attenuation_db\n0,3\n10,4.5\n",
    "time_s,sinr_db\n0,12.5\n0.1,9\n",
    "node,x_m,y_m\n0,0,0\n1,200,0\n2,400,50\n",
    "snr_db,transmissions,residual\n0,1,0.5\n10,1,0.01\n10,2,0.001\n",
    "axis,from,to,phy.scheme,phy.detector\nchannel.snr_db,-9,5,siso,linear\nchannel.snr_db,5,40,alamouti,linear\n",
    "scheme,snr_db,transmissions,residual\nsiso,0,1,0.5\nblast,0,1,0.1\n",
];

fn read(name: &str) -> Result<String, String> {
    let last = name.bytes().last().ok_or("no name")?;
    Ok(FILES[usize::from(last) % FILES.len()].to_owned())
}

/// Number of points of a plan after which reading stops.
const MOST_POINTS: usize = 64;

fuzz_target!(|text: &str| {
    // All points are read in the same way, so a limited number suffices.
    let goes_on = |done, _| done < MOST_POINTS;
    let plan = Plan::load_while(text, "fuzz.toml", &Overrides::default(), &read, &goes_on, &mut |_| ());
    match plan {
        Ok(plan) => assert!(plan.points.iter().all(|point| !point.id.is_empty())),
        Err(error) => {
            let message = error.to_string();
            assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    draw::hand_over(mutate::changed(&data[..size], seed), data, size, max_size)
});

fuzz_crossover!(|data1: &[u8], data2: &[u8], out: &mut [u8], seed: u32| {
    match mutate::crossed(data1, data2, seed) {
        Some(text) if text.len() <= out.len() => {
            out[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => 0,
    }
});
