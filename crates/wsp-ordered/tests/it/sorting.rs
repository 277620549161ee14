//! Sorting beside `slice::sort`.

use proptest::collection::vec;
use proptest::prelude::*;
use wsp_ordered::Arrange;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Few keys, so that many are equal: what is equal stays in the order in which it stood.
    #[test]
    fn slices_are_sorted_as_the_standard_library_sorts_them(items in vec((0..40u8, any::<u16>()), 0..300)) {
        let (mut ours, mut std) = (items.clone(), items.clone());
        ours.arrange_by_key(|item| item.0);
        std.sort_by_key(|item| item.0);
        prop_assert_eq!(&ours, &std);

        ours.arrange_by(|a, b| (b.1 % 50).cmp(&(a.1 % 50)).then(a.0.cmp(&b.0)));
        std.sort_by(|a, b| (b.1 % 50).cmp(&(a.1 % 50)).then(a.0.cmp(&b.0)));
        prop_assert_eq!(&ours, &std);

        ours.arrange();
        std.sort();
        prop_assert_eq!(&ours, &std);
        ours.arrange();
        prop_assert_eq!(&ours, &std);
    }

    #[test]
    fn items_that_own_memory_are_moved_and_not_lost(items in vec("[a-c]{0,3}", 0..50)) {
        let (mut ours, mut std) = (items.clone(), items);
        ours.arrange();
        std.sort();
        prop_assert_eq!(ours, std);
    }
}
