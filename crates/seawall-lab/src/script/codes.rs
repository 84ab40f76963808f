//! The error codes of HTTP/2 (RFC 9113, 7), by their names in lower case.

/// Why an HTTP/2 stream or connection is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ErrorCode {
    /// No error: an orderly goodbye.
    NoError = 0,
    /// The peer broke the protocol.
    ProtocolError = 1,
    /// Something went wrong inside.
    InternalError = 2,
    /// The peer sent more than the window.
    FlowControlError = 3,
    /// SETTINGS were not confirmed.
    SettingsTimeout = 4,
    /// A frame came for a stream that is closed.
    StreamClosed = 5,
    /// A frame of a wrong size.
    FrameSizeError = 6,
    /// Not looked at: it is safe to send again.
    RefusedStream = 7,
    /// No longer needed.
    Cancel = 8,
    /// The compression of headers is broken.
    CompressionError = 9,
    /// A CONNECT broke.
    ConnectError = 10,
    /// Too much load.
    EnhanceYourCalm = 11,
    /// TLS is too weak.
    InadequateSecurity = 12,
    /// Speak HTTP/1.1 instead.
    Http11Required = 13,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 14] = [
        Self::NoError,
        Self::ProtocolError,
        Self::InternalError,
        Self::FlowControlError,
        Self::SettingsTimeout,
        Self::StreamClosed,
        Self::FrameSizeError,
        Self::RefusedStream,
        Self::Cancel,
        Self::CompressionError,
        Self::ConnectError,
        Self::EnhanceYourCalm,
        Self::InadequateSecurity,
        Self::Http11Required,
    ];

    /// The number on the wire.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The word in scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoError => "no-error",
            Self::ProtocolError => "protocol-error",
            Self::InternalError => "internal-error",
            Self::FlowControlError => "flow-control-error",
            Self::SettingsTimeout => "settings-timeout",
            Self::StreamClosed => "stream-closed",
            Self::FrameSizeError => "frame-size-error",
            Self::RefusedStream => "refused-stream",
            Self::Cancel => "cancel",
            Self::CompressionError => "compression-error",
            Self::ConnectError => "connect-error",
            Self::EnhanceYourCalm => "enhance-your-calm",
            Self::InadequateSecurity => "inadequate-security",
            Self::Http11Required => "http-1.1-required",
        }
    }
}
