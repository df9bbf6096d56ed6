/* How a node admits sessions, for the model checker spin. Decision 16 in docs/decisions has the
 * mechanism; node::admission, node::initiator and node::sessions have the code. handshake.md has the bounds.
 *
 * There is one initiator, one responder, and an attacker who owns the network. The attacker cannot break the
 * cryptography. It delivers every message that was ever sent, at any time, in any order, any number of times.
 *
 * First comes a past, of which the attacker has recordings. Both nodes restart in it, and clocks are set
 * back. Then the initiator tries for ROUNDS round trips. Its own messages arrive between those of the attacker.
 *
 *   agreement   the responder uses a session only if the initiator has its keys
 *   numbers     the responder makes no session of an initiation whose session it has used, in each of its boots
 *   liveness    both nodes use the same session after ROUNDS round trips at most
 *   stays       whatever arrives afterwards, they go on using it
 *
 * Each of these names, given by -D, puts a fault in, and some assertion must fail:
 *
 *   WITHOUT_NUMBERS       an initiation of any other boot is new
 *   OLDEST_EVICTED        a session that is asked for takes the place of the oldest, used or not
 *   CROWDED               a full waiting list takes an initiation without a cookie
 *   WITHOUT_CONFIRMATION  the responder uses a session before a unit comes under it
 *   WITHHELD              a session waits on when a later one is confirmed
 *   RAISED                a session that nobody confirmed raises the number that others have to be above
 *   WITHOUT_CHALLENGE     a number that is too low gets no answer
 *   NEVER                 none. It asserts that there is never a session, which shows that the model works
 */

#ifndef PAST
#define PAST 3 /* initiations that the attacker has recorded */
#endif
#ifndef ROUNDS
#define ROUNDS 3 /* round trips in which the initiator has to succeed */
#endif
#ifndef BOOTS
#define BOOTS 1 /* restarts of the initiator before it tries; the responder restarts once */
#endif
#define ATTEMPTS (PAST + ROUNDS + 1)
#define NONE 255
#define SLOTS 2 /* MAX_OF_A_KIND */

#ifdef NEVER
#define MAY_CONNECT false
#else
#define MAY_CONNECT true
#endif

#define SILENCE 0
#define RESPONSE 1
#define NUMBER 2
#define COOKIE 3

/* The initiations so far, and what each says. A copy with a cookie counts as one of its own. */
byte attempts = 0;
byte number[ATTEMPTS];
#ifdef WITHOUT_NUMBERS
byte boot[ATTEMPTS]; /* of the initiator */
#endif
byte fresh[ATTEMPTS]; /* one more than the responder's boot whose cookie it shows */
/* The responder's boots, as bits, in which it answered the initiation; in which a unit came back. */
byte response[ATTEMPTS], first_unit[ATTEMPTS];

/* the initiator */
byte initiator_boot = 0, counter = 0, highest = 0;
byte current = NONE, former = NONE, cookie = 0;
byte in_session = NONE, session_before = NONE;

/* the responder */
byte responder_boot = 0, newest = 0;
#ifdef WITHOUT_NUMBERS
byte heard_boot = NONE, heard_number = 0;
#endif
byte answer[ATTEMPTS], told[ATTEMPTS]; /* what it gave, as far as it remembers, and the number in it */
byte confirmed = 0; /* initiations whose session it has used in this boot, as bits */
byte slot[SLOTS] = NONE; /* sessions that wait for their first unit, the oldest first */
byte used = NONE;

bool forgot = false, trying = false, connected = false;
byte tries = 0;

inline begin_attempt(its_number) {
    number[attempts] = its_number;
#ifdef WITHOUT_NUMBERS
    boot[attempts] = initiator_boot;
#endif
    fresh[attempts] = cookie;
    former = current;
    current = attempts;
    printf("initiator: initiation %d, number %d, boot %d\n", attempts, its_number, initiator_boot);
    attempts++
}

inline count_and_begin() {
    counter++;
    highest = (counter > highest -> counter : highest);
    begin_attempt(counter)
}

