//! Mapping of labels to constellation points and back, one block per vector lane.

use crate::constellation::Modulation;
use crossfade_channel::simd::Vector;

/// Constellation in the form that kernels use, in f32.
#[derive(Clone, Debug)]
pub(crate) struct Symbols {
    pub(crate) bits: u32,
    pub(crate) re: Vec<f32>,
    pub(crate) im: Vec<f32>,
    shape: Shape,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Bpsk,
    Qpsk,
    /// Number of points on a side, and half the distance between neighbours.
    Square {
        side: f32,
        step: f32,
    },
    Any,
}

impl Symbols {
    pub(crate) fn new(modulation: Modulation) -> Self {
        let points = modulation.points();
        let shape = match (modulation, modulation.side()) {
            (Modulation::Bpsk, _) => Shape::Bpsk,
            (Modulation::Qpsk, _) => Shape::Qpsk,
            (_, Some(side)) => {
                // Mean energy 2 (side^2 - 1) / 3 at coordinates of odd numbers.
                let energy = 2.0 * f64::from(side * side - 1) / 3.0;
                Shape::Square { side: side as f32, step: (1.0 / energy.sqrt()) as f32 }
            }
            _ => Shape::Any,
        };
        Self {
            bits: modulation.bits(),
            re: points.iter().map(|point| point.re as f32).collect(),
            im: points.iter().map(|point| point.im as f32).collect(),
            shape,
        }
    }

    /// Number of points of the constellation.
    pub(crate) fn count(&self) -> usize {
        self.re.len()
    }

    /// Constellation points of the labels, one per lane, as real and imaginary parts.
    #[inline(always)]
    pub(crate) fn map<V: Vector>(&self, label: V::Int) -> (V, V) {
        match self.shape {
            Shape::Bpsk => (V::from_bits(V::splat(1.0).to_bits() ^ (label << 31)), V::splat(0.0)),
            Shape::Qpsk => {
                let level = V::splat(std::f32::consts::FRAC_1_SQRT_2).to_bits();
                let minus_im = (label & V::splat_int(2)) << 30;
                (V::from_bits(level ^ (label << 31)), V::from_bits(level ^ minus_im))
            }
            Shape::Square { side, step } => {
                let half = self.bits / 2;
                let re = map_level::<V>(label & V::splat_int((1 << half) - 1), side, step);
                (re, map_level::<V>(label >> half, side, step))
            }
            Shape::Any => {
                let (mut labels, mut re, mut im) = ([0; 16], [0.0; 16], [0.0; 16]);
                V::store_int(label, &mut labels);
                for lane in 0..V::LANES {
                    re[lane] = self.re[labels[lane] as usize];
                    im[lane] = self.im[labels[lane] as usize];
                }
                (V::load(&re), V::load(&im))
            }
        }
    }

    /// True if the constellation is QPSK, for which |re| + |im| measures the fit of the nearest point.
    pub(crate) fn is_qpsk(&self) -> bool {
        matches!(self.shape, Shape::Qpsk)
    }

    /// Least value, over all points s, of the metric G |s|^2 / 2 - Re(s* v) of one symbol, with v = x + j y, `half` = G
    /// / 2 and `inverse` = 1 / G.
    #[inline(always)]
    pub(crate) fn least_metric<V: Vector, const QPSK: bool>(&self, x: V, y: V, half: V, inverse: V) -> V {
        if QPSK {
            return half - (x.abs() + y.abs()) * V::splat(std::f32::consts::FRAC_1_SQRT_2);
        }
        if !matches!(self.shape, Shape::Any) {
            let (_, re, im) = self.slice(x * inverse, y * inverse);
            return half * (re * re + im * im) - (re * x + im * y);
        }
        let mut least = V::splat(f32::INFINITY);
        for (&re, &im) in self.re.iter().zip(&self.im) {
            let energy = half * V::splat(re * re + im * im);
            least = least.min(energy - (V::splat(re) * x + V::splat(im) * y));
        }
        least
    }

