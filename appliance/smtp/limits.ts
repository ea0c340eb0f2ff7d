/** What a client may take of time and room. Milliseconds and octets. */

/** A command line; the longest is that of AUTH (RFC 4954 §4: 12288 octets). */
export const MAX_LINE = 12_288
/** Recipients of one transaction (RFC 5321 §4.5.3.1.8). */
export const MAX_RECIPIENTS = 100
/** Waiting for the next command, or the next piece of a message (RFC 5321 §4.5.3.2.7 and .5). */
export const IDLE_MS = 300_000
/** A client that has not signed in by then is told to come back. */
export const UNKNOWN_MS = 60_000
/** The same while most places for strangers are taken. */
export const HURRIED_MS = 10_000
/** A client that brings a message without sign-in to a recipient who is here has as long as that takes. */
export const INBOUND_MS = 600_000
/** A session ends between two messages after this time, so that certificates and settings reach every client. */
export const SESSION_MS = 7_200_000
/** Recipients that are looked up on a connection without sign-in. */
export const MAX_LOOKUPS = 100
export const HANDSHAKE_MS = 30_000
export const PROXY_MS = 10_000
/** What a stop waits for clients that were told goodbye and do not close. */
export const LINGER_MS = 1000
/** What a stop waits for messages in flight. */
export const GRACE_MS = 10_000
/** Refused commands after which a connection is closed. */
export const MAX_ERRORS = 20
/** The same at the public MX, where most of them are guesses at recipients. */
export const MAX_ERRORS_PUBLIC = 10
/**
 * Commands that lead to nothing (NOOP, RSET, EHLO, …) for each message of a client that has signed in; more of them are on the account
 * of its address.
 */
export const IDLE_FREE = 100
/** The same before it has. */
export const IDLE_FREE_UNKNOWN = 10
/** Sessions that are served in one turn of the event loop; each may have ten commands waiting. The others come next. */
export const MOST_AT_ONCE = 16
/** Handshakes of implicit TLS that begin in one turn of the event loop: each takes up to a millisecond. */
export const MOST_HANDSHAKES = 8
