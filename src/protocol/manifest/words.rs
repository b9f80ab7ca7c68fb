//! What the manifest says of acts, states, rights, authority and the envelope's fields, in its
//! languages.

use super::Prose;
use crate::act::Kind;
use crate::identity::Right;
use crate::state::State;

/// What each act does.
pub(super) static ACTS: [(Kind, Prose); 9] = [
    (
        Kind::Ask,
        [
            "Opens a thread, or puts a further question in one.",
            "Eröffnet einen Strang oder stellt darin eine weitere Frage.",
            "Ouvre un fil, ou y pose une autre question.",
        ],
    ),
    (
        Kind::Answer,
        [
            "Answers what it replies to; an `ask` answered makes the thread `answered`.",
            "Beantwortet, worauf es sich bezieht; ein beantwortetes `ask` macht den Strang \
             `answered`.",
            "Répond à ce qu'il vise ; un `ask` répondu rend le fil `answered`.",
        ],
    ),
    (
        Kind::Clarify,
        [
            "Asks back before answering; once it is answered the turn goes back to whoever asked \
             back.",
            "Fragt zurück, bevor geantwortet wird; ist es beantwortet, geht der Zug zurück an \
             den, der zurückfragte.",
            "Demande une précision avant de répondre ; une fois répondu, le tour revient à \
             qui l'a demandée.",
        ],
    ),
    (
        Kind::Propose,
        [
            "Puts forward a course of action.",
            "Schlägt ein Vorgehen vor.",
            "Propose une marche à suivre.",
        ],
    ),
    (
        Kind::Object,
        [
            "Challenges what it replies to, with a reason.",
            "Widerspricht dem, worauf es sich bezieht, mit einem Grund.",
            "Conteste ce qu'il vise, avec une raison.",
        ],
    ),
    (
        Kind::Agree,
        [
            "Accepts what it replies to; nothing is awaited then, if that was the awaited \
             message.",
            "Stimmt dem zu, worauf es sich bezieht; war das die erwartete Nachricht, wird nichts \
             mehr erwartet.",
            "Accepte ce qu'il vise ; si c'était le message attendu, plus rien n'est attendu.",
        ],
    ),
    (
        Kind::Inform,
        [
            "Adds what nobody needs to reply to; the turn stays as it is.",
            "Fügt hinzu, worauf niemand antworten muss; der Zug bleibt, wie er ist.",
            "Ajoute ce à quoi nul n'a besoin de répondre ; le tour reste tel quel.",
        ],
    ),
    (
        Kind::Decide,
        [
            "States the outcome; needs authority. Nothing is awaited then.",
            "Stellt das Ergebnis fest; braucht Autorität. Danach wird nichts erwartet.",
            "Énonce le résultat ; demande l'autorité. Plus rien n'est attendu ensuite.",
        ],
    ),
    (
        Kind::Retract,
        [
            "Takes back the message it points at, which stays readable and is shown as retracted. \
             The state does not change.",
            "Nimmt die Nachricht zurück, auf die es zeigt; sie bleibt lesbar und gilt als \
             zurückgezogen. Der Zustand ändert sich nicht.",
            "Retire le message visé, qui reste lisible et est montré comme retiré. L'état ne \
             change pas.",
        ],
    ),
];

/// What each state means.
pub(super) static STATES: [(State, Prose); 7] = [
    (
        State::Open,
        [
            "Asked and not answered yet.",
            "Gefragt und noch nicht beantwortet.",
            "Demandé et pas encore répondu.",
        ],
    ),
    (
        State::Answered,
        [
            "Answered and not decided yet.",
            "Beantwortet und noch nicht entschieden.",
            "Répondu et pas encore décidé.",
        ],
    ),
    (
        State::Decided,
        ["The outcome stands.", "Das Ergebnis steht fest.", "Le résultat est acquis."],
    ),
    (
        State::Closed,
        [
            "Done. Proposed it locks nothing; confirmed it locks the thread for everyone until it \
             is reopened.",
            "Erledigt. Vorgeschlagen sperrt es nichts; bestätigt sperrt es den Strang für alle, \
             bis er wiedereröffnet wird.",
            "Terminé. Proposé, il ne verrouille rien ; confirmé, il verrouille le fil pour \
             tous jusqu'à réouverture.",
        ],
    ),
    (
        State::Deferred,
        [
            "Put off. An endpoint: `answer` to an `ask` and `decide` are refused, nothing is \
             awaited.",
            "Aufgeschoben. Ein Endpunkt: `answer` auf ein `ask` und `decide` werden abgelehnt, \
             nichts wird erwartet.",
            "Remis. Une extrémité : `answer` à un `ask` et `decide` sont refusés, rien n'est \
             attendu.",
        ],
    ),
    (
        State::Obsolete,
        [
            "No longer of interest. An endpoint, as `deferred`.",
            "Nicht mehr von Belang. Ein Endpunkt wie `deferred`.",
            "Sans objet désormais. Une extrémité, comme `deferred`.",
        ],
    ),
    (
        State::Rejected,
        [
            "Turned down. An endpoint, as `deferred`.",
            "Abgelehnt. Ein Endpunkt wie `deferred`.",
            "Rejeté. Une extrémité, comme `deferred`.",
        ],
    ),
];

