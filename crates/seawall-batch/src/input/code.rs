//! What can be wrong with an input, or odd about it, by stable code.

/// Why a row or a file cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultCode {
    /// Nothing but white space.
    Empty,
    /// UTF-16 or UTF-32.
    Utf16,
    /// Bytes that are not UTF-8.
    Utf8,
    /// A gzip stream that does not unpack.
    Gzip,
    /// A zstd stream that does not unpack.
    Zstd,
    /// Packed in another way.
    Packed,
    /// One JSON array instead of lines.
    Array,
    /// Comma- or tab-separated values.
    Csv,
    /// A Git-LFS pointer instead of the file.
    Lfs,
    /// NUL bytes.
    Nul,
    /// Longer than the limit.
    LineTooLong,
    /// Not JSON.
    Json,
    /// Something after the row's value.
    Trailing,
    /// JSON, and not an object.
    NotObject,
    /// Nested too deeply.
    Depth,
    /// A key twice in the envelope.
    DupKey,
    /// No id.
    NoId,
    /// An id that is neither text nor a whole number.
    IdType,
    /// An empty id.
    IdEmpty,
    /// An id that is no text: half of a surrogate pair.
    IdSurrogate,
    /// The same id twice.
    DupId,
    /// No body, or one that is not an object.
    Body,
    /// None of the known forms.
    Form,
    /// Not a method.
    Method,
    /// Not a path.
    Url,
    /// Another host.
    UrlAbsolute,
    /// Asks for a stream.
    Stream,
}

impl FaultCode {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Empty => "E_EMPTY",
            Self::Utf16 => "E_UTF16",
            Self::Utf8 => "E_UTF8",
            Self::Gzip => "E_GZIP",
            Self::Zstd => "E_ZSTD",
            Self::Packed => "E_PACKED",
            Self::Array => "E_ARRAY",
            Self::Csv => "E_CSV",
            Self::Lfs => "E_LFS",
            Self::Nul => "E_NUL",
            Self::LineTooLong => "E_LINE_TOO_LONG",
            Self::Json => "E_JSON",
            Self::Trailing => "E_TRAILING",
            Self::NotObject => "E_NOT_OBJECT",
            Self::Depth => "E_DEPTH",
            Self::DupKey => "E_DUP_KEY",
            Self::NoId => "E_NO_ID",
            Self::IdType => "E_ID_TYPE",
            Self::IdEmpty => "E_ID_EMPTY",
            Self::IdSurrogate => "E_ID_SURROGATE",
            Self::DupId => "E_DUP_ID",
            Self::Body => "E_BODY",
            Self::Form => "E_FORM",
            Self::Method => "E_METHOD",
            Self::Url => "E_URL",
            Self::UrlAbsolute => "E_URL_ABSOLUTE",
            Self::Stream => "E_STREAM",
        }
    }

    /// Whether leaving rows out helps. A whole file of another kind and an id that stands twice (which row was
    /// meant?) are for a person to mend.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Empty
            | Self::Utf16
            | Self::Gzip
            | Self::Zstd
            | Self::Packed
            | Self::Array
            | Self::Csv
            | Self::Lfs
            | Self::DupId => Scope::File,
            Self::Utf8
            | Self::Nul
            | Self::LineTooLong
            | Self::Json
            | Self::Trailing
            | Self::NotObject
            | Self::Depth
            | Self::DupKey
            | Self::NoId
            | Self::IdType
            | Self::IdEmpty
            | Self::IdSurrogate
            | Self::Body
            | Self::Form
            | Self::Method
            | Self::Url
            | Self::UrlAbsolute
            | Self::Stream => Scope::Row,
        }
    }
}

/// How far a fault reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One row; `--skip-invalid` runs the rest.
    Row,
    /// The whole input; nothing runs.
    File,
}

/// What is odd about an input that runs all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WarningCode {
    /// A byte-order mark at the start of the file.
    Bom,
    /// A byte-order mark at the start of a later line.
    BomMid,
    /// Lines that end in CR alone.
    CrOnly,
    /// Blank lines.
    Blank,
    /// An id longer than the 64 characters that OpenAI and Anthropic take.
    IdLong,
    /// An id that is a number; its digits are the id.
    IdNumber,
    /// A key twice in one object of the body.
    DupKeyBody,
    /// Half of a surrogate pair in the body.
    Surrogate,
    /// No limit on the answer's length, so no bound on its cost.
    NoMaxTokens,
    /// No model in the row, and none given.
    NoModel,
    /// Messages that providers of this form refuse.
    Shape,
}

impl WarningCode {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Bom => "W_BOM",
            Self::BomMid => "W_BOM_MID",
            Self::CrOnly => "W_CR_ONLY",
            Self::Blank => "W_BLANK",
            Self::IdLong => "W_ID_LONG",
            Self::IdNumber => "W_ID_NUMBER",
            Self::DupKeyBody => "W_DUP_KEY_BODY",
            Self::Surrogate => "W_SURROGATE",
            Self::NoMaxTokens => "W_NO_MAX_TOKENS",
            Self::NoModel => "W_NO_MODEL",
            Self::Shape => "W_SHAPE",
        }
    }

    /// What it means, in a sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Bom => "a byte-order mark at the start was left out",
            Self::BomMid => "a byte-order mark at the start of a line was left out (files joined with cat?)",
            Self::CrOnly => "lines end in CR alone; read as line ends",
            Self::Blank => "blank lines were passed over",
            Self::IdLong => "ids longer than 64 characters; OpenAI's and Anthropic's own batches refuse them",
            Self::IdNumber => "ids that are numbers; their digits are used as text",
            Self::DupKeyBody => "a key stands twice in one object of the body; sent as it stands",
            Self::Surrogate => "half of a surrogate pair in the body; sent as it stands",
            Self::NoMaxTokens => "no limit on the answer's length (max_tokens), so no bound on its cost",
            Self::NoModel => "rows without a model; --model gives them one",
            Self::Shape => "messages that are empty, of unknown role or without content; the server decides",
        }
    }
}
