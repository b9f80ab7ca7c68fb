use super::*;

fn read(text: &str) -> Result<JsonValue, (JsonFaultKind, String)> {
    parse(text.as_bytes(), 32).map_err(|fault| (fault.kind, fault.pointer))
}

fn number(value: &JsonValue) -> &JsonNumber {
    let JsonValue::Number(number) = value else { panic!("{value:?} is no number") };
    number
}

fn refused(text: &str) -> (JsonFaultKind, String) {
    read(text).expect_err(text)
}

/// Each kind of value is read for what it is: one text with all of them.
#[test]
fn values() {
    let text = r#" {"n":null,"t":true,"f":false,"i":-12,"s":"a\/\u00e9\n","a":[1,[]],"o":{}} "#;
    let value = read(text).expect("valid");
    let object = value.as_object().expect("object");
    assert_eq!(object.len(), 7);
    assert!(object.get("n").is_some_and(JsonValue::is_null));
    assert_eq!(object.get("t").and_then(JsonValue::as_bool), Some(true));
    assert_eq!(object.get("f").and_then(JsonValue::as_bool), Some(false));
    assert_eq!(object.get("i").map(number).and_then(JsonNumber::as_i64), Some(-12));
    assert_eq!(object.get("s").and_then(JsonValue::as_str), Some("a/é\n"));
    assert_eq!(object.get("a").and_then(JsonValue::as_array).map(<[JsonValue]>::len), Some(2));
    assert!(object.get("o").and_then(JsonValue::as_object).is_some_and(JsonObject::is_empty));
    assert_eq!(object.get("absent"), None);
    let names: Vec<&str> = object.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["n", "t", "f", "i", "s", "a", "o"]);
}

/// Scalars alone are values, of nesting 0: read with no nesting admitted.
#[test]
fn scalars_at_the_top_level() {
    for text in ["null", "0", "\"\"", " true\r\n\t"] {
        assert!(parse(text.as_bytes(), 0).is_ok(), "{text}");
    }
}

