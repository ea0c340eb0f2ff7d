/**
 * The port of storage. A method is a transaction: it happens whole, durably, or not at all; when its promise
 * resolves, it has happened. `now` is the caller's clock in Unix milliseconds. Objects that come out are plain data.
 *
 * Nothing outside this folder knows the engine, sees a row, or holds a transaction.
 */
import type { EmailEventType, EventData, LastEvent } from '../mail/event.ts'
import type { Transcript } from '../mail/transcript.ts'
import type { Cause, DeliveryState } from '../mail/verdict.ts'

export interface Team {
  id: string
  name: string
  createdAt: number
}

export interface User {
  id: string
  email: string
  /** argon2id in PHC string form. */
  passwordHash: string
  createdAt: number
}

/** A signed-in browser. The cookie holds a random token; only its SHA-256 is stored. */
export interface Session {
  tokenHash: string
  teamId: string
  userId: string
  createdAt: number
  expiresAt: number
  ip: string | null
  userAgent: string | null
}

export type Permission = 'full_access' | 'sending_access'

export interface ApiKey {
  id: string
  teamId: string
  name: string
  permission: Permission
  /** The only domain it may send as; null for any of the team's. */
  domainId: string | null
  createdAt: number
  lastUsedAt: number | null
}

export type DomainStatus =
  'not_started' | 'pending' | 'verified' | 'failed' | 'partially_verified' | 'partially_failed'
export type RecordStatus = 'not_started' | 'pending' | 'verified' | 'failed' | 'temporary_failure'

/** What the last verification saw of one DNS record; the records themselves are computed (senders/records.ts). */
export interface RecordCheck {
  /** `DKIM`, `SPF MX`, `SPF`, `DMARC`. */
  key: string
  status: RecordStatus
  /** The values that were published instead or as well, as text. */
  found: string[]
  /** A sentence that says what is wrong and what to do; null when nothing is. */
  note: string | null
}

export interface Domain {
  id: string
  teamId: string
  /** A-labels, lower case. */
  name: string
  status: DomainStatus
  region: string
  /** The label under which the return path lives: `send` makes `send.example.com`. */
  returnPath: string
  checks: RecordCheck[]
  createdAt: number
  checkedAt: number | null
}

export interface DkimKey {
  id: string
  teamId: string
  domainId: string
  selector: string
  algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** PKCS #8, DER. */
  privateKey: Uint8Array
  /** What goes into `p=` of the DNS record (RFC 6376 §3.6.1), base64. */
  publicKey: string
  createdAt: number
}

export interface Tag {
  name: string
  value: string
}

/** One recipient of a new email: how the spool will first hold it. */
export interface NewDelivery {
  id: string
  /** Envelope recipient: local part as given, domain in A-labels. */
  recipient: string
  field: 'to' | 'cc' | 'bcc'
  /** The queue it waits in: today the recipient's domain. */
  lane: string
  dueAt: number
  expiresAt: number
}

/** An accepted request, about to become durable. */
export interface NewEmail {
  id: string
  teamId: string
  domainId: string
  apiKeyId: string | null
  via: 'rest' | 'smtp' | 'dashboard'
  /** The header fields as the caller gave them, decoded. */
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  html: string | null
  text: string | null
  headers: { name: string; value: string }[]
  tags: Tag[]
  attachments: AttachmentInfo[]
  messageId: string
  /** Envelope sender, unique to the email (VERP). */
  returnPath: string
  scheduledAt: number | null
  /** The complete RFC 5322 message, CRLF line ends, unsigned. */
  message: Uint8Array
  deliveries: NewDelivery[]
}

export interface AttachmentInfo {
  id: string
  filename: string | null
  contentType: string
  contentId: string | null
  disposition: 'attachment' | 'inline'
  size: number
}

/** What lists show of an email. */
export interface EmailSummary {
  id: string
  teamId: string
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  messageId: string
  lastEvent: LastEvent
  scheduledAt: number | null
  createdAt: number
}

