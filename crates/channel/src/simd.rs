//! Vectors of f32 that compute the same numbers on every processor.
//!
//! A [`Kernel`] is written once over [`Vector`]; [`Simd::run`] compiles it for the scalar unit, SSE2, AVX2 and AVX-512
//! and runs the chosen version. Only operations that IEEE 754 rounds correctly are offered (no fused multiply-add, no
//! approximate reciprocals), and no operation mixes lanes. So a kernel gives the same bits with every width.
//!
//! All `unsafe` of this crate is here: the intrinsics need a processor that supports them. [`Simd`] values for AVX2 and
//! AVX-512 exist only if the processor was found to support them, and only [`Simd::run`] creates their vectors.
#![allow(unsafe_code)]
// Kernels must end up in the function that has the instructions; the wrappers name many intrinsics.
#![allow(clippy::inline_always, clippy::wildcard_imports, clippy::cast_possible_wrap)]

use crate::error::ChannelError;
use std::fmt::Debug;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Shl, Shr, Sub};
use std::sync::OnceLock;

/// SIMD vector of `f32` lanes.
pub trait Vector:
    Copy + Debug + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Number of lanes, a divisor of 16.
    const LANES: usize;
    /// Vector of 32-bit integers, as many as lanes; arithmetic wraps, shifts are logical.
    type Int: Copy
        + Debug
        + Add<Output = Self::Int>
        + Sub<Output = Self::Int>
        + BitAnd<Output = Self::Int>
        + BitOr<Output = Self::Int>
        + BitXor<Output = Self::Int>
        + Shl<u32, Output = Self::Int>
        + Shr<u32, Output = Self::Int>;
    /// Vector of truth values, one per lane: the result of a comparison.
    type Mask: Copy;

    /// Vector with `value` in all lanes.
    fn splat(value: f32) -> Self;
    /// Loads the first [`LANES`](Self::LANES) elements of a slice, which must be long enough.
    fn load(from: &[f32]) -> Self;
    /// Stores the lanes into the first elements of a slice, which must be long enough.
    fn store(self, to: &mut [f32]);
    /// Square root of each lane, correctly rounded.
    #[must_use]
    fn sqrt(self) -> Self;
    /// Absolute value of each lane.
    #[must_use]
    fn abs(self) -> Self;
    /// Greater value of each lane; that of `other` if both are equal.
    #[must_use]
    fn max(self, other: Self) -> Self;
    /// Smaller value of each lane; that of `other` if both are equal.
    #[must_use]
    fn min(self, other: Self) -> Self;
    /// Mask of the lanes in which `self` is below `other`.
    fn less(self, other: Self) -> Self::Mask;
    /// Lane by lane, `yes` if the mask is set, `no` otherwise.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Lane by lane, the integer of `yes` if the mask is set, that of `no` otherwise.
    fn select_int(mask: Self::Mask, yes: Self::Int, no: Self::Int) -> Self::Int;
    /// Converts signed integers to reals, rounded to nearest.
    fn from_int(value: Self::Int) -> Self;
    /// Converts reals between -2^31 and 2^31 to signed integers, rounded towards zero.
    fn to_int(self) -> Self::Int;
    /// Bits of each real (IEEE 754 binary32) as an integer.
    fn to_bits(self) -> Self::Int;
    /// Reals whose bits (IEEE 754 binary32) are the given integers.
    fn from_bits(bits: Self::Int) -> Self;
    /// Integer vector with `value` in all lanes.
    fn splat_int(value: u32) -> Self::Int;
    /// Loads the first [`LANES`](Self::LANES) elements of a slice, which must be long enough.
    fn load_int(from: &[u32]) -> Self::Int;
    /// Stores the lanes into the first elements of a slice, which must be long enough.
    fn store_int(value: Self::Int, to: &mut [u32]);
    /// Upper and lower 32 bits of the 64-bit product of each lane of `value` with `factor`.
    fn multiply_wide(value: Self::Int, factor: u32) -> (Self::Int, Self::Int);
}

/// A computation over vectors of any width. `run` and all functions that it calls should be `#[inline(always)]`,
/// otherwise the intrinsics become function calls.
pub trait Kernel {
    /// Result of the kernel.
    type Output;
    /// Computes the result with vectors of type `V`.
    fn run<V: Vector>(self) -> Self::Output;
}

