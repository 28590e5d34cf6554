//! BSODH, compared with the dense form in the paper.

use hashbrook::learners::bsodh::{Order, Params};
use hashbrook::{Center, HashFunction, HashParts, Method};
use proptest::prelude::*;

use crate::streams::{config, setup_with, stream};
use crate::twin::dense_bsodh::DenseBsodh;

fn params() -> impl Strategy<Value = Params> {
    let order = prop_oneof![Just(Order::Printed), Just(Order::Alternating), Just(Order::Released)];
    let weights =
        prop_oneof![Just((1.2, 0.2)), Just((1.0, 0.0)), Just((1.0, 1.0)), Just((1.5, 0.25))];
    (order, weights, 0.05..2.0, 0.2..1.0).prop_map(
        |(order, (similar_weight, dissimilar_weight), ridge, fit_weight)| Params {
            order,
            ridge,
            fit_weight,
            similar_weight,
            dissimilar_weight,
            ..Params::default()
        },
    )
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn collapsed_by_label_set_it_gives_the_codes_of_the_dense_form(
        stream in stream(), params in params(), bits in 1..20usize, seed: u64,
    ) {
        let setup = setup_with(|setup| { setup.center = Center::None; setup.unit = false; });
        let mut model = Method::Bsodh(params.clone())
            .start_with(stream.dim, bits, seed, setup).unwrap();
        let start = model.hash_function().parts().weights.clone();
        let mut dense = DenseBsodh::new(params, stream.dim, bits, start);
        for batch in stream.batches() {
            model.learn(batch).unwrap();
            dense.learn(batch.features(), batch.labels().unwrap());
            let twin = HashParts::linear(stream.dim, bits, dense.weights.clone());
            prop_assert_eq!(
                model.hash_function().encode(stream.features()).unwrap(),
                HashFunction::new(twin).unwrap().encode(stream.features()).unwrap()
            );
        }
    }
}
