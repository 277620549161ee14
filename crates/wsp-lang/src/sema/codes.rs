//! Diagnostic codes of names, types and lowering, WSP0100-WSP0299.

use wsp_ir::diag::Code;

macro_rules! codes {
    ($($name:ident = $number:literal;)*) => {
        $(pub(crate) const $name: Code = Code($number);)*

        /// Every code of this module.
        #[cfg(test)]
        pub(crate) const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    REDEFINED = 100;
    RESERVED_NAME = 101;
    UNKNOWN_NAME = 102;
    UNKNOWN_FUNCTION = 103;
    UNKNOWN_TYPE = 104;
    UNKNOWN_TENSOR = 105;
    UNKNOWN_AXIS = 106;
    UNKNOWN_SPACE = 107;
    UNKNOWN_KERNEL = 108;
    UNKNOWN_TIERS = 109;
    UNKNOWN_SCHEDULE = 110;
    UNKNOWN_STAGE = 111;
    WRONG_KIND = 112;

    CYCLE = 120;
    NOT_LAUNCH_KNOWN = 121;
    CONST_FAULT = 122;

    TYPE_MISMATCH = 130;
    BAD_OPERANDS = 131;
    NOT_ASSIGNABLE = 132;
    ARGUMENT_COUNT = 133;
    NOT_HERE = 134;
    BAD_ARGUMENT = 135;
    TYPE_NOT_ALLOWED = 136;

    RECURSION = 140;
    BAD_RETURN = 141;
    BAD_SIGNATURE = 142;
    TEMPLATE_ARGUMENTS = 143;
    OUTSIDE_LOOP = 144;
    TOO_DEEP = 145;
    TOO_LARGE = 146;

    MISSING_SHAPE = 150;
    BAD_CACHE_SHAPE = 151;
    TOO_MANY_DIMS = 152;
    UNBOUND_SHAPE = 153;
    BAD_DIM = 154;

    DUPLICATE_AXIS = 160;
    DUPLICATE_TILE = 161;
    ZERO_TILE = 162;
    BACKWARD_AXIS = 163;
    EMPTY_SPACE = 164;
    DUPLICATE_GENERATOR = 165;

    MISSING_DEFAULT = 170;
    DEFAULT_NOT_LAST = 171;
    UNREACHABLE_TIER = 172;
    TWO_SELECTORS = 173;
    AMBIGUOUS_TIERS = 174;
    SLOT_DISTANCE = 175;
    SHARED_SLOT = 176;
    FLOAT_INDEX = 177;

    DUPLICATE_POLICY = 180;
    SCHEDULE_MISMATCH = 181;

    BAD_FIELD_TYPE = 190;
    DUPLICATE_FIELD = 191;
    UNKNOWN_FIELD = 192;
    MISSING_FIELD = 193;
    LARGE_DESCRIPTOR = 194;
    BAD_FIELD_COUNT = 195;
    NO_CONSUMER = 196;
    MIXED_CONSUMERS = 197;
    MISSING_TIER_FIELD = 198;
    UNCLEAR_DESCRIPTOR = 199;
    TWO_DESCRIPTORS = 200;

    SCHEDULED_FOR_ARITY = 210;
    NESTED_SCHEDULED_FOR = 211;
    NOT_AUTO_TILED = 212;
    WRONG_AXIS_KIND = 213;

    BAD_TILE_TYPE = 220;
    TILE_SHAPE = 221;
    MATMUL_ROLE = 222;
    MISSING_TRANSPOSE = 223;
    TOO_MANY_INDICES = 224;
    BAD_PLACE = 225;
    TILE_OVERLAP = 226;
    NOT_ONE_ROW = 227;

    TWO_ENTRIES = 230;
    BAD_LAUNCH = 231;
    BAD_BINDING = 232;
    DUPLICATE_BINDING = 233;
    ENTRY_BODY = 234;
    NO_GENERATOR = 235;

    BAD_ENTRY_PARAM = 240;
    MIXED_KERNELS = 241;
    NOT_GIVEN = 242;
    NOT_A_TASK = 243;
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_ir::diag::lookup;

    #[test]
    fn every_code_is_in_range_and_explained() {
        for code in ALL {
            assert!((100..300).contains(&code.0), "{code} belongs to others");
            assert!(lookup(*code).is_some(), "{code} is not explained");
        }
    }
}
