/** API keys, sending domains and their DKIM keys. */

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

export interface SenderStorage {
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
}
