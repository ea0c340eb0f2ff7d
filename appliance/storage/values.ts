/** Values of columns, for the schema and the nouns. */

/**
 * State of a DKIM key. pending: its record hasn't been found yet · active: signs · retiring: no longer signs, but mail
 * that it signed may still be in transit, so its record is needed · retired: its record can be removed, and its private
 * key is erased
 */
export type DkimKeyState = 'pending' | 'active' | 'retiring' | 'retired'

export type DomainStatus =
  'not_started' | 'pending' | 'verified' | 'failed' | 'partially_verified' | 'partially_failed'

export type RecordStatus = 'not_started' | 'pending' | 'verified' | 'failed' | 'temporary_failure'

export type Permission = 'full_access' | 'sending_access'

/** How a user signed in; `oidc:` is followed by the id of the identity provider. */
export type SignInMethod = 'password' | 'passkey' | `oidc:${string}`

/**
 * Purpose of a ticket. second_factor: the second step after a correct password · passkey: a WebAuthn challenge · oidc:
 * a sign-in at an identity provider · reset: a link to set a new password · set_up: the link to create the first owner
 */
export type TicketKind = 'second_factor' | 'passkey' | 'oidc' | 'reset' | 'set_up'

/** The phases of an erasure, in this order. */
export const ERASURE_PHASES = [
  'queue',
  'emails',
  'requests',
  'webhook_deliveries',
  'webhook_attempts',
  'receipts',
  'returned',
  'postmaster',
  'received',
  'imports',
  'sent_events',
  'contacts',
  'suppressions',
] as const

export type ErasurePhase = (typeof ERASURE_PHASES)[number]

/** Whether a domain's mail may be sent without TLS. */
export type TlsRequirement = 'opportunistic' | 'enforced'

/**
 * Who publishes a domain's records. none: its owner · cname: our DNS server has its DKIM keys, reached by CNAME records
 * · ns: our DNS server also has the names of the return path
 */
export type Delegation = 'none' | 'cname' | 'ns'

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256'

/**
 * How an email was submitted. `report`: created by the server about another email. `notice`: from the server itself.
 */
export type SubmissionChannel = 'rest' | 'smtp' | 'dashboard' | 'report' | 'notice'

/** Where the content of an email is stored (emails.ts). */
export type ContentLocation = 'row' | 'message' | 'unfinished'

export type RecipientField = 'to' | 'cc' | 'bcc'

export type ForwardingState = 'off' | 'due' | 'done' | 'skipped'

/**
 * Whether an email about an alert is sent. off: no email is wanted · due: the owners still have to get one · done: they
 * got one, or none could be sent
 */
export type AlertMailState = 'off' | 'due' | 'done'
