//! Packed codes.

use hashbrook::{Codes, Error, MAX_BITS, hamming};
use proptest::prelude::*;

use crate::streams::config;

fn bools() -> impl Strategy<Value = (usize, Vec<Vec<bool>>)> {
    (1..=200usize).prop_flat_map(|bits| {
        let code = prop::collection::vec(any::<bool>(), bits);
        (Just(bits), prop::collection::vec(code, 0..8))
    })
}

/// Packs codes like `numpy.packbits(bitorder="little")`: byte by byte, least significant bit first.
fn pack(codes: &[Vec<bool>]) -> Vec<u8> {
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    codes.iter().flat_map(|code| code.chunks(8).map(byte)).collect()
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn bytes_and_bits_agree((bits, list) in bools()) {
        let bytes = pack(&list);
        let codes = Codes::from_bytes(bits, &bytes).unwrap();
        prop_assert_eq!(codes.len(), list.len());
        prop_assert_eq!(codes.to_bytes(), bytes);
        for (row, code) in list.iter().enumerate() {
            for (bit, &value) in code.iter().enumerate() {
                prop_assert_eq!(codes.bit(row, bit), value);
            }
        }
        let mut pushed = Codes::new(bits).unwrap();
        codes.iter().for_each(|code| pushed.push(code).unwrap());
        prop_assert_eq!(&pushed, &codes);
        prop_assert_eq!(&Codes::from_words(bits, codes.clone().into_words()).unwrap(), &codes);
        let rows: Vec<usize> = (0..codes.len()).rev().collect();
        let reversed = codes.select(&rows);
        for (row, &from) in rows.iter().enumerate() {
            prop_assert_eq!(reversed.code(row), codes.code(from));
        }
    }

    #[test]
    fn distance_counts_the_bits_that_differ((bits, list) in bools()) {
        let codes = Codes::from_bytes(bits, &pack(&list)).unwrap();
        for (i, left) in list.iter().enumerate() {
            for (j, right) in list.iter().enumerate() {
                let differ = left.iter().zip(right).filter(|(l, r)| l != r).count();
                prop_assert_eq!(hamming(codes.code(i), codes.code(j)) as usize, differ);
            }
        }
    }
}

#[test]
fn lengths_out_of_range_are_refused() {
    for bits in [0, MAX_BITS + 1, 2000, usize::MAX] {
        assert!(matches!(Codes::new(bits), Err(Error::Bits(found)) if found == bits));
    }
    assert!(Codes::new(1).is_ok() && Codes::new(MAX_BITS).is_ok());
}

#[test]
fn bytes_that_do_not_fit_are_refused() {
    let message = |bits, bytes: &[u8]| Codes::from_bytes(bits, bytes).unwrap_err().to_string();
    assert!(message(13, &[0, 0, 0]).contains("not a whole number of codes"));
    assert!(message(13, &[0, 0, 0xff, 0b10_0000]).contains("row 1"));
    let message = |bits, words: &[u64]| Codes::from_words(bits, words.to_vec()).unwrap_err();
    assert!(matches!(message(0, &[]), Error::Bits(0)));
    assert!(message(65, &[0, 1, 0]).to_string().contains("not a whole number of codes"));
    let beyond = message(65, &[u64::MAX, 1, 0, 2]);
    assert!(matches!(beyond, Error::PackedCodes { row: 1, bits: 65, .. }), "{beyond}");
    assert_eq!(Codes::from_words(64, vec![u64::MAX]).unwrap().len(), 1);
    assert!(Codes::from_words(65, Vec::new()).unwrap().is_empty());
    let mut codes = Codes::new(13).unwrap();
    assert!(codes.push(&[1 << 13]).is_err());
    assert!(codes.push(&[0, 0]).is_err());
    assert!(codes.append(&Codes::new(14).unwrap()).is_err());
    assert!(codes.is_empty());
}
