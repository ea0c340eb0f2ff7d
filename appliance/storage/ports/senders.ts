/** API keys, sending domains and their DKIM keys. */
import type { ToldDomain } from '../../mail/event.ts'

export type Permission = 'full_access' | 'sending_access'

export interface ApiKey {
  id: string
  teamId: string
  name: string
  permission: Permission
  /** The only domain it may send as; null for any of the team's. */
  domainId: string | null
  /** The first characters of the token; null for keys of older versions until they are used again. */
  prefix: string | null
  createdAt: number
  lastUsedAt: number | null
}

export type DomainStatus =
  'not_started' | 'pending' | 'verified' | 'failed' | 'partially_verified' | 'partially_failed'
export type RecordStatus = 'not_started' | 'pending' | 'verified' | 'failed' | 'temporary_failure'

/** What the last verification saw of one DNS record; the records themselves are computed (senders/records.ts). */
export interface RecordCheck {
  /** `DKIM <selector>`, `SPF MX`, `SPF`, `DMARC`, `Tracking <name>`, `MTA-STS`, `TLS-RPT`, `BIMI`. */
  key: string
  status: RecordStatus
  /** The values that were published instead or as well, as text. */
  found: string[]
  /** A sentence that says what is wrong and what to do; null when nothing is. */
  note: string | null
  /** When it was looked up, and since when `status` has been what it is (Unix milliseconds). */
  checkedAt: number
  since: number
}

/** What can be changed of a domain. Receiving is stored and shown, and does nothing yet. */
export interface DomainSettings {
  /** `enforced`: mail goes out encrypted or waits. */
  tls: 'opportunistic' | 'enforced'
  sending: boolean
  receiving: boolean
  openTracking: boolean
  clickTracking: boolean
  /** A label or labels below the domain. */
  trackingSubdomain: string | null
}

/** How a domain's verification goes on by itself. Times in Unix milliseconds. */
export interface DomainWatch {
  /** When a verification that has not succeeded is given up; null when none runs. */
  verifyUntil: number | null
  /** A worse status that was seen since then, and does not count until it is confirmed. */
  suspect: { status: DomainStatus; since: number } | null
  /** When the records are looked at next; null: never by itself. */
  nextCheckAt: number | null
}

export interface Domain extends DomainSettings, DomainWatch {
  id: string
  teamId: string
  /** A-labels, lower case. */
  name: string
  status: DomainStatus
  /** Since when `status` has been what it is. */
  statusSince: number
  region: string
  /** The label under which the return path lives: `send` makes `send.example.com`. */
  returnPath: string
  checks: RecordCheck[]
  createdAt: number
  checkedAt: number | null
}

/**
 * pending: its record has not been seen yet · active: signs · retiring: signs no more, but mail that it signed may still
 * be on its way, so its record is needed · retired: its record may be removed, and its private half is erased
 */
export type DkimKeyState = 'pending' | 'active' | 'retiring' | 'retired'

export interface DkimKey {
  id: string
  teamId: string
  domainId: string
  selector: string
  algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** PKCS #8, DER; empty once retired. */
  privateKey: Uint8Array
  /** What goes into `p=` of the DNS record (RFC 6376 §3.6.1), base64. */
  publicKey: string
  createdAt: number
  state: DkimKeyState
  stateSince: number
  /** When a retiring key is retired; null otherwise. */
  retireAt: number | null
}

/** A new state of a key. */
export type DkimKeyChange = Pick<DkimKey, 'id' | 'state' | 'retireAt'>

/** What a look at the records has brought. */
export interface DomainCheck {
  teamId: string
  id: string
  status: DomainStatus
  checks: RecordCheck[]
  /** Left as it is when not given. */
  watch?: DomainWatch | undefined
  keys?: DkimKeyChange[] | undefined
  /** What `domain.updated` tells; undefined where nothing changed that an app would want to know. */
  told?: ToldDomain | undefined
  /** Nothing is written when the domain is no longer like this: something else happened during the look. */
  seen?: Pick<Domain, 'status' | 'nextCheckAt'> | undefined
}

export interface SenderStorage {
  createApiKey(args: ApiKey & { tokenHash: string }, now: number): Promise<void>
  findApiKey(args: { tokenHash: string }, now: number): Promise<ApiKey | undefined>
  /** By its id alone: for listeners that are bound to a key in the configuration. */
  getApiKey(args: { id: string }, now: number): Promise<ApiKey | undefined>
  listApiKeys(args: { teamId: string }, now: number): Promise<ApiKey[]>
  renameApiKey(args: { teamId: string; id: string; name: string }, now: number): Promise<boolean>
  deleteApiKey(args: { teamId: string; id: string }, now: number): Promise<boolean>
  /** Notes the last use of keys, many at once, and the prefix of those that have none yet. */
  touchApiKeys(
    args: { uses: { id: string; at: number; prefix: string | null }[] },
    now: number,
  ): Promise<void>

  /**
   * A name belongs to one team of the appliance only: `taken` when it has an owner. `told` is what the event says that this method and
   * the next ones record with what they change; without it there is none.
   */
  createDomain(
    args: { domain: Domain; keys: DkimKey[]; told?: ToldDomain | undefined },
    now: number,
  ): Promise<'created' | 'taken'>
  listDomains(args: { teamId: string }, now: number): Promise<Domain[]>
  getDomain(args: { teamId: string; id: string }, now: number): Promise<Domain | undefined>
  findDomain(args: { teamId: string; name: string }, now: number): Promise<Domain | undefined>
  /** Changes what is given; false when there is no such domain. */
  updateDomain(
    args: { teamId: string; id: string; settings: Partial<DomainSettings>; told?: ToldDomain | undefined },
    now: number,
  ): Promise<boolean>
  deleteDomain(
    args: { teamId: string; id: string; told?: ToldDomain | undefined },
    now: number,
  ): Promise<boolean>
  /** Whether another team has verified the name of this domain, which is then not to be verified for this one. */
  isDomainHeld(args: { id: string }, now: number): Promise<boolean>
  /** Tells whether it was written: a status that may send is not while another team holds the name. */
  saveDomainCheck(args: DomainCheck, now: number): Promise<boolean>
  /** Begins or hastens a verification. */
  scheduleDomainCheck(
    args: {
      teamId: string
      id: string
      status: DomainStatus
      watch: DomainWatch
      told?: ToldDomain | undefined
    },
    now: number,
  ): Promise<void>
  /** Domains of all teams whose next look is due, longest due first. */
  dueDomains(args: { limit: number }, now: number): Promise<Domain[]>
  /** Domains of all teams that have a tracking subdomain, by name. */
  trackingDomains(args: object, now: number): Promise<Domain[]>
  /** When the next look at any domain is due; undefined when none is. */
  nextDomainCheck(args: object, now: number): Promise<number | undefined>
  /**
   * Adds the keys of a rotation in the place of pending ones. `rotating`: one waits for its record already, and nothing is
   * changed. `gone`: there is no such domain.
   */
  addDkimKeys(
    args: { teamId: string; domainId: string; keys: DkimKey[] },
    now: number,
  ): Promise<'added' | 'rotating' | 'gone'>
  /** All keys of a domain, oldest first. */
  dkimKeys(args: { domainId: string }, now: number): Promise<DkimKey[]>
  /** The keys that sign for a domain now: never an Ed25519 key alone. */
  signingKeys(args: { domainId: string }, now: number): Promise<DkimKey[]>
}
