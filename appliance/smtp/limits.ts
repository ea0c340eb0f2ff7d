/** Limits on a client's time and memory, in milliseconds and octets. */

/** Maximum length of a command line. AUTH has the longest (RFC 4954 §4: 12,288 octets). */
export const MAX_LINE = 12_288
/** Maximum number of recipients in one transaction (RFC 5321 §4.5.3.1.8). */
export const MAX_RECIPIENTS = 100
/** How long to wait for the next command, or the next chunk of a message (RFC 5321 §4.5.3.2.7, §4.5.3.2.5). */
export const IDLE_MS = 300_000
/** How long a client may stay connected without authenticating. After that, it is disconnected with 421. */
export const UNKNOWN_MS = 60_000
/** The same limit while most connections for unauthenticated clients are in use. */
export const HURRIED_MS = 10_000
/** The same limit for a client that sends to a local recipient without authentication. */
export const INBOUND_MS = 600_000
/**
 * Maximum duration of a session, which then ends between two messages, so that new certificates and settings reach
 * every client.
 */
export const SESSION_MS = 7_200_000
/** Maximum number of recipients that an unauthenticated connection may look up. */
export const MAX_LOOKUPS = 100
export const HANDSHAKE_MS = 30_000
export const PROXY_MS = 10_000
/** How long a shutdown waits for clients that don't close after 421. */
export const LINGER_MS = 1000
/** How long a shutdown waits for messages in flight. */
export const GRACE_MS = 10_000
/** Maximum number of refused commands before a connection is closed. */
export const MAX_ERRORS = 20
/** The same limit at the public MX, where most refused commands are guesses at recipients. */
export const MAX_ERRORS_PUBLIC = 10
/**
 * Number of commands such as NOOP, RSET and EHLO that are free per message of an authenticated client. Any more are
 * charged to the budget of its address.
 */
export const IDLE_FREE = 100
/** The same limit before authentication. */
export const IDLE_FREE_UNKNOWN = 10
/**
 * Maximum number of sessions processed per turn of the event loop, each with up to ten waiting commands. The remaining
 * sessions follow in the next turn.
 */
export const MOST_AT_ONCE = 16
/** Maximum number of implicit TLS handshakes started per turn of the event loop; each takes up to a millisecond. */
export const MOST_HANDSHAKES = 8
