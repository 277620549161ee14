//! Numbers of the fields of Perfetto's messages that traces have, for what writes and what reads them.
//!
//! They are those of `protos/perfetto/trace/trace_packet.proto` and the files that it imports, published with Perfetto 59.1.

/// `packet` of `Trace`.
pub const PACKET: u32 = 1;

/// `TracePacket`.
pub mod packet {
    /// `clock_snapshot`.
    pub const CLOCK_SNAPSHOT: u32 = 6;
    /// `timestamp`.
    pub const TIMESTAMP: u32 = 8;
    /// `sequence_id`.
    pub const SEQUENCE_ID: u32 = 10;
    /// `track_event`.
    pub const TRACK_EVENT: u32 = 11;
    /// `interned_data`.
    pub const INTERNED_DATA: u32 = 12;
    /// `sequence_flags`.
    pub const SEQUENCE_FLAGS: u32 = 13;
    /// `compressed_packets`.
    pub const COMPRESSED_PACKETS: u32 = 50;
    /// `defaults`.
    pub const DEFAULTS: u32 = 59;
    /// `track_descriptor`.
    pub const TRACK_DESCRIPTOR: u32 = 60;
}

/// `SEQ_INCREMENTAL_STATE_CLEARED` of `TracePacket.SequenceFlags`.
pub const STATE_CLEARED: u64 = 1;
/// `SEQ_NEEDS_INCREMENTAL_STATE`.
pub const NEEDS_STATE: u64 = 2;

/// `TracePacketDefaults`.
pub mod defaults {
    /// `track_event`.
    pub const TRACK_EVENT: u32 = 11;
    /// `clock_id`.
    pub const CLOCK_ID: u32 = 58;
    /// `track_uuid` of `TrackEventDefaults`.
    pub const TRACK_UUID: u32 = 11;
}

/// `ClockSnapshot` and `ClockSnapshot.Clock`.
pub mod snapshot {
    /// `clocks`.
    pub const CLOCKS: u32 = 1;
    /// `id`.
    pub const ID: u32 = 1;
    /// `timestamp`.
    pub const TIMESTAMP: u32 = 2;
    /// `is_incremental`.
    pub const IS_INCREMENTAL: u32 = 3;
    /// `unit_ns`.
    pub const UNIT_NS: u32 = 4;
    /// `BUILTIN_CLOCK_BOOTTIME`, which viewers show.
    pub const BOOT_TIME: u64 = 6;
    /// The first of the clocks that a sequence may have for itself.
    pub const OWN: u64 = 64;
}

/// `TrackDescriptor`, `ProcessDescriptor` and `CounterDescriptor`.
pub mod track {
    /// `uuid`.
    pub const UUID: u32 = 1;
    /// `name`.
    pub const NAME: u32 = 2;
    /// `process`.
    pub const PROCESS: u32 = 3;
    /// `parent`.
    pub const PARENT: u32 = 5;
    /// `counter`.
    pub const COUNTER: u32 = 8;
    /// `child_ordering`.
    pub const CHILD_ORDERING: u32 = 11;
    /// `rank`.
    pub const RANK: u32 = 12;
    /// `explicit`.
    pub const EXPLICIT: u64 = 3;
    /// `process_pid`.
    pub const PROCESS_PID: u32 = 1;
    /// `process_name`.
    pub const PROCESS_NAME: u32 = 6;
    /// `process_labels`.
    pub const PROCESS_LABELS: u32 = 8;
    /// `counter_unit`.
    pub const COUNTER_UNIT: u32 = 3;
    /// `unit_count`.
    pub const UNIT_COUNT: u64 = 2;
}

/// `TrackEvent`.
pub mod event {
    /// `category_iids`.
    pub const CATEGORY_IIDS: u32 = 3;
    /// `annotations`.
    pub const ANNOTATIONS: u32 = 4;
    /// `type`.
    pub const TYPE: u32 = 9;
    /// `name_iid`.
    pub const NAME_IID: u32 = 10;
    /// `counter_value`.
    pub const COUNTER_VALUE: u32 = 30;
    /// `flow_ids`.
    pub const FLOW_IDS: u32 = 47;
    /// `terminating_flow_ids`.
    pub const TERMINATING_FLOW_IDS: u32 = 48;
    /// `begin`.
    pub const BEGIN: u64 = 1;
    /// `end`.
    pub const END: u64 = 2;
    /// `counter`.
    pub const COUNTER: u64 = 4;
}

/// `DebugAnnotation`.
pub mod annotation {
    /// `name_iid`.
    pub const NAME_IID: u32 = 1;
    /// `bool`.
    pub const BOOL: u32 = 2;
    /// `uint`.
    pub const UINT: u32 = 3;
    /// `int`.
    pub const INT: u32 = 4;
    /// `string`.
    pub const STRING: u32 = 6;
    /// `array`.
    pub const ARRAY: u32 = 12;
    /// `string_iid`.
    pub const STRING_IID: u32 = 17;
}

/// Texts of `InternedData`: each kind is one of its fields, whose messages have a number in field 1 and the text in field 2.
pub mod interned {
    /// `event_categories`.
    pub const CATEGORY: u32 = 1;
    /// `event_names`.
    pub const NAME: u32 = 2;
    /// `debug_annotation_names`.
    pub const ANNOTATION: u32 = 3;
    /// `debug_annotation_string_values`.
    pub const WORD: u32 = 29;
}