/// Instruction set on which kernels run. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Level {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Sse2,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Simd {
    /// Names of all instruction sets, narrowest first.
    pub const NAMES: [&str; 4] = ["scalar", "sse2", "avx2", "avx512"];

    /// Instruction set with this name; `None` if the name does not exist or this processor lacks it.
    pub fn named(name: &str) -> Option<Self> {
        Self::available().find(|simd| simd.name() == name)
    }

    /// Instruction sets that this processor supports, narrowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let levels = [
            (Level::Scalar, true),
            (Level::Sse2, true),
            (Level::Avx2, is_x86_feature_detected!("avx2")),
            (Level::Avx512, is_x86_feature_detected!("avx512f")),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let levels = [(Level::Scalar, true)];
        levels.into_iter().filter(|&(_, has)| has).map(|(level, _)| Self(level))
    }

    /// Instruction set named by the environment variable `CROSSFADE_SIMD`, which is read once; by default the widest of
    /// this processor.
    ///
    /// # Errors
    /// If the name does not exist, or this processor lacks the instructions.
    pub fn chosen() -> Result<Self, ChannelError> {
        static CHOSEN: OnceLock<Result<Simd, ChannelError>> = OnceLock::new();
        let choose = || match std::env::var_os("CROSSFADE_SIMD") {
            None => Ok(Self::widest()),
            Some(name) => {
                let name = name.to_string_lossy().into_owned();
                let names: Vec<_> = Self::available().map(Self::name).collect();
                Self::named(&name).ok_or(ChannelError::Simd { name, available: names.join(", ") })
            }
        };
        CHOSEN.get_or_init(choose).clone()
    }

    /// Widest instruction set that this processor supports.
    pub fn widest() -> Self {
        Self::available().last().unwrap_or(Self(Level::Scalar))
    }

    /// Name of the instruction set, one of [`NAMES`](Simd::NAMES).
    pub fn name(self) -> &'static str {
        Self::NAMES[self.0 as usize]
    }

    /// Runs a kernel on this instruction set.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            Level::Scalar => kernel.run::<scalar::F32>(),
            // Safety: SSE2 is part of x86-64.
            #[cfg(target_arch = "x86_64")]
            Level::Sse2 => unsafe { x86::sse2(kernel) },
            // Safety: a `Simd` of this level comes from `available`, which asked the processor.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { x86::avx2(kernel) },
            // Safety: a `Simd` of this level comes from `available`, which asked the processor.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { x86::avx512(kernel) },
        }
    }
}

mod scalar {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    pub(super) struct F32(f32);
    #[derive(Clone, Copy, Debug)]
    pub(super) struct U32(u32);