inline initiator_restarts(clock_was_set_back) {
    initiator_boot++;
    counter = (clock_was_set_back -> 0 : highest);
    current = NONE; former = NONE; in_session = NONE; session_before = NONE
}

inline responder_restarts() {
    printf("responder: restarts\n");
    responder_boot++;
    newest = 0; confirmed = 0;
#ifdef WITHOUT_NUMBERS
    heard_boot = NONE; heard_number = 0;
#endif
    slot[0] = NONE; slot[1] = NONE; used = NONE;
    for (index : 0 .. ATTEMPTS - 1) { answer[index] = SILENCE; told[index] = 0 };
    index = 0
}

/* The memory of what was answered is bounded. */
inline forget() {
    printf("responder: forgets answers\n");
    for (index : 0 .. ATTEMPTS - 1) {
        if
        :: index == current || index == former -> skip
        :: else -> answer[index] = SILENCE; told[index] = 0
        fi
    };
    index = 0
}

#ifdef WITHOUT_NUMBERS
#define IS_NEW(k) (boot[k] != heard_boot || number[k] > heard_number)
#define IS_KNOWN(k) (false)
#else
#define IS_NEW(k) (number[k] > newest)
#define IS_KNOWN(k) (answer[k] != SILENCE)
#endif
#define ONCE(k) (!(confirmed & (1 << k)))
#define NUMBER_OF(k) (k == NONE -> 0 : number[k % ATTEMPTS])
#define HIGHER(a, b) (a > b -> a : b)

#if defined(CROWDED) || defined(WITHOUT_NUMBERS) || defined(OLDEST_EVICTED)
#define MUST_SHOW_COOKIE(k) (false)
#else
#define MUST_SHOW_COOKIE(k) (slot[1] != NONE && fresh[k] != responder_boot + 1)
#endif

inline make_session(k) {
    printf("responder: session of initiation %d, number %d\n", k, number[k]);
    assert(ONCE(k)); /* numbers */
#ifdef RAISED
    newest = HIGHER(number[k], newest);
#endif
    first_unit[k] = first_unit[k] & ~(1 << responder_boot); /* it has other keys than one before */
    if
    :: slot[0] == NONE -> slot[0] = k
    :: slot[0] != NONE && slot[1] == NONE -> slot[1] = k
    :: slot[1] != NONE ->
#ifdef OLDEST_EVICTED
        used = (used == slot[0] -> NONE : used);
#endif
        slot[0] = slot[1]; slot[1] = k
    fi;
#ifdef WITHOUT_CONFIRMATION
    used = k;
    assert(first_unit[k] & (1 << responder_boot)); /* agreement */
#endif
    response[k] = response[k] | (1 << responder_boot)
}

/* An answer that was given is given again. A response ends with the wait for the first unit. */
inline hear_initiation(k) {
    if
    :: IS_KNOWN(k) -> skip
    :: !IS_KNOWN(k) && !IS_NEW(k) ->
        answer[k] = NUMBER;
        told[k] = HIGHER(newest, HIGHER(NUMBER_OF(slot[0]), NUMBER_OF(slot[1])));
        printf("responder: number %d of initiation %d is not above %d\n", number[k], k, told[k])
    :: !IS_KNOWN(k) && IS_NEW(k) && MUST_SHOW_COOKIE(k) ->
        answer[k] = COOKIE;
        printf("responder: initiation %d shows no cookie\n", k)
    :: !IS_KNOWN(k) && IS_NEW(k) && !MUST_SHOW_COOKIE(k) -> make_session(k); answer[k] = RESPONSE
    fi
}

