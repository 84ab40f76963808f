//! One chat in every dialect, as it stands on the wire.

use super::*;
use expect_test::{Expect, expect};

fn check(sent: &Encoded, expected: Expect) {
    let mut told = serde_json::to_string_pretty(&body(sent)).unwrap();
    for change in &sent.changes {
        told.push_str(&format!("\n{change}"));
    }
    told.push('\n');
    expected.assert_eq(&told);
}

#[test]
fn a_chat_as_openai_has_it() {
    // Each result of a tool is a message of its own; a failed one has no mark.
    check(
        &Dialect::OpenAi.encode(&rich(), Delivery::Stream).unwrap(),
        expect![[r#"
            {
              "max_tokens": 100,
              "messages": [
                {
                  "content": "Be brief.",
                  "role": "system"
                },
                {
                  "content": "Is it warm there?",
                  "role": "user"
                },
                {
                  "content": "Let me see.",
                  "role": "assistant",
                  "tool_calls": [
                    {
                      "function": {
                        "arguments": "{\"why\": \"asked\", \"city\": \"Oslo\"}",
                        "name": "weather"
                      },
                      "id": "c1",
                      "type": "function"
                    },
                    {
                      "function": {
                        "arguments": "{\"why\": \"asked\", \"city\": \"Bergen\"}",
                        "name": "weather"
                      },
                      "id": "c2",
                      "type": "function"
                    }
                  ]
                },
                {
                  "content": "4",
                  "role": "tool",
                  "tool_call_id": "c1"
                },
                {
                  "content": "no such city",
                  "role": "tool",
                  "tool_call_id": "c2"
                },
                {
                  "content": [
                    {
                      "text": "And here?",
                      "type": "text"
                    },
                    {
                      "image_url": {
                        "url": "data:image/png;base64,AA=="
                      },
                      "type": "image_url"
                    }
                  ],
                  "role": "user"
                }
              ],
              "model": "m",
              "response_format": {
                "json_schema": {
                  "name": "place",
                  "schema": {
                    "properties": {
                      "city": {
                        "type": "string"
                      },
                      "why": {
                        "type": "string"
                      }
                    },
                    "type": "object"
                  },
                  "strict": true
                },
                "type": "json_schema"
              },
              "stop": [
                "END"
              ],
              "stream": true,
              "stream_options": {
                "include_usage": true
              },
              "tools": [
                {
                  "function": {
                    "description": "The weather.",
                    "name": "weather",
                    "parameters": {
                      "properties": {
                        "city": {
                          "type": "string"
                        },
                        "why": {
                          "type": "string"
                        }
                      },
                      "type": "object"
                    }
                  },
                  "type": "function"
                }
              ]
            }
            left out: what the model thought
            left out: the mark of a failed tool
        "#]],
    );
}

#[test]
fn a_chat_as_anthropic_has_it() {
    // The system stands apart, and results of tools come first in one message of the user's.
    check(
        &Dialect::Anthropic.encode(&rich(), Delivery::Stream).unwrap(),
        expect![[r#"
            {
              "max_tokens": 100,
              "messages": [
                {
                  "content": "Is it warm there?",
                  "role": "user"
                },
                {
                  "content": [
                    {
                      "signature": "seal",
                      "thinking": "Where?",
                      "type": "thinking"
                    },
                    {
                      "text": "Let me see.",
                      "type": "text"
                    },
                    {
                      "id": "c1",
                      "input": {
                        "city": "Oslo",
                        "why": "asked"
                      },
                      "name": "weather",
                      "type": "tool_use"
                    },
                    {
                      "id": "c2",
                      "input": {
                        "city": "Bergen",
                        "why": "asked"
                      },
                      "name": "weather",
                      "type": "tool_use"
                    }
                  ],
                  "role": "assistant"
                },
                {
                  "content": [
                    {
                      "content": "4",
                      "tool_use_id": "c1",
                      "type": "tool_result"
                    },
                    {
                      "content": "no such city",
                      "is_error": true,
                      "tool_use_id": "c2",
                      "type": "tool_result"
                    },
                    {
                      "text": "And here?",
                      "type": "text"
                    },
                    {
                      "source": {
                        "data": "AA==",
                        "media_type": "image/png",
                        "type": "base64"
                      },
                      "type": "image"
                    }
                  ],
                  "role": "user"
                }
              ],
              "model": "m",
              "output_config": {
                "format": {
                  "schema": {
                    "properties": {
                      "city": {
                        "type": "string"
                      },
                      "why": {
                        "type": "string"
                      }
                    },
                    "type": "object"
                  },
                  "type": "json_schema"
                }
              },
              "stop_sequences": [
                "END"
              ],
              "stream": true,
              "system": "Be brief.",
              "tools": [
                {
                  "description": "The weather.",
                  "input_schema": {
                    "properties": {
                      "city": {
                        "type": "string"
                      },
                      "why": {
                        "type": "string"
                      }
                    },
                    "type": "object"
                  },
                  "name": "weather"
                }
              ]
            }
        "#]],
    );
}

#[test]
fn a_chat_as_gemini_has_it() {
    // Results name their tool; schemas are JSON Schemas, not the subset of before.
    check(
        &Dialect::Gemini.encode(&rich(), Delivery::Stream).unwrap(),
        expect![[r#"
            {
              "contents": [
                {
                  "parts": [
                    {
                      "text": "Is it warm there?"
                    }
                  ],
                  "role": "user"
                },
                {
                  "parts": [
                    {
                      "text": "Let me see."
                    },
                    {
                      "functionCall": {
                        "args": {
                          "city": "Oslo",
                          "why": "asked"
                        },
                        "id": "c1",
                        "name": "weather"
                      }
                    },
                    {
                      "functionCall": {
                        "args": {
                          "city": "Bergen",
                          "why": "asked"
                        },
                        "id": "c2",
                        "name": "weather"
                      }
                    }
                  ],
                  "role": "model"
                },
                {
                  "parts": [
                    {
                      "functionResponse": {
                        "id": "c1",
                        "name": "weather",
                        "response": {
                          "output": "4"
                        }
                      }
                    },
                    {
                      "functionResponse": {
                        "id": "c2",
                        "name": "weather",
                        "response": {
                          "error": "no such city"
                        }
                      }
                    },
                    {
                      "text": "And here?"
                    },
                    {
                      "inlineData": {
                        "data": "AA==",
                        "mimeType": "image/png"
                      }
                    }
                  ],
                  "role": "user"
                }
              ],
              "generationConfig": {
                "maxOutputTokens": 100,
                "responseJsonSchema": {
                  "properties": {
                    "city": {
                      "type": "string"
                    },
                    "why": {
                      "type": "string"
                    }
                  },
                  "type": "object"
                },
                "responseMimeType": "application/json",
                "stopSequences": [
                  "END"
                ]
              },
              "systemInstruction": {
                "parts": [
                  {
                    "text": "Be brief."
                  }
                ]
              },
              "tools": [
                {
                  "functionDeclarations": [
                    {
                      "description": "The weather.",
                      "name": "weather",
                      "parametersJsonSchema": {
                        "properties": {
                          "city": {
                            "type": "string"
                          },
                          "why": {
                            "type": "string"
                          }
                        },
                        "type": "object"
                      }
                    }
                  ]
                }
              ]
            }
            left out: what the model thought
        "#]],
    );
}

#[test]
fn a_talk_as_responses_have_it() {
    // Calls and results are items of their own.
    let chat = rich();
    let call = Responses::new("m")
        .messages(chat.messages)
        .tool(chat.tools[0].clone());
    check(
        &Dialect::OpenAi.encode_responses(&call, Delivery::Whole).unwrap(),
        expect![[r#"
            {
              "input": [
                {
                  "content": [
                    {
                      "text": "Be brief.",
                      "type": "input_text"
                    }
                  ],
                  "role": "system",
                  "type": "message"
                },
                {
                  "content": [
                    {
                      "text": "Is it warm there?",
                      "type": "input_text"
                    }
                  ],
                  "role": "user",
                  "type": "message"
                },
                {
                  "content": "Let me see.",
                  "role": "assistant",
                  "type": "message"
                },
                {
                  "arguments": "{\"why\": \"asked\", \"city\": \"Oslo\"}",
                  "call_id": "c1",
                  "name": "weather",
                  "type": "function_call"
                },
                {
                  "arguments": "{\"why\": \"asked\", \"city\": \"Bergen\"}",
                  "call_id": "c2",
                  "name": "weather",
                  "type": "function_call"
                },
                {
                  "call_id": "c1",
                  "output": "4",
                  "type": "function_call_output"
                },
                {
                  "call_id": "c2",
                  "output": "no such city",
                  "type": "function_call_output"
                },
                {
                  "content": [
                    {
                      "text": "And here?",
                      "type": "input_text"
                    },
                    {
                      "detail": "auto",
                      "image_url": "data:image/png;base64,AA==",
                      "type": "input_image"
                    }
                  ],
                  "role": "user",
                  "type": "message"
                }
              ],
              "model": "m",
              "tools": [
                {
                  "description": "The weather.",
                  "name": "weather",
                  "parameters": {
                    "properties": {
                      "city": {
                        "type": "string"
                      },
                      "why": {
                        "type": "string"
                      }
                    },
                    "type": "object"
                  },
                  "strict": false,
                  "type": "function"
                }
              ]
            }
            left out: what the model thought
            left out: the mark of a failed tool
        "#]],
    );
}
