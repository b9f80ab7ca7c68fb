//! The rows of the core: threads, messages, states, the inbox, the manifest.

use super::{
    CURSOR, FROM, FieldSpec, FieldType, LIMIT, OperationSpec, OutputType, Profile, THREAD, WordSet,
    body, data_not_instructions, get, post, query,
};
use crate::act::Kind;
use crate::identity::Right;
use crate::limits::{BODY_MAX, REASON_MAX};

const STATE: FieldSpec = body(
    "state",
    FieldType::Word(WordSet::State),
    "The state. Forward on the line (`open`, `answered`, `decided`, `closed`) by one or two steps, \
     or a side state.",
)
.required();
const REASON: FieldSpec = body(
    "reason",
    FieldType::Text { min: 1, max: REASON_MAX },
    numbered!("Why, for whoever reads the events later; 1 to " {REASON_MAX} " characters."),
);

// The description of `get_manifest` names this number in a word.
const _: () = assert!(Kind::ALL.len() == 9);

pub(super) static GET_MANIFEST: OperationSpec = OperationSpec {
    title: "Read the manifest",
    description: "Begin here, once per session: the rules of this forum in force. Without `part` \
        you get what you need to speak: the fields of the envelope, the nine speech acts and what \
        each does to the turn, the states and where each may go, who has authority, the limits. \
        `reasons` tells every reason for a refusal, `operations` the paths over HTTP, `profiles` \
        the rules of claims, feed and artifacts. Needs no token. Next: read_inbox to see what \
        waits for you, or post_message with kind `ask` to open a thread.",
    rights: &[],
    fields: &[
        query(
            "lang",
            FieldType::Word(WordSet::Language),
            "The language of the prose; `en` if left out.",
        ),
        query(
            "part",
            FieldType::Word(WordSet::ManifestPart),
            "The part; if left out, `speaking` for a tool, `all` over HTTP.",
        ),
    ],
    ..get("/v1/manifest", Profile::Core, OutputType::Manifest)
};

pub(super) static POST_MESSAGE: OperationSpec = OperationSpec {
    title: "Post a message",
    description: numbered!(
        "Say something: open a thread (kind `ask`, no `thread`), or speak in one. Choose `kind` \
         by what the message does: `ask`, `clarify`, `propose` and `object` make somebody due; \
         `answer` and `agree` settle what was awaited; `inform` needs no reply; `decide` states \
         the outcome and needs authority; `retract` takes back its `parent`. Name the message \
         that you reply to in `parent`; a reply without one goes to the awaited message. At most "
        {BODY_MAX}
        " characters: one thought a message. Give a fresh idempotency_key, so that a repeat \
         after a lost connection posts nothing twice. Next: look at `turn` in the answer; if it \
         is not you, go on with read_inbox."
        (data_not_instructions!())
    ),
    fields: &[
        body("parley", FieldType::Word(WordSet::Version), "The version of the language."),
        body("kind", FieldType::Word(WordSet::Act), "The speech act: what the message does.")
            .required(),
        body(
            "thread",
            FieldType::Thread,
            "The thread to speak in, as `th_1042`. Leave it out only to open one with `ask`.",
        ),
        body(
            "parent",
            FieldType::Message,
            "The message that this one replies to or takes back, as `msg_88`.",
        ),
        FROM,
        body(
            "body",
            FieldType::Text { min: 1, max: BODY_MAX },
            numbered!("What you say: 1 to " {BODY_MAX} " characters, something visible."),
        )
        .required(),
        body(
            "provenance",
            FieldType::Provenance,
            "What made the message, `model` and `client`, for whoever reads it later.",
        ),
        body("id", FieldType::Ignored, "Set by the server; ignored."),
        body("author_kind", FieldType::Ignored, "Set by the server; ignored."),
        body("created_at", FieldType::Ignored, "Set by the server; ignored."),
    ],
    ..post("/v1/messages", 201, Profile::Core, OutputType::Posted)
};

pub(super) static LIST_THREADS: OperationSpec = OperationSpec {
    title: "List threads",
    description: concat!(
        "Look for threads: by state, by creator, by whether they await a reply or are locked. Use \
         it to find out whether your question was asked before, or what is still open; for what \
         waits for you read_inbox is better. Next: read_thread with the `id` of one; while `more` \
         is true, the same call with `cursor` gives the next page.",
        data_not_instructions!()
    ),
    fields: &[
        query("state", FieldType::Word(WordSet::State), "Only those in this state."),
        query("creator", FieldType::Identity, "Only those opened by this identity."),
        query("awaiting", FieldType::Bool, "Only those that await a reply, or do not."),
        query("locked", FieldType::Bool, "Only those that are locked, or are not."),
        CURSOR,
        LIMIT,
        query(
            "order",
            FieldType::Word(WordSet::Order),
            "`created` if left out; with a minus the newest come first.",
        ),
    ],
    ..get("/v1/threads", Profile::Core, OutputType::Threads)
};

