/** Limits on a client's time and memory, in milliseconds and octets. */

/** Maximum length of a command line. AUTH has the longest (RFC 4954 §4: 12,288 octets). */
export const MAX_LINE = 12_288
/** Maximum number of recipients in one transaction (RFC 5321 §4.5.3.1.8). */
export const MAX_RECIPIENTS = 100
/** How long to wait for the next command, or the next chunk of a message (RFC 5321 §4.5.3.2.7, §4.5.3.2.5). */
export const IDLE_MS = 300_000
/** How long a client may stay connected without authenticating. After that, it is disconnected with 421. */
export const UNAUTHENTICATED_MS = 60_000
/** The limit while most connections for unauthenticated clients are in use. */
export const UNAUTHENTICATED_BUSY_MS = 10_000
/** The limit for a client that sends to a local recipient without authentication. */
export const INBOUND_MS = 600_000
/**
 * Maximum duration of a session. It then ends between two messages, so that new certificates and settings take effect
 * for every client.
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
/** Maximum number of refused commands at the public MX, where most of them are guesses at recipients. */
export const MAX_ERRORS_PUBLIC = 10
/**
 * Number of commands such as NOOP, RSET and EHLO that are free per message of an authenticated client. Further ones are
 * charged to the budget of its IP.
 */
export const FREE_IDLE_COMMANDS = 100
/** Number of such commands that are free before authentication. */
export const FREE_IDLE_COMMANDS_UNAUTHENTICATED = 10
/**
 * Maximum number of sessions that are processed per turn of the event loop, each with up to ten waiting commands. The
 * remaining sessions follow in the next turn.
 */
export const MAX_SESSIONS_PER_TURN = 16
/** Maximum number of implicit TLS handshakes started per turn of the event loop; each takes up to a millisecond. */
export const MAX_HANDSHAKES_PER_TURN = 8