/// What is no JSON is malformed and points nowhere: a table of texts.
#[test]
fn malformed() {
    let without_spaces = r#"
        { } [ [1 [1, [1,] [,1] {"a"} {"a":} {"a":1,} {,} {a:1} {'a':1} nul True nullx 01 - -a
        +1 1. .5 1e 1e+ 0x1 1_0 --1 -01 Nan -NaN Infinit " "\ "\x" "\u12" "\u12g4" "\u+123"
        {}x /**/1 [1]] {"a":[}]
    "#;
    let texts = [
        "",
        " ",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "\"\n\"",
        "\"\t\"",
        "\"\0\"",
        "\u{feff}{}",
        "{}\u{feff}",
        "{} {}",
        "1 // c",
        "\u{a0}1",
        "\u{c}1",
    ];
    for text in without_spaces.split_whitespace().chain(texts) {
        assert_eq!(refused(text), (JsonFaultKind::Malformed, String::new()), "{text:?}");
    }
    for bytes in [&b"\xff"[..], b"\"\xc3\"", b"\"\xed\xa0\x80\"", b"\xef\xbb\xbf{}", b"{}\0"] {
        assert_eq!(
            parse(bytes, 32).map_err(|f| f.kind),
            Err(JsonFaultKind::Malformed),
            "{bytes:?}"
        );
    }
}

/// The place of a duplicate is the member's, however the names are escaped and
/// however many there are: small and large objects.
#[test]
fn duplicates() {
    let at = |pointer: &str| (JsonFaultKind::Duplicate, pointer.to_owned());
    assert_eq!(refused(r#"{"a":1,"a":1}"#), at("/a"));
    assert_eq!(refused(r#"{"a":1,"\u0061":2}"#), at("/a"));
    assert_eq!(refused(r#"{"x":[0,{"~/":1,"b":2,"~/":3}]}"#), at("/x/1/~0~1"));
    assert_eq!(refused(r#"{"":1,"":2}"#), at("/"));
    let many: Vec<String> = (0..500).map(|n| format!("\"m{n}\":0")).collect();
    assert!(read(&format!("{{{}}}", many.join(","))).is_ok());
    assert_eq!(refused(&format!("{{{},\"m7\":0,\"m3\":0}}", many.join(","))), at("/m7"));
    // Names that only normalization would make equal differ here.
    assert!(read(r#"{"é":1,"e\u0301":2}"#).is_ok());
}

/// Surrogates make a character in pairs and a fault alone: values, names, both orders.
#[test]
fn surrogates() {
    let value = read(r#""\ud83d\uDE00""#).expect("pair");
    assert_eq!(value.as_str(), Some("😀"));
    let at = |pointer: &str| (JsonFaultKind::Surrogate, pointer.to_owned());
    assert_eq!(refused(r#"{"a":["\ud800"]}"#), at("/a/0"));
    assert_eq!(refused(r#"{"a":"\udc00\ud800"}"#), at("/a"));
    assert_eq!(refused(r#"{"a":"\ud800\ud83d\ude00"}"#), at("/a"));
    assert_eq!(refused(r#"{"a":"\ud800\u0041"}"#), at("/a"));
    assert_eq!(refused(r#"{"a":{"\ud800":1}}"#), at("/a"));
    assert_eq!(refused(r#""\ud800\u12""#).0, JsonFaultKind::Malformed);
}

/// Kept surrogates are no strings, and names that differ only in them differ.
#[test]
fn surrogates_kept() {
    let keep = |text: &str| parse_keeping_surrogates(text.as_bytes(), 32);
    let value = keep(r#"{"a":"\ud800","\ud800":1,"\ud801":2}"#).expect("kept");
    let object = value.as_object().expect("object");
    assert_eq!(object.get("a"), Some(&JsonValue::Surrogate));
    assert_eq!(object.len(), 3);
    let fault = keep(r#"{"\ud800":1,"\uD800":2}"#).expect_err("twice");
    assert_eq!(fault.kind, JsonFaultKind::Duplicate);
}

/// The three texts that other readers take for numbers have their own kind.
#[test]
fn not_finite() {
    for text in ["NaN", "Infinity", "-Infinity"] {
        let whole = format!("{{\"a\":{text}}}");
        assert_eq!(refused(&whole), (JsonFaultKind::Number, "/a".to_owned()), "{text}");
    }
}

/// Numbers keep their text, and only exact integers have a value.
#[test]
fn numbers() {
    let number = |text: &str| number(&read(text).expect(text)).clone();
    for text in ["0", "-0", "1.0", "1e2", "-1.5E-3", "123456789012345678901234567890"] {
        assert_eq!(number(text).text(), text);
    }
    assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
    assert_eq!(number("18446744073709551616").as_u64(), None);
    assert_eq!(number("-0").as_u64(), None);
    assert_eq!(number("-0").as_i64(), Some(0));
    assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
    assert_eq!(number("1.0").as_i64(), None);
    assert_eq!(number("1e2").as_u64(), None);
}

/// The nesting admitted is the nesting read: one level at the bound and one over it, and a
/// depth that would break an unbounded recursion.
#[test]
fn nesting() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(32)).is_ok());
    assert!(read(&format!("{}1{}", "[".repeat(32), "]".repeat(32))).is_ok());
    let (kind, pointer) = refused(&nested(33));
    assert_eq!((kind, pointer.len()), (JsonFaultKind::TooDeep, 64));
    assert_eq!(refused(&"[".repeat(1_000_000)).0, JsonFaultKind::TooDeep);
    assert_eq!(
        parse(nested(65).as_bytes(), usize::MAX).map_err(|f| f.kind),
        Err(JsonFaultKind::TooDeep)
    );
    assert!(parse(nested(64).as_bytes(), 64).is_ok());
}

/// A member's span is the value's text without the white space around it.
#[test]
fn spans() {
    let text = r#"{"a" : {"b": [1, 2] } , "c":"\u0041"}"#;
    let value = read(text).expect("valid");
    let object = value.as_object().expect("object");
    let raw = |name: &str| object.member(name).map(|member| &text[member.span.clone()]);
    assert_eq!(raw("a"), Some(r#"{"b": [1, 2] }"#));
    assert_eq!(raw("c"), Some(r#""\u0041""#));
}

/// A field is the pointer without its first slash, and nothing for the top level.
#[test]
fn fields() {
    let fault = |pointer: &str| JsonFault {
        pointer: pointer.into(),
        ..JsonFault::new(JsonFaultKind::Duplicate, 0)
    };
    assert_eq!(fault("/from/extension").field(), Some("from/extension"));
    assert_eq!(fault("/").field(), Some(""));
    assert_eq!(fault("").field(), None);
}

/// A refusal says where and why: a row a fault, with its byte, line and column and words of it.
#[test]
fn told() {
    for (bytes, place, cause) in [
        (&b"{\"a\":\"b\nc\"}"[..], "byte 8 (line 1, column 8)", "line feed"),
        (b"{\"a\":\"b\tc\"}", "byte 8 (line 1, column 8)", "Write it as `\\t`"),
        (b"{\"a\":\"b\x01\"}", "byte 8 (line 1, column 8)", "U+0001"),
        (b"{\"a\":1,\n}", "byte 9 (line 2, column 1)", "behind a comma"),
        (b"[1,]", "byte 4 (line 1, column 4)", "behind a comma"),
        (b"{\"a\":\"caf\xe9\"}", "byte 10 (line 1, column 10)", "Latin-1"),
        (b"\xff\xfe{\0}\0", "byte 1 (line 1, column 1)", "UTF-16"),
        (b"{\0\"\0a\0", "byte 2 (line 1, column 2)", "UTF-16"),
        (b"{\"\xc3\xa9\":NaN}", "byte 7 (line 1, column 6)", "`NaN`"),
        (b"{\"a\":None}", "byte 6 (line 1, column 6)", "Write null"),
        (b"{\"a\":True}", "byte 6 (line 1, column 6)", "small letters"),
        (b"{'a':1}", "byte 2 (line 1, column 2)", "single quotation mark"),
        (b"{\"a\":'b'}", "byte 6 (line 1, column 6)", "single quotation mark"),
        ("{\u{201c}a\u{201d}:1}".as_bytes(), "byte 2 (line 1, column 2)", "plain `\"`"),
        (b"{\"a\":1} // b", "byte 9 (line 1, column 9)", "comment"),
        (b"{a:1}", "byte 2 (line 1, column 2)", "name in `\"`"),
        (b"{\"a\":\"b}", "byte 9 (line 1, column 9)", "begins at byte 6"),
        (b"{\"a\":[1", "byte 8 (line 1, column 8)", "before it is complete"),
        (b"", "byte 1 (line 1, column 1)", "without a value"),
        (b"{\n \"a\":1,\n \"a\":2}", "byte 12 (line 3, column 2)", "given twice"),
        (b"{\"a\":\"b\\ud800\"}", "byte 8 (line 1, column 8)", "unpaired surrogate"),
        (b"{\"a\":01}", "byte 7 (line 1, column 7)", "leading 0"),
        (b"{\"a\":.5}", "byte 6 (line 1, column 6)", "a 0 before it"),
        (b"{\"a\":+5}", "byte 6 (line 1, column 6)", "Leave it out"),
        (b"{\"a\":-}", "byte 7 (line 1, column 7)", "digit is missing"),
        (b"\xef\xbb\xbf{}", "byte 1 (line 1, column 1)", "byte-order mark"),
        (b"{\"a\" 1}", "byte 6 (line 1, column 6)", "colon"),
        (b"{\"a\":1 \"b\":2}", "byte 8 (line 1, column 8)", "comma"),
        (b"{\"a\":\"say \"no\"\"}", "byte 12 (line 1, column 12)", "`no` came"),
        (b"{\"a\":\"C:\\dir\"}", "byte 9 (line 1, column 9)", "no escape"),
        (b"{\"a\":\"\\u12g4\"}", "byte 11 (line 1, column 11)", "four hexadecimal digits"),
        (b"{} {}", "byte 4 (line 1, column 4)", "one JSON value"),
        (b"kind=ask", "byte 1 (line 1, column 1)", "`kind` came"),
        ("{\u{a0}}".as_bytes(), "byte 2 (line 1, column 2)", "U+00A0"),
        (b"[[[1]]]", "byte 3 (line 1, column 3)", "nest deeper"),
    ] {
        let told = parse(bytes, 2).expect_err("a fault").told(bytes);
        assert!(told.contains(place) && told.contains(cause), "{bytes:?}: {told}");
        assert!(told.ends_with('.'), "{told}");
    }
}