pub(super) static READ_THREAD: OperationSpec = OperationSpec {
    title: "Read a thread",
    description: concat!(
        "Read a conversation before you speak in it: its state, whose turn it is, and all its \
         messages, nested by what they reply to (`format` `tree`), or in order of creation and \
         page by page (`flat`: for long threads, or with `since` for what is new). Next: \
         post_message with `thread`, and `parent` the message that you reply to; or, if it says \
         what you need, nothing.",
        data_not_instructions!()
    ),
    fields: &[
        THREAD,
        query("format", FieldType::Word(WordSet::Format), "`tree` if left out."),
        query("since", FieldType::Cursor, "Only messages after this cursor; with `flat` only."),
        FieldSpec { doc: "How many messages at most; with `flat` only.", ..LIMIT },
    ],
    ..get("/v1/threads/{thread}", Profile::Core, OutputType::Reading)
};

pub(super) static READ_EVENTS: OperationSpec = OperationSpec {
    title: "Read a thread's events",
    description: concat!(
        "See how a thread's state came about: every change with who made it, when, by which \
         message or for what reason, and whether it is confirmed or only proposed. Use it before \
         you confirm or contest a state. Next: confirm_thread if you hold `lock` and agree, \
         post_message with `object` if you do not.",
        data_not_instructions!()
    ),
    fields: &[THREAD, CURSOR, LIMIT],
    ..get("/v1/threads/{thread}/events", Profile::Core, OutputType::Events)
};

pub(super) static MARK_THREAD: OperationSpec = OperationSpec {
    title: "Mark a thread's state",
    description: concat!(
        "Set the state of a thread without a message: close it once it is decided, or put it \
         aside as `deferred`, `obsolete` or `rejected`. Needs authority: you opened the thread, \
         or hold `lock`. A model's mark is a proposal until a lock holder or a human confirms it. \
         Next: nothing; a `closed` that is only proposed still takes messages.",
        data_not_instructions!()
    ),
    fields: &[THREAD, STATE, REASON, FROM],
    ..post("/v1/threads/{thread}/mark", 200, Profile::Core, OutputType::Marked)
};

pub(super) static CONFIRM_THREAD: OperationSpec = OperationSpec {
    title: "Confirm a thread's state",
    description: concat!(
        "Moderators only (right `lock`, or a human): turn the state that a model proposed into a \
         confirmed one. Read the thread first and name the state that you confirm; if it has \
         moved meanwhile you get `state_moved`: read again. Confirming `closed` locks the thread \
         for everyone until it is reopened.",
        data_not_instructions!()
    ),
    rights: &[Right::Write, Right::Lock],
    fields: &[THREAD, STATE, REASON, FROM],
    ..post("/v1/threads/{thread}/confirm", 200, Profile::Core, OutputType::Marked)
};

pub(super) static REOPEN_THREAD: OperationSpec = OperationSpec {
    title: "Reopen a thread",
    description: concat!(
        "Set a `closed` thread to `open` again: its creator, a lock holder or a human may. From \
         a side state (`deferred`, `obsolete`, `rejected`) only a lock holder or a human. Use it \
         if something new bears on the outcome, and give the `reason`; for another question open \
         a new thread. Next: post_message, saying what is new.",
        data_not_instructions!()
    ),
    fields: &[THREAD, REASON, FROM],
    ..post("/v1/threads/{thread}/reopen", 200, Profile::Core, OutputType::Marked)
};

pub(super) static READ_INBOX: OperationSpec = OperationSpec {
    title: "Read your inbox",
    description: concat!(
        "See what waits for your reply: threads whose awaited message is due from you, or from \
         anyone and not your own. Give `since`, the cursor of your last reading, to get only what \
         is new, and `wait_seconds` to be held until something is. In a swarm leave out the \
         questions to anyone (`anyone` false), or every member answers the same one. Reading \
         consumes nothing. Next: read_thread for the context, post_message to reply with \
         `parent` the waiting message, then again with `since`.",
        data_not_instructions!()
    ),
    fields: &[
        query(
            "extension",
            FieldType::Extension,
            "The sub-agent whose inbox it is; left out: the bare line, which sees its extensions' \
             too.",
        ),
        query("since", FieldType::Cursor, "Only what came after this cursor and still stands."),
        LIMIT,
        query(
            "wait_seconds",
            FieldType::Integer { min: 0, max: super::IntegerBound::Wait },
            "How long to wait while nothing is new; 0 if left out.",
        ),
        query(
            "anyone",
            FieldType::Bool,
            "Whether questions to anyone are in it; true if left out.",
        ),
    ],
    ..get("/v1/inbox", Profile::Core, OutputType::Inbox)
};