    macro_rules! operator {
        ($vector:ident, $trait:ident, $method:ident, |$a:ident, $b:ident| $value:expr) => {
            impl $trait for $vector {
                type Output = Self;
                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    let ($a, $b) = (self.0, other.0);
                    Self($value)
                }
            }
        };
    }
    operator!(F32, Add, add, |a, b| a + b);
    operator!(F32, Sub, sub, |a, b| a - b);
    operator!(F32, Mul, mul, |a, b| a * b);
    operator!(F32, Div, div, |a, b| a / b);
    operator!(U32, Add, add, |a, b| a.wrapping_add(b));
    operator!(U32, Sub, sub, |a, b| a.wrapping_sub(b));
    operator!(U32, BitAnd, bitand, |a, b| a & b);
    operator!(U32, BitOr, bitor, |a, b| a | b);
    operator!(U32, BitXor, bitxor, |a, b| a ^ b);

    impl Shl<u32> for U32 {
        type Output = Self;
        #[inline(always)]
        fn shl(self, count: u32) -> Self {
            Self(self.0 << count)
        }
    }

    impl Shr<u32> for U32 {
        type Output = Self;
        #[inline(always)]
        fn shr(self, count: u32) -> Self {
            Self(self.0 >> count)
        }
    }

    #[rustfmt::skip]
    impl Vector for F32 {
        const LANES: usize = 1;
        type Int = U32;
        type Mask = bool;
        #[inline(always)] fn splat(value: f32) -> Self { Self(value) }
        #[inline(always)] fn load(from: &[f32]) -> Self { Self(from[0]) }
        #[inline(always)] fn store(self, to: &mut [f32]) { to[0] = self.0; }
        #[inline(always)] fn sqrt(self) -> Self { Self(self.0.sqrt()) }
        #[inline(always)] fn abs(self) -> Self { Self(self.0.abs()) }
        #[inline(always)] fn max(self, other: Self) -> Self { if self.0 > other.0 { self } else { other } }
        #[inline(always)] fn min(self, other: Self) -> Self { if self.0 < other.0 { self } else { other } }
        #[inline(always)] fn less(self, other: Self) -> bool { self.0 < other.0 }
        #[inline(always)] fn select(mask: bool, yes: Self, no: Self) -> Self { if mask { yes } else { no } }
        #[inline(always)] fn select_int(mask: bool, yes: U32, no: U32) -> U32 { if mask { yes } else { no } }
        #[inline(always)] fn from_int(value: U32) -> Self { Self(value.0.cast_signed() as f32) }
        #[inline(always)] fn to_int(self) -> U32 { U32((self.0 as i32).cast_unsigned()) }
        #[inline(always)] fn to_bits(self) -> U32 { U32(self.0.to_bits()) }
        #[inline(always)] fn from_bits(bits: U32) -> Self { Self(f32::from_bits(bits.0)) }
        #[inline(always)] fn splat_int(value: u32) -> U32 { U32(value) }
        #[inline(always)] fn load_int(from: &[u32]) -> U32 { U32(from[0]) }
        #[inline(always)] fn store_int(value: U32, to: &mut [u32]) { to[0] = value.0; }
        #[inline(always)] fn multiply_wide(value: U32, factor: u32) -> (U32, U32) {
            let product = u64::from(value.0) * u64::from(factor);
            (U32((product >> 32) as u32), U32(product as u32))
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::*;

    /// Declares the vector types of one width, as wrappers of intrinsics. Safety of every block: vectors of a width are
    /// made only inside [`Simd::run`] of that level, and loads and stores are checked against the length of the slice.
    macro_rules! vector {
        ($real:ident($r:ty), $int:ident($i:ty), $lanes:literal,
         real { $($rtrait:ident $rmethod:ident $rop:path;)* }
         int { $($itrait:ident $imethod:ident $iop:path;)* }
         $shl:path, $shr:path;
         $($rest:item)*) => {
            #[derive(Clone, Copy, Debug)]
            pub(super) struct $real($r);
            #[derive(Clone, Copy, Debug)]
            pub(super) struct $int($i);
            $(impl $rtrait for $real {
                type Output = Self;
                #[inline(always)]
                fn $rmethod(self, other: Self) -> Self {
                    Self(unsafe { $rop(self.0, other.0) })
                }
            })*
            $(impl $itrait for $int {
                type Output = Self;
                #[inline(always)]
                fn $imethod(self, other: Self) -> Self {
                    Self(unsafe { $iop(self.0, other.0) })
                }
            })*
            impl Shl<u32> for $int {
                type Output = Self;
                #[inline(always)]
                fn shl(self, count: u32) -> Self {
                    Self(unsafe { $shl(self.0, _mm_cvtsi32_si128(count as i32)) })
                }
            }
            impl Shr<u32> for $int {
                type Output = Self;
                #[inline(always)]
                fn shr(self, count: u32) -> Self {
                    Self(unsafe { $shr(self.0, _mm_cvtsi32_si128(count as i32)) })
                }
            }
            $($rest)*
        };
    }

    vector! {
        F32x4(__m128), U32x4(__m128i), 4,
        real { Add add _mm_add_ps; Sub sub _mm_sub_ps; Mul mul _mm_mul_ps; Div div _mm_div_ps; }
        int { Add add _mm_add_epi32; Sub sub _mm_sub_epi32; BitAnd bitand _mm_and_si128;
              BitOr bitor _mm_or_si128; BitXor bitxor _mm_xor_si128; }
        _mm_sll_epi32, _mm_srl_epi32;
        #[rustfmt::skip]
        impl Vector for F32x4 {
            const LANES: usize = 4;
            type Int = U32x4;
            type Mask = __m128;
            #[inline(always)] fn splat(value: f32) -> Self { Self(unsafe { _mm_set1_ps(value) }) }
            #[inline(always)] fn load(from: &[f32]) -> Self { Self(unsafe { _mm_loadu_ps(from[..4].as_ptr()) }) }
            #[inline(always)] fn store(self, to: &mut [f32]) { unsafe { _mm_storeu_ps(to[..4].as_mut_ptr(), self.0) } }
            #[inline(always)] fn sqrt(self) -> Self { Self(unsafe { _mm_sqrt_ps(self.0) }) }
            #[inline(always)] fn abs(self) -> Self { Self::from_bits(self.to_bits() & Self::splat_int(0x7fff_ffff)) }
            #[inline(always)] fn max(self, other: Self) -> Self { Self(unsafe { _mm_max_ps(self.0, other.0) }) }
            #[inline(always)] fn min(self, other: Self) -> Self { Self(unsafe { _mm_min_ps(self.0, other.0) }) }
            #[inline(always)] fn less(self, other: Self) -> __m128 { unsafe { _mm_cmplt_ps(self.0, other.0) } }
            #[inline(always)] fn select(mask: __m128, yes: Self, no: Self) -> Self {
                Self(unsafe { _mm_or_ps(_mm_and_ps(mask, yes.0), _mm_andnot_ps(mask, no.0)) })
            }
            #[inline(always)] fn select_int(mask: __m128, yes: U32x4, no: U32x4) -> U32x4 {
                Self::select(mask, Self::from_bits(yes), Self::from_bits(no)).to_bits()
            }
            #[inline(always)] fn from_int(value: U32x4) -> Self { Self(unsafe { _mm_cvtepi32_ps(value.0) }) }
            #[inline(always)] fn to_int(self) -> U32x4 { U32x4(unsafe { _mm_cvttps_epi32(self.0) }) }
            #[inline(always)] fn to_bits(self) -> U32x4 { U32x4(unsafe { _mm_castps_si128(self.0) }) }
            #[inline(always)] fn from_bits(bits: U32x4) -> Self { Self(unsafe { _mm_castsi128_ps(bits.0) }) }
            #[inline(always)] fn splat_int(value: u32) -> U32x4 { U32x4(unsafe { _mm_set1_epi32(value.cast_signed()) }) }
            #[inline(always)] fn load_int(from: &[u32]) -> U32x4 { U32x4(unsafe { _mm_loadu_si128(from[..4].as_ptr().cast()) }) }
            #[inline(always)] fn store_int(value: U32x4, to: &mut [u32]) { unsafe { _mm_storeu_si128(to[..4].as_mut_ptr().cast(), value.0) } }
            #[inline(always)] fn multiply_wide(value: U32x4, factor: u32) -> (U32x4, U32x4) {
                // Products of the even and of the odd lanes, 64 bits each.
                unsafe {
                    let factor = _mm_set1_epi32(factor.cast_signed());
                    let low = _mm_set1_epi64x(0xffff_ffff);
                    let even = _mm_mul_epu32(value.0, factor);
                    let odd = _mm_mul_epu32(_mm_srli_epi64::<32>(value.0), factor);
                    let upper = _mm_or_si128(_mm_srli_epi64::<32>(even), _mm_andnot_si128(low, odd));
                    let lower = _mm_or_si128(_mm_and_si128(low, even), _mm_slli_epi64::<32>(odd));
                    (U32x4(upper), U32x4(lower))
                }
            }
        }
    }

    vector! {
        F32x8(__m256), U32x8(__m256i), 8,
        real { Add add _mm256_add_ps; Sub sub _mm256_sub_ps; Mul mul _mm256_mul_ps; Div div _mm256_div_ps; }
        int { Add add _mm256_add_epi32; Sub sub _mm256_sub_epi32; BitAnd bitand _mm256_and_si256;
              BitOr bitor _mm256_or_si256; BitXor bitxor _mm256_xor_si256; }
        _mm256_sll_epi32, _mm256_srl_epi32;
        #[rustfmt::skip]
        impl Vector for F32x8 {
            const LANES: usize = 8;
            type Int = U32x8;
            type Mask = __m256;
            #[inline(always)] fn splat(value: f32) -> Self { Self(unsafe { _mm256_set1_ps(value) }) }
            #[inline(always)] fn load(from: &[f32]) -> Self { Self(unsafe { _mm256_loadu_ps(from[..8].as_ptr()) }) }
            #[inline(always)] fn store(self, to: &mut [f32]) { unsafe { _mm256_storeu_ps(to[..8].as_mut_ptr(), self.0) } }
            #[inline(always)] fn sqrt(self) -> Self { Self(unsafe { _mm256_sqrt_ps(self.0) }) }
            #[inline(always)] fn abs(self) -> Self { Self::from_bits(self.to_bits() & Self::splat_int(0x7fff_ffff)) }
            #[inline(always)] fn max(self, other: Self) -> Self { Self(unsafe { _mm256_max_ps(self.0, other.0) }) }
            #[inline(always)] fn min(self, other: Self) -> Self { Self(unsafe { _mm256_min_ps(self.0, other.0) }) }
            #[inline(always)] fn less(self, other: Self) -> __m256 { unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0) } }
            #[inline(always)] fn select(mask: __m256, yes: Self, no: Self) -> Self { Self(unsafe { _mm256_blendv_ps(no.0, yes.0, mask) }) }
            #[inline(always)] fn select_int(mask: __m256, yes: U32x8, no: U32x8) -> U32x8 {
                Self::select(mask, Self::from_bits(yes), Self::from_bits(no)).to_bits()
            }
            #[inline(always)] fn from_int(value: U32x8) -> Self { Self(unsafe { _mm256_cvtepi32_ps(value.0) }) }
            #[inline(always)] fn to_int(self) -> U32x8 { U32x8(unsafe { _mm256_cvttps_epi32(self.0) }) }
            #[inline(always)] fn to_bits(self) -> U32x8 { U32x8(unsafe { _mm256_castps_si256(self.0) }) }
            #[inline(always)] fn from_bits(bits: U32x8) -> Self { Self(unsafe { _mm256_castsi256_ps(bits.0) }) }
            #[inline(always)] fn splat_int(value: u32) -> U32x8 { U32x8(unsafe { _mm256_set1_epi32(value.cast_signed()) }) }
            #[inline(always)] fn load_int(from: &[u32]) -> U32x8 { U32x8(unsafe { _mm256_loadu_si256(from[..8].as_ptr().cast()) }) }
            #[inline(always)] fn store_int(value: U32x8, to: &mut [u32]) { unsafe { _mm256_storeu_si256(to[..8].as_mut_ptr().cast(), value.0) } }
            #[inline(always)] fn multiply_wide(value: U32x8, factor: u32) -> (U32x8, U32x8) {
                // Products of the even and of the odd lanes, 64 bits each.
                unsafe {
                    let factor = _mm256_set1_epi32(factor.cast_signed());
                    let even = _mm256_mul_epu32(value.0, factor);
                    let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(value.0), factor);
                    let upper = _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd);
                    let lower = _mm256_blend_epi32::<0b1010_1010>(even, _mm256_slli_epi64::<32>(odd));
                    (U32x8(upper), U32x8(lower))
                }
            }
        }
    }

    vector! {
        F32x16(__m512), U32x16(__m512i), 16,
        real { Add add _mm512_add_ps; Sub sub _mm512_sub_ps; Mul mul _mm512_mul_ps; Div div _mm512_div_ps; }
        int { Add add _mm512_add_epi32; Sub sub _mm512_sub_epi32; BitAnd bitand _mm512_and_si512;
              BitOr bitor _mm512_or_si512; BitXor bitxor _mm512_xor_si512; }
        _mm512_sll_epi32, _mm512_srl_epi32;
        #[rustfmt::skip]
        impl Vector for F32x16 {
            const LANES: usize = 16;
            type Int = U32x16;
            type Mask = __mmask16;
            #[inline(always)] fn splat(value: f32) -> Self { Self(unsafe { _mm512_set1_ps(value) }) }
            #[inline(always)] fn load(from: &[f32]) -> Self { Self(unsafe { _mm512_loadu_ps(from[..16].as_ptr()) }) }
            #[inline(always)] fn store(self, to: &mut [f32]) { unsafe { _mm512_storeu_ps(to[..16].as_mut_ptr(), self.0) } }
            #[inline(always)] fn sqrt(self) -> Self { Self(unsafe { _mm512_sqrt_ps(self.0) }) }
            #[inline(always)] fn abs(self) -> Self { Self::from_bits(self.to_bits() & Self::splat_int(0x7fff_ffff)) }
            #[inline(always)] fn max(self, other: Self) -> Self { Self(unsafe { _mm512_max_ps(self.0, other.0) }) }
            #[inline(always)] fn min(self, other: Self) -> Self { Self(unsafe { _mm512_min_ps(self.0, other.0) }) }
            #[inline(always)] fn less(self, other: Self) -> __mmask16 { unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) } }
            #[inline(always)] fn select(mask: __mmask16, yes: Self, no: Self) -> Self { Self(unsafe { _mm512_mask_blend_ps(mask, no.0, yes.0) }) }
            #[inline(always)] fn select_int(mask: __mmask16, yes: U32x16, no: U32x16) -> U32x16 {
                U32x16(unsafe { _mm512_mask_blend_epi32(mask, no.0, yes.0) })
            }
            #[inline(always)] fn from_int(value: U32x16) -> Self { Self(unsafe { _mm512_cvtepi32_ps(value.0) }) }
            #[inline(always)] fn to_int(self) -> U32x16 { U32x16(unsafe { _mm512_cvttps_epi32(self.0) }) }
            #[inline(always)] fn to_bits(self) -> U32x16 { U32x16(unsafe { _mm512_castps_si512(self.0) }) }
            #[inline(always)] fn from_bits(bits: U32x16) -> Self { Self(unsafe { _mm512_castsi512_ps(bits.0) }) }
            #[inline(always)] fn splat_int(value: u32) -> U32x16 { U32x16(unsafe { _mm512_set1_epi32(value.cast_signed()) }) }
            #[inline(always)] fn load_int(from: &[u32]) -> U32x16 { U32x16(unsafe { _mm512_loadu_si512(from[..16].as_ptr().cast()) }) }
            #[inline(always)] fn store_int(value: U32x16, to: &mut [u32]) { unsafe { _mm512_storeu_si512(to[..16].as_mut_ptr().cast(), value.0) } }
            #[inline(always)] fn multiply_wide(value: U32x16, factor: u32) -> (U32x16, U32x16) {
                // Products of the even and of the odd lanes, 64 bits each.
                unsafe {
                    let factor = _mm512_set1_epi32(factor.cast_signed());
                    let even = _mm512_mul_epu32(value.0, factor);
                    let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(value.0), factor);
                    let upper = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64::<32>(even), odd);
                    let lower = _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64::<32>(odd));
                    (U32x16(upper), U32x16(lower))
                }
            }
        }
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn sse2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<F32x4>()
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<F32x8>()
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<F32x16>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test kernel that uses every operation once, on numbers that need rounding.
    struct Everything<'a>(&'a [f32; 16], &'a mut [u32; 32]);

    impl Kernel for Everything<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector>(self) {
            for first in (0..16).step_by(V::LANES) {
                let x = V::load(&self.0[first..]);
                let y = (x * x + V::splat(0.1)).sqrt() / (x.abs() - V::splat(3.3)) * x;
                let mask = x.less(y);
                let z = V::select(mask, x.max(y), x.min(V::splat(0.7)));
                let (upper, lower) = V::multiply_wide(z.to_bits(), 0xd251_1f53);
                let n = V::select_int(mask, upper, lower) - V::splat_int(77);
                let m = ((n ^ lower) + ((n << 3) | (upper >> 7))) & V::splat_int(0x0fff_ffff);
                V::store_int(m, &mut self.1[first..]);
                V::store_int((V::from_int(m) * V::splat(0.3)).to_int(), &mut self.1[16 + first..]);
            }
        }
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        let mut x = 0.37_f32;
        let input = std::array::from_fn(|_| {
            x = x * -1.71 + 0.123;
            x
        });
        let of = |simd: Simd| {
            let mut output = [0; 32];
            simd.run(Everything(&input, &mut output));
            output
        };
        let mut all: Vec<_> = Simd::available().map(of).collect();
        assert_eq!(Simd::available().next().map(Simd::name), Some("scalar"));
        let first = all.remove(0);
        assert!(all.iter().all(|other| *other == first));
        assert!(first.iter().collect::<std::collections::BTreeSet<_>>().len() > 28);
    }

    #[test]
    fn names_are_those_of_the_environment_variable() {
        assert_eq!(Simd::named("scalar").map(Simd::name), Some("scalar"));
        assert_eq!(Simd::named("mmx"), None);
        assert!(Simd::NAMES.contains(&Simd::chosen().unwrap().name()));
    }
}
