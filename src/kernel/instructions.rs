//! Detection of the processor's instruction sets. All queries of processor features are in this
//! file.

/// Instruction sets that code may be compiled for, beyond the baseline of the architecture.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) enum Feature {
    /// `popcnt`
    CountBits,
    /// `avx2`
    Avx2,
    /// `avx2`, `popcnt`
    Avx2AndCountBits,
    /// `avx2`, `fma`
    Avx2Fused,
    /// `avx2`, `f16c`
    Avx2Halves,
    /// `avx512f`
    Avx512,
    /// `avx512f`, `avx512bw`, `avx512vl`
    Avx512Words,
    /// `avx512f`, `avx512vpopcntdq`
    Avx512CountBits,
    /// `avx512f`, `avx512vpopcntdq`, `popcnt`
    Avx512AndCountBits,
    /// `avx512f`, `avx512bw`, `avx512vpopcntdq`, `popcnt`
    Avx512WordsCountBits,
    /// `avx512f`, `avx512vnni`
    Avx512Vnni,
}

impl Feature {
    /// Returns true if this machine has all instructions that the variant's doc comment lists.
    ///
    /// Kernels call this for every tile, always with a variant that is known at compile time.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn is_there(self) -> bool {
        let avx512 = || is_x86_feature_detected!("avx512f");
        match self {
            Feature::CountBits => is_x86_feature_detected!("popcnt"),
            Feature::Avx2 => is_x86_feature_detected!("avx2"),
            Feature::Avx2AndCountBits => Feature::Avx2.is_there() && Feature::CountBits.is_there(),
            Feature::Avx2Fused => Feature::Avx2.is_there() && is_x86_feature_detected!("fma"),
            Feature::Avx2Halves => Feature::Avx2.is_there() && is_x86_feature_detected!("f16c"),
            Feature::Avx512 => avx512(),
            Feature::Avx512Words => {
                let words = is_x86_feature_detected!("avx512bw");
                avx512() && words && is_x86_feature_detected!("avx512vl")
            }
            Feature::Avx512CountBits => avx512() && is_x86_feature_detected!("avx512vpopcntdq"),
            Feature::Avx512AndCountBits => {
                Feature::Avx512CountBits.is_there() && Feature::CountBits.is_there()
            }
            Feature::Avx512WordsCountBits => {
                Feature::Avx512AndCountBits.is_there() && is_x86_feature_detected!("avx512bw")
            }
            Feature::Avx512Vnni => avx512() && is_x86_feature_detected!("avx512vnni"),
        }
    }
}

/// Instruction sets among which kernels choose, each with more instructions than the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Instructions {
    /// AVX-512 with an instruction that multiplies and adds up pairs of 16-bit integers.
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2 with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Instructions {
    /// Returns all instruction sets that this machine has, the fastest first.
    pub(super) fn available() -> impl Iterator<Item = Instructions> {
        #[cfg(target_arch = "x86_64")]
        let by_hand = {
            let avx2 = Feature::Avx2Fused.is_there();
            let avx512 = avx2 && Feature::Avx512.is_there();
            let vnni = avx512 && Feature::Avx512Vnni.is_there();
            let found = [
                vnni.then_some(Instructions::Avx512Vnni),
                avx512.then_some(Instructions::Avx512),
                avx2.then_some(Instructions::Avx2),
            ];
            found.into_iter().flatten()
        };
        #[cfg(not(target_arch = "x86_64"))]
        let by_hand = std::iter::empty();
        by_hand.chain([Instructions::Portable])
    }

    pub(super) fn best() -> Instructions {
        Instructions::available().next().unwrap_or(Instructions::Portable)
    }
}