export interface Email extends EmailSummary {
  domainId: string
  apiKeyId: string | null
  via: NewEmail['via']
  html: string | null
  text: string | null
  headers: { name: string; value: string }[]
  tags: Tag[]
  attachments: AttachmentInfo[]
  returnPath: string
  /** Bytes of the message. */
  size: number
}

/** The fate of one recipient so far. */
export interface Delivery {
  id: string
  emailId: string
  teamId: string
  recipient: string
  field: 'to' | 'cc' | 'bcc'
  lane: string
  state: DeliveryState
  attempts: number
  createdAt: number
  updatedAt: number
  /** When it will be tried next; null when it is final. While an attempt runs, the time at which it would be tried again after a crash. */
  dueAt: number | null
  /** When it will be given up; null when it is final. */
  expiresAt: number | null
  /** Why it is in this state; null before the first attempt. */
  cause: Cause | null
}

export interface Attempt {
  id: string
  teamId: string
  emailId: string
  deliveryIds: string[]
  startedAt: number
  endedAt: number
  transcript: Transcript
}

export interface EmailEvent {
  id: string
  emailId: string
  deliveryId: string | null
  type: EmailEventType
  createdAt: number
  data: EventData
}

/** All that is known of one email: the page "what happened to it" in one read. */
export interface EmailHistory {
  deliveries: Delivery[]
  attempts: Attempt[]
  events: EmailEvent[]
}

/** A delivery that the caller owns until `leaseUntil`. */
export interface LeasedDelivery {
  id: string
  teamId: string
  emailId: string
  domainId: string
  recipient: string
  lane: string
  /** Attempts including the one that begins now. */
  attempts: number
  createdAt: number
  expiresAt: number
  leaseUntil: number
  returnPath: string
}

export interface LeaseArgs {
  /** Names the process start that leases; `settle` must show the same. */
  owner: string
  /** At most this many deliveries. */
  limit: number
  /** At most this many from one lane. */
  perLane: number
  /** Lanes that have no room at the moment. */
  fullLanes: string[]
  /** When the lease ends, should the owner vanish without a word (Unix milliseconds). */
  leaseUntil: number
  /**
   * Milliseconds to the next attempt after the first, second, … one; the last entry repeats. Set before anyone dials,
   * so that a process that dies in every attempt still keeps to the schedule.
   */
  retryDelays: readonly number[]
}

/** What becomes of one leased delivery. */
export interface Change {
  deliveryId: string
  state: DeliveryState
  /** The next time, for `waiting`; ignored otherwise. */
  dueAt: number | null
  cause: Cause
  event: { id: string; type: EmailEventType; data: EventData } | null
}

export interface SettleArgs {
  owner: string
  attempt: Attempt | null
  changes: Change[]
}

/** Which waiting deliveries are meant; all given conditions must hold. None given means all. */
export interface QueueFilter {
  teamId?: string | undefined
  deliveryId?: string | undefined
  emailId?: string | undefined
  /** Recipient domain. */
  domain?: string | undefined
  state?: 'waiting' | 'held' | undefined
}

export interface QueueSummary {
  waiting: number
  held: number
  /** Leased now. */
  inFlight: number
  /** Creation of the oldest waiting delivery. */
  oldestAt: number | null
}

/** Pages run newest first; `after` and `before` are ids and exclusive. */
export interface PageArgs {
  teamId: string
  limit: number
  after?: string | undefined
  before?: string | undefined
}
export interface Page<T> {
  items: T[]
  hasMore: boolean
}

export interface Storage {
  // ── accounts
  /** Makes the team with its first owner; refuses with `exists` when there is a user with that address. */
  createOwner(args: { team: Team; user: User }, now: number): Promise<'created' | 'exists'>
  setPassword(args: { userId: string; passwordHash: string }, now: number): Promise<void>
  findUser(args: { email: string }, now: number): Promise<User | undefined>
  /** The oldest team; undefined before set-up. */
  firstTeam(args: object, now: number): Promise<Team | undefined>
  createSession(args: Session, now: number): Promise<void>
  /** An unexpired session with its user and team. */
  findSession(
    args: { tokenHash: string },
    now: number,
  ): Promise<{ session: Session; user: User; team: Team } | undefined>
  deleteSession(args: { tokenHash: string }, now: number): Promise<void>
  /** Removes expired sessions; returns how many. */
  purgeSessions(args: object, now: number): Promise<number>