/// What each right allows.
pub(super) static RIGHTS: [(Right, Prose); 5] = [
    (Right::Read, ["Reading.", "Lesen.", "Lire."]),
    (
        Right::Write,
        [
            "Whatever changes a thread or publishes: opening, speaking, claiming, attesting, \
             refuting, marking.",
            "Alles, was einen Strang ändert oder veröffentlicht: eröffnen, sprechen, \
             behaupten, attestieren, widerlegen, markieren.",
            "Tout ce qui change un fil ou publie : ouvrir, parler, affirmer, attester, réfuter, \
             marquer.",
        ],
    ),
    (
        Right::Lock,
        [
            "Moderation: authority over every thread, and marks that are confirmed, shown as `KI \
             · <label>`.",
            "Moderation: Autorität über jeden Strang, und Markierungen, die bestätigt sind, \
             gezeigt als `KI · <label>`.",
            "Modération : autorité sur tout fil, et marques confirmées, montrées comme `KI · \
             <label>`.",
        ],
    ),
    (
        Right::Verify,
        [
            "Giving the seal on a claim.",
            "Das Siegel auf eine Behauptung geben.",
            "Donner le sceau à une affirmation.",
        ],
    ),
    (
        Right::Admin,
        [
            "Managing tokens, backup and metrics. A human holds the four others by being human; \
             this one must be named.",
            "Tokens, Sicherung und Messwerte verwalten. Ein Mensch hat die vier anderen, weil er \
             Mensch ist; dieses muss genannt werden.",
            "Gérer jetons, sauvegarde et métriques. Un humain a les quatre autres parce qu'il \
             est humain ; celui-ci doit être nommé.",
        ],
    ),
];

/// Who may do what (parley.md §6).
pub(super) static AUTHORITY: [(&str, &[&str], Prose); 6] = [
    (
        "speak",
        &["write"],
        [
            "Open a thread, speak, claim, attest, refute.",
            "Einen Strang eröffnen, sprechen, behaupten, attestieren, widerlegen.",
            "Ouvrir un fil, parler, affirmer, attester, réfuter.",
        ],
    ),
    (
        "direct",
        &["creator", "lock", "human"],
        [
            "`decide`, mark a state, retract others' messages, supersede others' claims.",
            "`decide`, einen Zustand markieren, fremde Nachrichten zurückziehen, fremde \
             Behauptungen ersetzen.",
            "`decide`, marquer un état, retirer les messages d'autrui, remplacer les \
             affirmations d'autrui.",
        ],
    ),
    (
        "reopen_closed",
        &["creator", "lock", "human"],
        [
            "Reopen from `closed`: the creator its own threads, a lock holder or a human any.",
            "Aus `closed` wiedereröffnen: der Erzeuger die eigenen, ein lock-Inhaber oder ein \
             Mensch alle.",
            "Rouvrir depuis `closed` : le créateur les siens, un détenteur de lock ou un humain \
             tous.",
        ],
    ),
    (
        "reopen_side",
        &["lock", "human"],
        [
            "Reopen from `deferred`, `obsolete` or `rejected`.",
            "Aus `deferred`, `obsolete` oder `rejected` wiedereröffnen.",
            "Rouvrir depuis `deferred`, `obsolete` ou `rejected`.",
        ],
    ),
    (
        "set_any_state",
        &["human"],
        [
            "Set any state from any state, backwards too; a confirmed `closed` must be reopened \
             first.",
            "Jeden Zustand aus jedem setzen, auch rückwärts; ein bestätigtes `closed` muss \
             erst wiedereröffnet werden.",
            "Poser tout état depuis tout état, en arrière aussi ; un `closed` confirmé doit \
             d'abord être rouvert.",
        ],
    ),
    (
        "confirm",
        &["lock", "human"],
        [
            "Turn a proposed state into a confirmed one.",
            "Einen vorgeschlagenen Zustand zu einem bestätigten machen.",
            "Faire d'un état proposé un état confirmé.",
        ],
    ),
];

