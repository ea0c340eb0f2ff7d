/** Taking one person's address out of what is kept. Pure. */
import { createHmac } from 'node:crypto'
import { domainToUnicode } from 'node:url'
import { suppressionKey } from './suppression.ts'

/** What an erasure counts: each is a number of rows that were changed or removed. */
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
  'suppressions',
] as const
export type ErasureKind = (typeof ERASURE_KINDS)[number]
export type ErasureCounts = Record<ErasureKind, number>

/** Nothing counted yet. */
export function noCounts(): ErasureCounts {
  return Object.fromEntries(ERASURE_KINDS.map((kind) => [kind, 0])) as ErasureCounts
}

/**
 * What stands for an erased address: whoever has the appliance's key and the address finds it, and nobody else can read the address
 * from it. Of each team its own, so that teams cannot compare.
 * @param key secret `erasures`
 * @returns 64 hexadecimal digits
 */
export function addressHash(key: Uint8Array, teamId: string, address: string): string {
  return createHmac('sha256', key)
    .update(`${teamId}\0${suppressionKey(address)}`)
    .digest('hex')
}

/** The address that is shown instead of an erased one. Nobody can have it (RFC 2606 §2). */
export function pseudonymOf(hash: string): string {
  return `erased-${hash.slice(0, 16)}@erased.invalid`
}

/** Whether an address is one that `pseudonymOf` made. */
export const isPseudonym = (address: string): boolean => /^erased-[0-9a-f]{16}@erased\.invalid$/.test(address)

/** `address` of a suppression whose address was erased. No address looks like it: it has no @. */
export function erasedSuppressionKey(hash: string): string {
  return `erased:${hash}`
}

/** Finds one address in texts and replaces it. */
export interface Eraser {
  /** Whether a text, or a text within JSON, has the address. */
  finds(text: string): boolean
  /** The text with the pseudonym; a mailbox (`Name <address>`) loses the name too. */
  hide(text: string): string
  /**
   * The same for every text in plain data.
   * @param words also the local part alone, in what servers said: for what is about nobody else
   */
  hideIn<T>(value: T, words?: boolean): T
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** Not within a longer address; an escape in JSON or a percent code before it is no part of one. */
const BEFORE = String.raw`(?:(?<![\p{L}\p{N}._+-])|(?<=\\[bfnrt])|(?<=%[0-9a-f]{2}))`
const AFTER = String.raw`(?![\p{L}\p{N}-]|\.[\p{L}\p{N}])`

/** Shorter local parts are found in every other sentence. */
const SHORTEST_WORD = 3

/** Fields with the words of remote servers, and ours about them. */
const SPOKEN = new Set(['text', 'note', 'message', 'diagnosticCode'])

/** @param address in A-labels, as recipients are kept; found in any case, with U-labels, and percent-encoded */
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
