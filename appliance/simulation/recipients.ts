/** The recipients of a simulation, and random numbers. Pure. */
import type { Receiver } from '../mail/receiver.ts'
import { refuse } from '../mail/refusals.ts'
import { determineProvider, type ProviderTable } from '../shaping/shaping.ts'

/** Number of recipients of each receiver, by the receiver's ID. */
export type Composition = ReadonlyMap<string, number>

/** Returns a generator of pseudo-random numbers in [0, 1), determined by the seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Divides recipients in proportion to weights. The largest remainders get the recipients that are left. */
export function divideProportionally(
  count: number,
  weights: ReadonlyMap<string, number>,
): Map<string, number> {
  const sum = [...weights.values()].reduce((total, weight) => total + weight, 0)
  const parts = [...weights].map(([id, weight]) => {
    const exact = sum === 0 ? 0 : (count * weight) / sum
    return { id, whole: Math.floor(exact), rest: exact - Math.floor(exact) }
  })
  const missing = count - parts.reduce((total, { whole }) => total + whole, 0)
  const first = new Set(parts.toSorted((a, b) => b.rest - a.rest).slice(0, sum === 0 ? 0 : missing))
  return new Map(parts.map((part) => [part.id, part.whole + (first.has(part) ? 1 : 0)]))
}

/** Returns the default mix: each receiver's share. */
export const getDefaultShares = (receivers: readonly Receiver[]): Map<string, number> =>
  new Map(receivers.map(({ id, share }) => [id, share]))

/**
 * Counts the addresses of a list by receiver. Each line has an address in its first column; other lines, such as a
 * heading, are skipped.
 * @param other the receiver of all other domains
 * @throws Refusal if the list has no address
 */
export function countAddresses(
  text: string,
  receivers: readonly Receiver[],
  other: string,
): Map<string, number> {
  const owners = new Map(receivers.flatMap(({ id, domains }) => domains.map((domain) => [domain, id])))
  const counts = new Map<string, number>()
  for (const line of text.split(/\r?\n/)) {
    const found = /^\s*"?[^\s"@,;]+@([^\s"@,;>]+)/.exec(line)
    if (!found) continue
    const id = owners.get(found[1]!.toLowerCase()) ?? other
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  if (counts.size === 0)
    throw refuse('invalid_field', { field: 'contacts', expected: 'a file with an address on each line' })
  return counts
}

/** The state of a recipient's mailbox. */
export type MailboxState = 'ok' | 'unknown' | 'full'

/** The shares of mailboxes that don't exist, and of those that are full. */
export interface MailboxShares {
  unknown: number
  full: number
}

/** One recipient. */
export interface Recipient {
  receiver: Receiver
  address: string
  domain: string
}

/** Returns a function that creates recipients. A number makes each address unique. */
export function createRecipients(random: () => number, { unknown, full }: MailboxShares) {
  let number = 0
  return (receiver: Receiver): Recipient => {
    const at = random()
    const mailbox: MailboxState = at < unknown ? 'unknown' : at < unknown + full ? 'full' : 'ok'
    const domain = domainOf(receiver, random)
    return { receiver, address: `r${number++}-${mailbox}@${domain}`, domain }
  }
}

/** Number of domains for a receiver without well-known ones. */
const MADE_UP = 20

/** Returns the domains of a receiver; made-up ones if it has no well-known ones. */
export const listReceiverDomains = ({ id, domains }: Receiver): string[] =>
  domains.length > 0 ? domains : Array.from({ length: MADE_UP }, (_, at) => `${id}-${at + 1}.test`)

/**
 * Picks a domain of a receiver. Half of the mail goes to the first domain, half of the rest to the second, and so on.
 */
function domainOf(receiver: Receiver, random: () => number): string {
  const domains = listReceiverDomains(receiver)
  const at = Math.min(domains.length - 1, Math.floor(-Math.log2(1 - random())))
  return domains[at]!
}

/** Parses the kind of mailbox from an address. */
export function parseMailboxState(address: string): MailboxState {
  const kind = /-(ok|unknown|full)@/.exec(address)?.[1]
  return (kind as MailboxState | undefined) ?? 'ok'
}

/** Orders recipients at random (Fisher-Yates), so that every provider's mail is mixed with the others'. */
export function shuffle<T>(items: T[], random: () => number): T[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const kept = items[at]!
    items[at] = items[other]!
    items[other] = kept
  }
  return items
}

/**
 * Converts numbers of recipients by provider to numbers by receiver. The receivers of one provider share its recipients
 * in proportion to their usual weights. Recipients of unknown providers go to `other`.
 */
export function toReceiverCounts(
  counts: ReadonlyMap<string, number>,
  receivers: readonly Receiver[],
  { table, other }: { table: ProviderTable; other: string },
): Map<string, number> {
  const groups = Map.groupBy(receivers, ({ mx }) =>
    determineProvider(
      mx.map((exchange, preference) => ({ preference, exchange })),
      table,
    ),
  )
  const weights = new Map<string, number>()
  for (const [provider, count] of counts) {
    const own = groups.get(provider) ?? []
    const parts =
      own.length === 0 ? new Map([[other, count]]) : divideProportionally(count, getDefaultShares(own))
    for (const [id, part] of parts) weights.set(id, (weights.get(id) ?? 0) + part)
  }
  return weights
}
