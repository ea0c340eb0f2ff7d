/**
 * The port of the domain name system.
 *
 * An answer is one of three things, and callers must tell them apart: the records were found; the name or the type
 * is known to be absent; or nobody could tell (timeout, SERVFAIL, garbage). Only the first two are facts about a domain:
 * a failure defers mail and never bounces it.
 */

/** Records that the appliance asks for, in the shape in which it uses them. Host names are lower case, without the root dot. */
export interface RecordData {
  A: string
  AAAA: string
  MX: { preference: number; exchange: string }
  /** The character-strings of one record joined (RFC 7208 §3.3). */
  TXT: string
  CNAME: string
  NS: string
  PTR: string
  TLSA: { usage: number; selector: number; matching: number; data: Uint8Array }
}
export type RecordType = keyof RecordData

export type Answer<T extends RecordType> =
  | {
      kind: 'found'
      records: RecordData[T][]
      ttl: number
      authentic: boolean
      /** Where the records are, when the name is an alias (CNAME). */
      alias?: string
    }
  | { kind: 'absent'; why: 'nxdomain' | 'nodata'; ttl: number; authentic: boolean }
  | { kind: 'failed'; note: string }

export interface Resolver {
  /** Looks up one type of one name (A-labels). Follows CNAMEs. Never throws: what the internet does is a value. */
  resolve<T extends RecordType>(name: string, type: T): Promise<Answer<T>>
  /** The same from the authoritative servers of the name, past every cache; for showing an operator what is published. */
  resolveAuthoritative<T extends RecordType>(name: string, type: T): Promise<Answer<T>>
  close(): void
}

/** What each authoritative server of a name's zone says by itself; `failed` when the servers could not be found. */
export type Survey<T extends RecordType> =
  | {
      kind: 'asked'
      /** The name of the zone. */
      zone: string
      /** In the order of the zone's NS records. */
      servers: { host: string; answer: Answer<T> }[]
    }
  | { kind: 'failed'; note: string }

/** Asks the authoritative servers one by one, to show how far a change of a zone has come. */
export interface Surveyor {
  /** Every server of the name's zone, all at once and past every cache. Never throws: what the internet does is a value. */
  survey<T extends RecordType>(name: string, type: T): Promise<Survey<T>>
}