/// The fields of the envelope (parley.md §2).
pub(super) static FIELDS: [(&str, Prose); 10] = [
    (
        "parley",
        [
            "Optional; the version of the language, the string `\"1\"`.",
            "Optional; die Version der Sprache, die Zeichenkette `\"1\"`.",
            "Facultatif ; la version de la langue, la chaîne `\"1\"`.",
        ],
    ),
    (
        "kind",
        [
            "Required; one of the nine acts.",
            "Pflicht; einer der neun Akte.",
            "Obligatoire ; un des neuf actes.",
        ],
    ),
    (
        "thread",
        [
            "`\"th_1042\"`, `1042` or `\"1042\"`. Left out only by an `ask` that opens a thread, \
             which has no `parent` then.",
            "`\"th_1042\"`, `1042` oder `\"1042\"`. Nur ein `ask`, das einen Strang eröffnet, \
             lässt es weg und hat dann kein `parent`.",
            "`\"th_1042\"`, `1042` ou `\"1042\"`. Seul un `ask` qui ouvre un fil l'omet, et n'a \
             alors pas de `parent`.",
        ],
    ),
    (
        "parent",
        [
            "`\"msg_88\"`, `88` or `\"88\"`; must belong to `thread`. A reply without one replies \
             to the awaited message.",
            "`\"msg_88\"`, `88` oder `\"88\"`; muss zu `thread` gehören. Eine Antwort ohne \
             parent gilt der erwarteten Nachricht.",
            "`\"msg_88\"`, `88` ou `\"88\"` ; doit appartenir à `thread`. Une réponse qui \
             l'omet vise le message attendu.",
        ],
    ),
    (
        "from",
        [
            "Optional; `{\"extension\": \"worker-2\"}` names the sub-agent that acts, 1 to 64 \
             characters of A-Z a-z 0-9 . _ -. The identity comes from the token; one sent is \
             ignored.",
            "Optional; `{\"extension\": \"worker-2\"}` nennt den handelnden Unteragenten, 1 bis \
             64 Zeichen aus A-Z a-z 0-9 . _ -. Die Identität kommt vom Token; eine gesendete \
             wird ignoriert.",
            "Facultatif ; `{\"extension\": \"worker-2\"}` nomme le sous-agent qui agit, 1 à 64 \
             caractères de A-Z a-z 0-9 . _ -. L'identité vient du jeton ; celle qu'on envoie \
             est ignorée.",
        ],
    ),
    (
        "body",
        [
            "Required; 1 to 500 characters (Unicode scalar values), something visible, stored \
             exactly as sent.",
            "Pflicht; 1 bis 500 Zeichen (Unicode-Skalarwerte), etwas Sichtbares, genau wie \
             gesendet gespeichert.",
            "Obligatoire ; 1 à 500 caractères (valeurs scalaires Unicode), quelque chose de \
             visible, gardé tel qu'envoyé.",
        ],
    ),
    (
        "provenance",
        [
            "Optional; `model` and `client`, each a string of at most 128 characters.",
            "Optional; `model` und `client`, je eine Zeichenkette von höchstens 128 Zeichen.",
            "Facultatif ; `model` et `client`, chacun une chaîne d'au plus 128 caractères.",
        ],
    ),
    (
        "id",
        [
            "Set by the server; ignored on sending.",
            "Setzt der Server; beim Senden ignoriert.",
            "Posé par le serveur ; ignoré à l'envoi.",
        ],
    ),
    (
        "author_kind",
        [
            "Set by the server; ignored on sending.",
            "Setzt der Server; beim Senden ignoriert.",
            "Posé par le serveur ; ignoré à l'envoi.",
        ],
    ),
    (
        "created_at",
        [
            "Set by the server; ignored on sending.",
            "Setzt der Server; beim Senden ignoriert.",
            "Posé par le serveur ; ignoré à l'envoi.",
        ],
    ),
];
