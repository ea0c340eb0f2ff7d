/**
 * The interface to DNS.
 *
 * An answer is one of three things, and callers must distinguish them: the records were found; the name or the type is
 * known not to exist; or the lookup failed (timeout, SERVFAIL, malformed answer). Only the first two are facts about a
 * domain: a failure defers mail and never bounces it.
 */

/** The record types in use and the format of their data. Host names are in lower case, without the root dot. */
export interface RecordData {
  A: string
  AAAA: string
  MX: { preference: number; exchange: string }
  /** The character-strings of one record, concatenated (RFC 7208 §3.3). */
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
      /** The target name, when the name is an alias (CNAME). */
      alias?: string
    }
  | { kind: 'absent'; why: 'nxdomain' | 'nodata'; ttl: number; authentic: boolean }
  | { kind: 'failed'; note: string }

export interface Resolver {
  /** Looks up one type of one name (A-labels). Follows CNAMEs. Never throws: failures are returned. */
  resolve<T extends RecordType>(name: string, type: T): Promise<Answer<T>>
  /**
   * Looks up a type and name at the name's authoritative servers, without any cache, to show operators what is
   * published.
   */
  resolveAuthoritative<T extends RecordType>(name: string, type: T): Promise<Answer<T>>
  close(): void
}

/** The answer of each authoritative server of a name's zone; `failed` when the servers weren't found. */
export type AuthorityAnswers<T extends RecordType> =
  | {
      kind: 'asked'
      /** The name of the zone. */
      zone: string
      /** In the order of the zone's NS records. */
      servers: { host: string; answer: Answer<T> }[]
    }
  | { kind: 'failed'; note: string }

/** Queries the authoritative servers one by one, to show how far a change has propagated. */
export interface AuthorityResolver {
  /** Queries every server of the name's zone in parallel, without any cache. Never throws: failures are returned. */
  survey<T extends RecordType>(name: string, type: T): Promise<AuthorityAnswers<T>>
}