    /// Labels of the points nearest to x + j y, and real and imaginary parts of these points.
    #[inline(always)]
    pub(crate) fn slice<V: Vector>(&self, x: V, y: V) -> (V::Int, V, V) {
        match self.shape {
            Shape::Bpsk => {
                let label = x.to_bits() >> 31;
                (label, V::from_bits(V::splat(1.0).to_bits() ^ (label << 31)), V::splat(0.0))
            }
            Shape::Qpsk => {
                let level = V::splat(std::f32::consts::FRAC_1_SQRT_2).to_bits();
                let (minus_re, minus_im) = (x.to_bits() >> 31, y.to_bits() >> 31);
                let re = V::from_bits(level ^ (minus_re << 31));
                (minus_re | (minus_im << 1), re, V::from_bits(level ^ (minus_im << 31)))
            }
            Shape::Square { side, step } => {
                let (re_label, re) = slice_level(x, side, step);
                let (im_label, im) = slice_level(y, side, step);
                (re_label | (im_label << (self.bits / 2)), re, im)
            }
            Shape::Any => {
                let mut best = (V::splat(f32::INFINITY), V::splat_int(0), V::splat(0.0), V::splat(0.0));
                for (label, (&re, &im)) in self.re.iter().zip(&self.im).enumerate() {
                    let (re, im) = (V::splat(re), V::splat(im));
                    let (dx, dy) = (x - re, y - im);
                    let distance = dx * dx + dy * dy;
                    let nearer = distance.less(best.0);
                    best.0 = V::select(nearer, distance, best.0);
                    best.1 = V::select_int(nearer, V::splat_int(label as u32), best.1);
                    best.2 = V::select(nearer, re, best.2);
                    best.3 = V::select(nearer, im, best.3);
                }
                (best.1, best.2, best.3)
            }
        }
    }
}

/// Coordinate of a Gray label on one axis. It is no closure, since closures are compiled without the instruction set of
/// their caller.
#[inline(always)]
fn map_level<V: Vector>(gray: V::Int, side: f32, step: f32) -> V {
    let number = gray ^ (gray >> 1);
    let number = V::from_int(number ^ (number >> 2));
    (V::splat(side - 1.0) - (number + number)) * V::splat(step)
}

/// Gray label of the level nearest to `x` on one axis, and the coordinate of this level.
#[inline(always)]
fn slice_level<V: Vector>(x: V, side: f32, step: f32) -> (V::Int, V) {
    let number = V::splat(side / 2.0) - x * V::splat(0.5 / step);
    let number = number.max(V::splat(0.0)).min(V::splat(side - 0.5)).to_int();
    let real = V::from_int(number);
    (number ^ (number >> 1), (V::splat(side - 1.0) - (real + real)) * V::splat(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_channel::simd::{Kernel, Simd};

    /// Test kernel that maps a label and decides the point moved by an offset: constellation, label, offset.
    struct There<'a>(&'a Symbols, u32, f32);

    impl Kernel for There<'_> {
        type Output = (u32, f32, f32);
        #[inline(always)]
        fn run<V: Vector>(self) -> Self::Output {
            let (x, y) = self.0.map::<V>(V::splat_int(self.1));
            let (label, re, im) = self.0.slice(x + V::splat(self.2), y - V::splat(self.2));
            let (mut labels, mut parts) = ([0; 16], [[0.0; 16]; 2]);
            V::store_int(label, &mut labels);
            re.store(&mut parts[0]);
            im.store(&mut parts[1]);
            (labels[V::LANES - 1], parts[0][0], parts[1][0])
        }
    }

    #[test]
    fn what_is_sent_is_decided_and_is_the_point_of_its_label() {
        for modulation in Modulation::ALL {
            let symbols = Symbols::new(modulation);
            for simd in Simd::available() {
                for label in 0..symbols.count() as u32 {
                    for offset in [0.0, 0.03, -0.03] {
                        let (decided, re, im) = simd.run(There(&symbols, label, offset));
                        assert_eq!(decided, label, "{modulation:?}, {}", simd.name());
                        assert!((re - symbols.re[label as usize]).abs() < 1e-6);
                        assert!((im - symbols.im[label as usize]).abs() < 1e-6);
                    }
                }
            }
        }
    }

    #[test]
    fn far_points_are_sliced_to_the_nearest() {
        struct Slice<'a>(&'a Symbols, f32, f32);
        impl Kernel for Slice<'_> {
            type Output = u32;
            #[inline(always)]
            fn run<V: Vector>(self) -> u32 {
                let mut labels = [0; 16];
                V::store_int(self.0.slice(V::splat(self.1), V::splat(self.2)).0, &mut labels);
                labels[0]
            }
        }
        for modulation in Modulation::ALL {
            let symbols = Symbols::new(modulation);
            for i in 0..400_u32 {
                let (x, y) = (f32::sin(i as f32 + 0.4) * 2.3, f32::cos(i as f32 * 1.7 + 0.3) * 2.3);
                let distance = |k: usize| (symbols.re[k] - x).powi(2) + (symbols.im[k] - y).powi(2);
                let nearest =
                    (0..symbols.count()).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap();
                assert_eq!(Simd::widest().run(Slice(&symbols, x, y)), nearest as u32, "{modulation:?}");
            }
        }
    }
}
