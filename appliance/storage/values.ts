/** Words that columns hold, for the schema and the nouns alike. */

/**
 * pending: its record has not been seen yet · active: signs · retiring: signs no more, but mail that it signed may still
 * be on its way, so its record is needed · retired: its record may be removed, and its private half is erased
 */
export type DkimKeyState = 'pending' | 'active' | 'retiring' | 'retired'

export type DomainStatus =
  'not_started' | 'pending' | 'verified' | 'failed' | 'partially_verified' | 'partially_failed'

export type RecordStatus = 'not_started' | 'pending' | 'verified' | 'failed' | 'temporary_failure'

export type Permission = 'full_access' | 'sending_access'

/** What somebody signed in with; `oidc:` is followed by the id of the identity provider. */
export type SignInMethod = 'password' | 'passkey' | `oidc:${string}`

/**
 * second_factor: the password was right · passkey: a challenge of WebAuthn · oidc: somebody is at an identity provider ·
 * reset: a link that sets a new password · set_up: the link that makes the first owner
 */
export type TicketKind = 'second_factor' | 'passkey' | 'oidc' | 'reset' | 'set_up'

/** What is looked through, in this order. */
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
  'contacts',
  'suppressions',
] as const

export type ErasurePhase = (typeof ERASURE_PHASES)[number]

/** Whether a domain's mail may leave without TLS. */
export type TlsRequirement = 'opportunistic' | 'enforced'

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256'

/** How an email came. `report`: made by the appliance itself, about an email that somebody sent. `notice`: from the appliance itself. */
export type Via = 'rest' | 'smtp' | 'dashboard' | 'report' | 'notice'

/** Where the content of an email is (emails.ts). */
export type ContentPlace = 'row' | 'message' | 'unfinished'

export type RecipientField = 'to' | 'cc' | 'bcc'

export type ForwardingState = 'off' | 'due' | 'done' | 'skipped'
