//! The instruction sets that kernels are written for by hand.

/// What a processor can do, each more than the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Instructions {
    /// Multiplies and adds up pairs of 16-bit numbers, too.
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// With fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Instructions {
    /// All that this machine has, the fastest first.
    pub(super) fn available() -> impl Iterator<Item = Instructions> {
        #[cfg(target_arch = "x86_64")]
        let by_hand = {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = avx2 && is_x86_feature_detected!("avx512f");
            let vnni = avx512 && is_x86_feature_detected!("avx512vnni");
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
