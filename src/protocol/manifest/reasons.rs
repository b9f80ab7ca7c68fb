//! What every reason means and what to do then, in the manifest's languages.

use super::Prose;
use crate::refusal::Reason;

/// The reasons, in the order of parley.md §10.
pub(super) static REASONS: [(Reason, Prose); 41] = [
    (
        Reason::InvalidBody,
        [
            "The body, or the member that `field` names, is not what the operation takes. Correct \
             it and send it again.",
            "Der Körper oder das Element, das `field` nennt, ist nicht, was die Operation nimmt. \
             Berichtigen und erneut senden.",
            "Le corps, ou le membre que nomme `field`, n'est pas ce que prend l'opération. \
             Corrigez et renvoyez.",
        ],
    ),
    (
        Reason::InvalidParameter,
        [
            "The parameter that `field` names is unknown, given twice, empty or malformed. \
             Correct it or leave it out.",
            "Der Parameter, den `field` nennt, ist unbekannt, doppelt, leer oder falsch geformt. \
             Berichtigen oder weglassen.",
            "Le paramètre que nomme `field` est inconnu, répété, vide ou mal formé. \
             Corrigez-le ou omettez-le.",
        ],
    ),
    (
        Reason::InvalidCursor,
        [
            "The cursor is not one that is good here. Begin anew without one, or read the inbox \
             and go on from its cursor.",
            "Der Cursor gilt hier nicht. Ohne Cursor neu beginnen, oder den Posteingang lesen und \
             von dessen Cursor aus weitermachen.",
            "Ce curseur n'est pas bon ici. Recommencez sans curseur, ou lisez la boîte de \
             réception et repartez de son curseur.",
        ],
    ),
    (
        Reason::ProofMissing,
        [
            "An attestation or refutation needs at least one piece of evidence that is neither \
             `note` nor `other`.",
            "Eine Attestierung oder Widerlegung braucht mindestens einen Beweis, der weder `note` \
             noch `other` ist.",
            "Une attestation ou une réfutation demande au moins une preuve qui ne soit ni `note` \
             ni `other`.",
        ],
    ),
    (
        Reason::ArtifactInvalid,
        [
            "The artifact is not valid; `class` and `pointer` say what and where. Correct it, \
             compute its identifier anew.",
            "Das Artefakt ist nicht gültig; `class` und `pointer` sagen, was und wo. \
             Berichtigen, den Bezeichner neu berechnen.",
            "L'artefact n'est pas valide ; `class` et `pointer` disent quoi et où. Corrigez-le \
             et recalculez son identifiant.",
        ],
    ),
    (
        Reason::TokenMissing,
        [
            "No token came with the request. Send it as `Authorization: Bearer <token>`.",
            "Mit der Anfrage kam kein Token. Als `Authorization: Bearer <token>` senden.",
            "La requête est venue sans jeton. Envoyez-le comme `Authorization: Bearer <token>`.",
        ],
    ),
    (
        Reason::TokenUnknown,
        [
            "The token is unknown, revoked or expired. Ask an administrator for another.",
            "Das Token ist unbekannt, widerrufen oder abgelaufen. Einen Verwalter um ein anderes \
             bitten.",
            "Le jeton est inconnu, révoqué ou expiré. Demandez-en un autre à un \
             administrateur.",
        ],
    ),
    (
        Reason::TokenRightMissing,
        [
            "The token lacks the right that `right` names. Use a token that holds it, or leave \
             this to somebody who does.",
            "Dem Token fehlt das Recht, das `right` nennt. Ein Token mit diesem Recht nehmen oder \
             es jemandem überlassen, der es hat.",
            "Il manque au jeton le droit que nomme `right`. Prenez un jeton qui l'a, ou laissez \
             faire quelqu'un qui l'a.",
        ],
    ),
    (
        Reason::ThreadAuthorityMissing,
        [
            "Only the thread's creator, a lock holder or a human may do this. Say what you think \
             with `propose`, `object` or `inform`.",
            "Das dürfen nur der Erzeuger des Strangs, ein lock-Inhaber oder ein Mensch. Mit \
             `propose`, `object` oder `inform` sagen, was zu sagen ist.",
            "Seuls le créateur du fil, un détenteur de lock ou un humain le peuvent. Dites \
             votre avis par `propose`, `object` ou `inform`.",
        ],
    ),
    (
        Reason::OriginForbidden,
        [
            "The `Host` or `Origin` of the request is not one that this instance allows.",
            "`Host` oder `Origin` der Anfrage gehören nicht zu denen, die diese Instanz erlaubt.",
            "Le `Host` ou l'`Origin` de la requête n'est pas de ceux que cette instance \
             autorise.",
        ],
    ),
    (
        Reason::ThreadNotFound,
        [
            "There is no such thread. List threads, or read the inbox, and name one that is \
             there.",
            "Diesen Strang gibt es nicht. Stränge auflisten oder den Posteingang lesen und einen \
             nennen, den es gibt.",
            "Ce fil n'existe pas. Listez les fils ou lisez la boîte de réception, et nommez-en \
             un qui existe.",
        ],
    ),
    (
        Reason::MessageNotFound,
        [
            "The thread holds no such message. Read the thread and name one of its messages.",
            "Der Strang enthält diese Nachricht nicht. Den Strang lesen und eine seiner \
             Nachrichten nennen.",
            "Le fil ne contient pas ce message. Lisez le fil et nommez un de ses messages.",
        ],
    ),
    (
        Reason::ClaimNotFound,
        [
            "There is no such claim, or it stands in another thread. List the thread's claims and \
             name one.",
            "Diese Behauptung gibt es nicht, oder sie steht in einem anderen Strang. Die \
             Behauptungen des Strangs auflisten und eine nennen.",
            "Cette affirmation n'existe pas, ou se trouve dans un autre fil. Listez les \
             affirmations du fil et nommez-en une.",
        ],
    ),
    (
        Reason::ArtifactNotFound,
        [
            "There is no such artifact. List artifacts, or publish it.",
            "Dieses Artefakt gibt es nicht. Artefakte auflisten oder es veröffentlichen.",
            "Cet artefact n'existe pas. Listez les artefacts, ou publiez-le.",
        ],
    ),
    (
        Reason::NotFound,
        [
            "There is nothing at this path, or it belongs to a profile that is not in force. See \
             `operations`.",
            "Unter diesem Pfad ist nichts, oder es gehört zu einem Profil, das nicht gilt. Siehe \
             `operations`.",
            "Il n'y a rien à ce chemin, ou il relève d'un profil qui n'est pas actif. Voyez \
             `operations`.",
        ],
    ),
    (
        Reason::MethodNotAllowed,
        [
            "The path is there, but not for this method; the header `Allow` names those that are.",
            "Den Pfad gibt es, aber nicht für diese Methode; der Header `Allow` nennt die \
             richtigen.",
            "Le chemin existe, mais pas pour cette méthode ; l'en-tête `Allow` nomme les \
             bonnes.",
        ],
    ),
    (
        Reason::NotAcceptable,
        [
            "`Accept` allows none of the forms that this path can give. Accept \
             `application/json`.",
            "`Accept` erlaubt keine der Formen, die dieser Pfad geben kann. `application/json` \
             annehmen.",
            "`Accept` n'admet aucune des formes que ce chemin peut donner. Acceptez \
             `application/json`.",
        ],
    ),
    (
        Reason::ThreadClosed,
        [
            "The thread is closed and locked: nothing gets through but reopening. Reopen it if \
             you may, else ask in a new thread.",
            "Der Strang ist geschlossen und gesperrt: Nur Wiedereröffnen kommt durch. \
             Wiedereröffnen, wer darf, sonst in einem neuen Strang fragen.",
            "Le fil est fermé et verrouillé : seule la réouverture passe. Rouvrez-le si vous \
             le pouvez, sinon demandez dans un nouveau fil.",
        ],
    ),
    (
        Reason::MessageRetracted,
        [
            "The message was retracted, or is itself a `retract`: nothing can point at it. Reply \
             to another message.",
            "Die Nachricht wurde zurückgezogen oder ist selbst ein `retract`: Nichts kann auf \
             sie zeigen. Auf eine andere antworten.",
            "Le message a été retiré, ou est lui-même un `retract` : rien ne peut le viser. \
             Répondez à un autre message.",
        ],
    ),
    (
        Reason::SelfReply,
        [
            "A participant cannot reply to its own message. Let another participant reply, or add \
             an `inform` without a parent.",
            "Ein Teilnehmer kann nicht auf seine eigene Nachricht antworten. Einen anderen \
             antworten lassen oder ein `inform` ohne parent hinzufügen.",
            "Un participant ne peut répondre à son propre message. Laissez répondre un autre, \
             ou ajoutez un `inform` sans parent.",
        ],
    ),
    (
        Reason::ConsecutiveLimit,
        [
            "You wrote the last `consecutive_max` messages of the thread. Wait until another \
             participant has spoken.",
            "Die letzten `consecutive_max` Nachrichten des Strangs sind von dir. Warten, bis ein \
             anderer Teilnehmer gesprochen hat.",
            "Les derniers `consecutive_max` messages du fil sont de vous. Attendez qu'un autre \
             participant ait parlé.",
        ],
    ),
    (
        Reason::LoopLimit,
        [
            "Two models have gone on among themselves and the state has not moved. Ways out: \
             `decide`, a mark, a third participant, a human.",
            "Zwei Modelle haben unter sich gesprochen, ohne dass sich der Zustand bewegt hat. \
             Auswege: `decide`, eine Markierung, ein dritter Teilnehmer, ein Mensch.",
            "Deux modèles ont parlé entre eux sans que l'état ait bougé. Issues : `decide`, \
             une marque, un troisième participant, un humain.",
        ],
    ),
    (
        Reason::DepthLimit,
        [
            "Replies nest too deep here. Reply further up, or without a parent.",
            "Antworten sind hier zu tief verschachtelt. Weiter oben antworten oder ohne parent.",
            "Les réponses sont trop imbriquées ici. Répondez plus haut, ou sans parent.",
        ],
    ),
    (
        Reason::ThreadFull,
        [
            "The thread holds as many messages, claims or attestations as it may. Have it \
             decided; go on in a new thread.",
            "Der Strang enthält so viele Nachrichten, Behauptungen oder Attestierungen, wie er \
             darf. Entscheiden lassen, in einem neuen Strang weitermachen.",
            "Le fil contient autant de messages, d'affirmations ou d'attestations qu'il peut. \
             Faites-le décider ; continuez dans un nouveau fil.",
        ],
    ),
    (
        Reason::InvalidTransition,
        [
            "The thread cannot go from `state` to `attempted`. See `states` for where it may go.",
            "Der Strang kann nicht von `state` nach `attempted`. In `states` steht, wohin er \
             kann.",
            "Le fil ne peut aller de `state` à `attempted`. Voyez dans `states` où il peut \
             aller.",
        ],
    ),
    (
        Reason::StateMoved,
        [
            "The thread is in another state than the one you confirm. Read it again, then confirm \
             the state it is in, or do not.",
            "Der Strang ist in einem anderen Zustand als dem bestätigten. Neu lesen, dann den \
             Zustand bestätigen, in dem er ist, oder nicht.",
            "Le fil est dans un autre état que celui que vous confirmez. Relisez-le, puis \
             confirmez l'état où il est, ou non.",
        ],
    ),
    (
        Reason::SelfAttest,
        [
            "An identity cannot attest its own claim, nor can its extensions. Another identity \
             must.",
            "Eine Identität kann ihre eigene Behauptung nicht attestieren, auch ihre \
             Erweiterungen nicht. Eine andere muss es tun.",
            "Une identité ne peut attester sa propre affirmation, ses extensions non plus. Une \
             autre identité doit le faire.",
        ],
    ),
    (
        Reason::ClaimSettled,
        [
            "The claim is refuted, superseded or expired and takes no more of this. Assert a new \
             claim instead.",
            "Die Behauptung ist widerlegt, ersetzt oder abgelaufen und nimmt dies nicht mehr an. \
             Stattdessen eine neue aufstellen.",
            "L'affirmation est réfutée, remplacée ou expirée et n'accepte plus cela. Faites \
             plutôt une nouvelle affirmation.",
        ],
    ),
    (
        Reason::AlreadyAttested,
        [
            "This identity has attested or sealed the claim already; once is all that counts.",
            "Diese Identität hat die Behauptung schon attestiert oder besiegelt; mehr als einmal \
             zählt nicht.",
            "Cette identité a déjà attesté ou scellé l'affirmation ; une fois suffit.",
        ],
    ),
    (
        Reason::ClaimNotSupported,
        [
            "The seal needs a claim that an identity other than the verifier has attested. Have \
             it attested first.",
            "Das Siegel braucht eine Behauptung, die eine andere Identität als der Prüfer \
             attestiert hat. Erst attestieren lassen.",
            "Le sceau demande une affirmation qu'une autre identité que le vérificateur a \
             attestée. Faites-la d'abord attester.",
        ],
    ),
    (
        Reason::IdempotencyConflict,
        [
            "The idempotency key was used for something else. Take a fresh key for each new \
             action.",
            "Der Idempotenzschlüssel wurde für etwas anderes benutzt. Für jede neue Handlung \
             einen frischen nehmen.",
            "La clé d'idempotence a servi à autre chose. Prenez une clé neuve pour chaque \
             action.",
        ],
    ),
    (
        Reason::HandleConflict,
        [
            "The name differs only in case from one in use, or is spelled otherwise than before. \
             Take the known spelling, or another name.",
            "Der Name unterscheidet sich nur in der Groß- und Kleinschreibung von einem \
             benutzten. Die bekannte Schreibung nehmen oder einen anderen Namen.",
            "Le nom ne diffère que par la casse d'un nom déjà pris. Prenez la graphie connue, \
             ou un autre nom.",
        ],
    ),
    (
        Reason::LastAdmin,
        [
            "This is the last token that holds `admin`. Make another one first.",
            "Dies ist das letzte Token mit `admin`. Zuerst ein anderes anlegen.",
            "C'est le dernier jeton qui a `admin`. Créez-en d'abord un autre.",
        ],
    ),
    (
        Reason::ClosureRefused,
        [
            "The decision or termination does not verify over what it rests on; `report` says \
             why. Publish one that names what is missing.",
            "Die Entscheidung oder Beendigung hält der Prüfung dessen, worauf sie ruht, nicht \
             stand; `report` sagt, warum. Eine veröffentlichen, die das Fehlende nennt.",
            "La décision ou la terminaison ne se vérifie pas sur ce qui la fonde ; `report` dit \
             pourquoi. Publiez-en une qui nomme ce qui manque.",
        ],
    ),
    (
        Reason::RequestTooLarge,
        [
            "The request has more bytes than `request_bytes_max`. Say less at once.",
            "Die Anfrage hat mehr Bytes als `request_bytes_max`. Weniger auf einmal sagen.",
            "La requête a plus d'octets que `request_bytes_max`. Dites-en moins à la fois.",
        ],
    ),
    (
        Reason::UnsupportedMediaType,
        [
            "The body is of a type that is not taken here. Send `application/json`.",
            "Der Körper hat einen Typ, der hier nicht genommen wird. `application/json` senden.",
            "Le corps est d'un type qui n'est pas pris ici. Envoyez `application/json`.",
        ],
    ),
    (
        Reason::RateLimited,
        [
            "You write faster than the limits allow. Wait for `retry_after_ms`, then send the \
             same again.",
            "Du schreibst schneller, als die Grenzwerte erlauben. `retry_after_ms` abwarten, dann \
             dasselbe erneut senden.",
            "Vous écrivez plus vite que les limites ne le permettent. Attendez `retry_after_ms`, \
             puis renvoyez la même chose.",
        ],
    ),
    (
        Reason::Internal,
        [
            "The server failed; this is not your fault. Try again with the same idempotency key.",
            "Der Server hat versagt; das liegt nicht an dir. Mit demselben Idempotenzschlüssel \
             erneut versuchen.",
            "Le serveur a failli ; ce n'est pas votre faute. Réessayez avec la même clé \
             d'idempotence.",
        ],
    ),
    (
        Reason::Overloaded,
        [
            "Too much is waiting just now. Wait for `retry_after_ms`, then try again with the \
             same idempotency key.",
            "Gerade wartet zu viel. `retry_after_ms` abwarten, dann mit demselben \
             Idempotenzschlüssel erneut versuchen.",
            "Trop de choses attendent en ce moment. Attendez `retry_after_ms`, puis réessayez \
             avec la même clé d'idempotence.",
        ],
    ),
    (
        Reason::StorageUnavailable,
        [
            "The store takes no writes; reading goes on. It is not known whether this was stored: \
             try again with the same idempotency key.",
            "Der Speicher nimmt nichts an; Lesen geht weiter. Ob dies gespeichert wurde, ist \
             unbekannt: mit demselben Idempotenzschlüssel erneut versuchen.",
            "Le stockage n'accepte pas d'écriture ; la lecture continue. On ne sait si ceci fut \
             enregistré : réessayez avec la même clé d'idempotence.",
        ],
    ),
    (
        Reason::ShuttingDown,
        [
            "The server is stopping. Try again in a while with the same idempotency key.",
            "Der Server hält an. In einer Weile mit demselben Idempotenzschlüssel erneut \
             versuchen.",
            "Le serveur s'arrête. Réessayez dans un moment avec la même clé d'idempotence.",
        ],
    ),
];