inline hear_first_unit(k) {
    if
    :: !(first_unit[k] & (1 << responder_boot)) -> skip
    :: else ->
        if
        :: slot[0] == k || slot[1] == k ->
            printf("responder: uses session of initiation %d\n", k);
            used = k; /* agreement: the unit is under the keys of this boot's session */
#ifdef WITHOUT_NUMBERS
            heard_number = (boot[k] == heard_boot && heard_number > number[k] -> heard_number : number[k]);
            heard_boot = boot[k];
#endif
#ifndef OLDEST_EVICTED
            confirmed = confirmed | (1 << k);
            newest = HIGHER(number[k], newest);
#ifndef WITHHELD
            slot[0] = (slot[0] == k -> slot[1] : NONE); /* the older one ends, too */
#else
            slot[0] = (slot[0] == k -> slot[1] : slot[0]);
#endif
            slot[1] = NONE
#endif
        :: else -> skip
        fi
    fi
}

/* Takes the response that the responder's boot `its` gave. */
inline hear_response(k, its) {
    if
    :: k == current || k == former ->
        printf("initiator: in session of initiation %d\n", k);
        session_before = in_session;
        in_session = k;
        first_unit[k] = first_unit[k] | (1 << its);
        current = NONE; former = NONE
    :: else -> skip
    fi
}

/* Everything that may have happened before the initiator tries. */
active proctype past() {
    byte k, index;
    do
    :: attempts < PAST -> atomic { count_and_begin() }
    :: initiator_boot < BOOTS -> atomic { initiator_restarts(true) }
    :: initiator_boot < BOOTS -> atomic { initiator_restarts(false) }
    :: responder_boot < 1 -> atomic { responder_restarts() }
    :: !forgot -> atomic { forgot = true; forget() }
    :: attempts > 0 -> atomic {
            select(k : 0 .. PAST - 1);
            if
            :: k < attempts -> hear_initiation(k)
            :: k < attempts -> hear_first_unit(k)
            :: response[k] & 1 -> hear_response(k, 0)
            :: response[k] & 2 -> hear_response(k, 1)
            :: k < attempts && answer[k] == NUMBER && k == current ->
                counter = (told[k] > counter -> told[k] : counter)
            :: else -> skip
            fi;
            k = 0
        }
    :: break
    od;
    atomic { printf("the initiator tries\n"); trying = true; count_and_begin() }
}

/* What the attacker has recorded arrives whenever it likes. */
active proctype attacker() {
    byte k, index;
    trying;
    do
    :: atomic {
            select(k : 0 .. ATTEMPTS - 1);
            if
            :: k < attempts -> hear_initiation(k)
            :: k < attempts -> hear_first_unit(k)
            :: response[k] & 1 -> hear_response(k, 0)
            :: response[k] & 2 -> hear_response(k, 1)
            :: else -> skip
            fi;
            assert(!connected || used == in_session || used == session_before); /* stays */
            k = 0
        }
    od
}

/* The initiator tries. What it and the responder say to each other arrives. */
active proctype honest() {
    byte asked;
    trying;
    do
    :: connected -> break
    :: !connected ->
        assert(tries < ROUNDS); /* liveness */
        tries++;
        printf("round trip %d\n", tries);
        atomic {
            asked = current;
            if
            :: asked != NONE -> hear_initiation(asked)
            :: else -> skip
            fi
        };
        atomic {
            if
            :: asked == NONE || asked != current -> skip /* a response has come already */
            :: else ->
                if
                :: answer[asked] == RESPONSE && (slot[0] == asked || slot[1] == asked) ->
                    hear_response(asked, responder_boot)
                :: answer[asked] == NUMBER ->
#ifndef WITHOUT_CHALLENGE
                    counter = (told[asked] > counter -> told[asked] : counter);
#endif
                    count_and_begin()
                :: answer[asked] == COOKIE -> cookie = responder_boot + 1; begin_attempt(number[asked])
                :: else -> count_and_begin() /* nobody answers */
                fi
            fi
        };
        atomic {
            if
            :: current == NONE ->
                asked = in_session;
                hear_first_unit(asked);
                connected = (used == asked);
                if
                :: connected -> assert(MAY_CONNECT)
                :: else -> count_and_begin() /* a reset says that the responder has no such session */
                fi
            :: else -> skip
            fi
        }
    od
}
