//! Numbers of the fields of Perfetto's messages that traces have, for what writes and what reads them.
//!
//! They are those of `protos/perfetto/trace/trace_packet.proto` and the files that it imports, published with Perfetto 59.1.

/// `Trace`.
pub(crate) const PACKET: u32 = 1;

/// `TracePacket`.
pub(crate) mod packet {
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE_ID: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const COMPRESSED_PACKETS: u32 = 50;
    pub(crate) const DEFAULTS: u32 = 59;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
}

/// The sequence of packets that describe tracks, until one of events begins, and of that which marks the end.
pub(crate) const FIRST_SEQUENCE: u64 = 1;

/// `SEQ_INCREMENTAL_STATE_CLEARED` of `TracePacket.SequenceFlags`.
pub(crate) const STATE_CLEARED: u64 = 1;
/// `SEQ_NEEDS_INCREMENTAL_STATE`.
pub(crate) const NEEDS_STATE: u64 = 2;

/// `TracePacketDefaults`.
pub(crate) mod defaults {
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const CLOCK_ID: u32 = 58;
    /// Of `TrackEventDefaults`.
    pub(crate) const TRACK_UUID: u32 = 11;
}

/// `ClockSnapshot` and `ClockSnapshot.Clock`.
pub(crate) mod snapshot {
    pub(crate) const CLOCKS: u32 = 1;
    pub(crate) const ID: u32 = 1;
    pub(crate) const TIMESTAMP: u32 = 2;
    pub(crate) const IS_INCREMENTAL: u32 = 3;
    pub(crate) const UNIT_NS: u32 = 4;
    /// `BUILTIN_CLOCK_BOOTTIME`, which viewers show.
    pub(crate) const BOOT_TIME: u64 = 6;
    /// The first of the clocks that a sequence may have for itself.
    pub(crate) const OWN: u64 = 64;
}

/// `TrackDescriptor`, `ProcessDescriptor` and `CounterDescriptor`.
pub(crate) mod track {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const PARENT: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;
    pub(crate) const CHILD_ORDERING: u32 = 11;
    pub(crate) const RANK: u32 = 12;
    pub(crate) const EXPLICIT: u64 = 3;
    pub(crate) const PROCESS_PID: u32 = 1;
    pub(crate) const PROCESS_NAME: u32 = 6;
    pub(crate) const PROCESS_LABELS: u32 = 8;
    pub(crate) const COUNTER_UNIT: u32 = 3;
    pub(crate) const UNIT_COUNT: u64 = 2;
}

/// `TrackEvent`.
pub(crate) mod event {
    pub(crate) const CATEGORY_IIDS: u32 = 3;
    pub(crate) const ANNOTATIONS: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_IID: u32 = 10;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    pub(crate) const FLOW_IDS: u32 = 47;
    pub(crate) const TERMINATING_FLOW_IDS: u32 = 48;
    pub(crate) const BEGIN: u64 = 1;
    pub(crate) const END: u64 = 2;
    pub(crate) const COUNTER: u64 = 4;
}

/// `DebugAnnotation`.
pub(crate) mod annotation {
    pub(crate) const NAME_IID: u32 = 1;
    pub(crate) const BOOL: u32 = 2;
    pub(crate) const UINT: u32 = 3;
    pub(crate) const INT: u32 = 4;
    pub(crate) const STRING: u32 = 6;
    pub(crate) const ARRAY: u32 = 12;
    pub(crate) const STRING_IID: u32 = 17;
}

/// Texts of `InternedData`: each kind is one of its fields, whose messages have a number in field 1 and the text in field 2.
pub(crate) mod interned {
    pub(crate) const CATEGORY: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const ANNOTATION: u32 = 3;
    pub(crate) const WORD: u32 = 29;
}