  // ── senders
  createApiKey(args: ApiKey & { tokenHash: string }, now: number): Promise<void>
  findApiKey(args: { tokenHash: string }, now: number): Promise<ApiKey | undefined>
  listApiKeys(args: { teamId: string }, now: number): Promise<ApiKey[]>
  deleteApiKey(args: { teamId: string; id: string }, now: number): Promise<boolean>
  /** Notes the last use of keys, many at once. */
  touchApiKeys(args: { uses: { id: string; at: number }[] }, now: number): Promise<void>

  /** A name belongs to one team of the appliance only: `taken` when it has an owner. */
  createDomain(args: { domain: Domain; key: DkimKey }, now: number): Promise<'created' | 'taken'>
  listDomains(args: { teamId: string }, now: number): Promise<Domain[]>
  getDomain(args: { teamId: string; id: string }, now: number): Promise<Domain | undefined>
  findDomain(args: { teamId: string; name: string }, now: number): Promise<Domain | undefined>
  deleteDomain(args: { teamId: string; id: string }, now: number): Promise<boolean>
  saveDomainCheck(
    args: { teamId: string; id: string; status: DomainStatus; checks: RecordCheck[] },
    now: number,
  ): Promise<void>
  dkimKeys(args: { domainId: string }, now: number): Promise<DkimKey[]>

  // ── emails
  /** The acceptance boundary: email, message and deliveries become durable together. */
  put(args: NewEmail, now: number): Promise<void>
  listEmails(args: PageArgs, now: number): Promise<Page<EmailSummary>>
  getEmail(args: { teamId: string; id: string }, now: number): Promise<Email | undefined>
  getHistory(args: { teamId: string; id: string }, now: number): Promise<EmailHistory>
  /** The message as accepted. */
  getMessage(args: { emailId: string }, now: number): Promise<Uint8Array | undefined>

  // ── spool
  /**
   * Takes due deliveries, oldest first; several recipients of one email in one lane come together where the limits allow.
   * Counts the attempt and sets the next time before anyone dials. Records `email.sent` for an email that is tried for the first time.
   */
  lease(args: LeaseArgs, now: number): Promise<LeasedDelivery[]>
  /** Ends leases; changes of deliveries that the owner no longer leases are not made and their ids returned. */
  settle(args: SettleArgs, now: number): Promise<{ lost: string[] }>
  /** Gives back leased deliveries as if never taken: due at once, the attempt uncounted. For a clean stop. */
  unlease(args: { owner: string; deliveryIds: string[] }, now: number): Promise<void>
  /** Voids the leases of every other owner: their process is gone. The deliveries wait for the time that `lease` wrote. Returns how many. */
  voidLeases(args: { owner: string }, now: number): Promise<number>
  /** When the next unheld, unleased delivery is due; undefined when none waits. */
  nextDue(args: { fullLanes: string[] }, now: number): Promise<number | undefined>

  queueSummary(args: { teamId?: string | undefined }, now: number): Promise<QueueSummary>
  listQueue(args: QueueFilter & { limit: number }, now: number): Promise<Delivery[]>
  /** Stops further attempts until released; those in flight finish. Returns how many. */
  holdQueue(args: QueueFilter, now: number): Promise<number>
  releaseQueue(args: QueueFilter, now: number): Promise<number>
  /** Makes waiting deliveries due now. */
  retryQueue(args: QueueFilter, now: number): Promise<number>
  /** Gives waiting or held deliveries up: state `failed`, event `email.failed`. Those in flight are left alone. */
  dropQueue(args: QueueFilter, now: number): Promise<number>

  close(): Promise<void>
}
