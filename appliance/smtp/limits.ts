/** Limits on a client's time and memory. Milliseconds and octets. */

/** A command line; AUTH has the longest (RFC 4954 §4: 12,288 octets). */
export const MAX_LINE = 12_288
/** Recipients of one transaction (RFC 5321 §4.5.3.1.8). */
export const MAX_RECIPIENTS = 100
/** Wait for the next command, or the next chunk of a message (RFC 5321 §4.5.3.2.7, §4.5.3.2.5). */
export const IDLE_MS = 300_000
/** A client that hasn't authenticated by then is disconnected with 421. */
export const UNKNOWN_MS = 60_000
/** The same while most connections for strangers are in use. */
export const HURRIED_MS = 10_000
/** The same for a client that sends to a local recipient without authentication. */
export const INBOUND_MS = 600_000
/** A session ends between two messages after this time, so that new certificates and settings reach every client. */
export const SESSION_MS = 7_200_000
/** Recipients that an unauthenticated connection may ask for. */
export const MAX_LOOKUPS = 100
export const HANDSHAKE_MS = 30_000
export const PROXY_MS = 10_000
/** How long a shutdown waits for clients that don't close after 421. */
export const LINGER_MS = 1000
/** How long a shutdown waits for messages in flight. */
export const GRACE_MS = 10_000
/** Refused commands before a connection is closed. */
export const MAX_ERRORS = 20
/** The same at the public MX, where most of them are guesses at recipients. */
export const MAX_ERRORS_PUBLIC = 10
/**
 * NOOP, RSET, EHLO and the like that are free per message of an authenticated client; more count against the budget of
 * its address.
 */
export const IDLE_FREE = 100
/** The same before authentication. */
export const IDLE_FREE_UNKNOWN = 10
/**
 * Sessions processed per turn of the event loop; each may have ten commands waiting. The others follow in the next
 * turn.
 */
export const MOST_AT_ONCE = 16
/** Handshakes of implicit TLS started per turn of the event loop; each takes up to a millisecond. */
export const MOST_HANDSHAKES = 8
