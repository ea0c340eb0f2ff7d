/** Removes a person's address from stored data. Pure. */
import { createHmac } from 'node:crypto'
import { domainToUnicode } from 'node:url'
import { toSuppressionKey } from './suppression.ts'

/** Kinds of rows that an erasure changes or removes, and counts. */
const ERASURE_KINDS = [
  'deliveries',
  'emails',
  'recipients',
  'bodies',
  'bodies_later',
  'events',
  'attempts',
  'requests',
  'webhook_deliveries',
  'webhook_attempts',
  'receipts',
  'received_messages',
  'contacts',
  'consents',
  'import_rejects',
  'sent_events',
  'suppressions',
] as const
export type ErasureKind = (typeof ERASURE_KINDS)[number]
export type ErasureCounts = Record<ErasureKind, number>

/** Returns zero counts. */
export function createErasureCounts(): ErasureCounts {
  return Object.fromEntries(ERASURE_KINDS.map((kind) => [kind, 0])) as ErasureCounts
}

/**
 * Hashes an erased address. Only someone with the server's key and the address can compute it. Differs per team, so
 * that teams can't compare.
 * @param key the secret `erasures`
 * @returns 64 hex digits
 */
export function hashAddress(key: Uint8Array, teamId: string, address: string): string {
  return createHmac('sha256', key)
    .update(`${teamId}\0${toSuppressionKey(address)}`)
    .digest('hex')
}

/** Returns the address shown instead of an erased one. No one can own it (RFC 2606 §2). */
export function createPseudonym(hash: string): string {
  return `erased-${hash.slice(0, 16)}@erased.invalid`
}

/** Whether an address is one that `createPseudonym` made. */
export const isPseudonym = (address: string): boolean => /^erased-[0-9a-f]{16}@erased\.invalid$/.test(address)

/** Returns `address` of a suppression whose address was erased. It has no @, so that it can't be an address. */
export function createErasedSuppressionKey(hash: string): string {
  return `erased:${hash}`
}

/** Finds an address in texts and replaces it. */
export interface Eraser {
  /** Whether a text, or a text within JSON, contains the address. */
  finds(text: string): boolean
  /** Replaces the address by the pseudonym; also removes the name of a mailbox (`Name <address>`). */
  hide(text: string): string
  /**
   * Replaces the address like `hide` in every text of plain data.
   * @param words also replace the local part alone in text from servers and notes about it; only for data about no one
   * else
   */
  hideIn<T>(value: T, words?: boolean): T
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/**
 * Ensures a match isn't part of a longer address. A JSON escape or percent code before it doesn't count as part of it.
 */
const BEFORE = String.raw`(?:(?<![\p{L}\p{N}._+-])|(?<=\\[bfnrt])|(?<=%[0-9a-f]{2}))`
const AFTER = String.raw`(?![\p{L}\p{N}-]|\.[\p{L}\p{N}])`

/** Minimum length of a local part that is replaced on its own, because shorter ones occur in ordinary text. */
const SHORTEST_WORD = 3

/** Fields with text from remote servers, and with our notes about it. */
const SPOKEN = new Set(['text', 'note', 'message', 'diagnosticCode'])

/**
 * Creates an eraser.
 * @param address with A-labels, as recipients are stored; found in any case, with U-labels, and percent-encoded
 */
export function createEraser(address: string, pseudonym: string): Eraser {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  const forms = new Set([address, `${local}@${domainToUnicode(address.slice(at + 1))}`])
  for (const form of [...forms]) forms.add(encodeURIComponent(form)).add(JSON.stringify(form).slice(1, -1))
  const any = `(?:${[...forms].map(escaped).join('|')})`
  const found = new RegExp(`${BEFORE}${any}${AFTER}`, 'iu')
  const all = new RegExp(found.source, 'giu')
  const mailbox = new RegExp(`^[^<>:]*<${any}>\\s*$`, 'iu')
  const word =
    local.length < SHORTEST_WORD
      ? undefined
      : new RegExp(`(?<![\\p{L}\\p{N}])${escaped(local)}(?![\\p{L}\\p{N}])`, 'giu')
  const hide = (text: string): string => (mailbox.test(text) ? pseudonym : text.replace(all, pseudonym))
  const said = (text: string): string => (word ? hide(text).replace(word, 'erased') : hide(text))
  const walk = (value: unknown, spoken: boolean, words: boolean): unknown => {
    if (typeof value === 'string') return spoken && words ? said(value) : hide(value)
    if (Array.isArray(value)) return value.map((one) => walk(one, spoken, words))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [hide(name), walk(one, spoken || SPOKEN.has(name), words)]),
    )
  }
  return {
    finds: (text) => found.test(text),
    hide,
    hideIn: <T>(value: T, words = false) => walk(value, false, words) as T,
  }
}
