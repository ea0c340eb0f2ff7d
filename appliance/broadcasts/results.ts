/** The results of a broadcast, as counts. */
import { setImmediate } from 'node:timers/promises'
import type {
  BroadcastCounts,
  BroadcastReach,
  CurvePoint,
  EarlierRates,
  ProviderResult,
} from '../mail/broadcast.ts'
import { refuse } from '../mail/refusals.ts'
import { isProviderPlaceholder } from '../mail/queue.ts'
import type {
  Broadcast,
  BroadcastRecipient,
  BroadcastRef,
  ClickedLink,
  RecipientRow,
  RecipientsArgs,
  RecipientType,
} from '../storage/storage.ts'
import { createEarlierRatesLoader, computeHourlyTotals } from './compared.ts'
import { type BroadcastDeps, broadcastNotFound } from './drafts.ts'

export interface ResultMethods {
  /**
   * Updates the counts: always while the broadcast is being sent, if older than 10 s in the hour after that, and if
   * older than a minute later.
   */
  refreshed(broadcast: Broadcast): Promise<Broadcast>
  broadcastReach(ref: BroadcastRef): Promise<BroadcastReach>
  /** Returns how many emails are in flight or waiting for a connection. They are sent despite a pause. */
  inFlight(ref: BroadcastRef): Promise<number>
  /** Returns results by provider, largest first; at most 10 s old. */
  providerResults(ref: BroadcastRef): Promise<ProviderResult[]>
  /** Returns totals by hour for the first 48 hours; empty before sending begins. Refuses: `not_found`. */
  curve(ref: BroadcastRef): Promise<CurvePoint[]>
  /** Returns the median rates of the team's last ten broadcasts before this one. Refuses: `not_found`. */
  earlierRates(ref: BroadcastRef): Promise<EarlierRates>
  /** Lists recipients. Refuses: `not_found`. */
  listRecipients(args: RecipientsArgs): Promise<{ items: BroadcastRecipient[]; hasMore: boolean }>
  /** Returns every recipient in pages, including those that got nothing. A page may be empty. */
  allRecipients(
    args: BroadcastRef & { type?: RecipientType | undefined },
  ): AsyncGenerator<RecipientRow[], void>
  /** Lists clicked links. Refuses: `not_found`. */
  listClickedLinks(
    args: BroadcastRef & { offset: number; limit: number },
  ): Promise<{ items: ClickedLink[]; hasMore: boolean }>
}

/**
 * Maximum age of counts, and how long after a broadcast they are updated at all, because its emails may be deleted
 * later (milliseconds).
 */
const FRESH_MS = 60_000
/** Maximum age of counts in the hour after sending ended, while the last emails arrive (milliseconds). */
const NEW_MS = 10_000
const HOUR_MS = 3_600_000
const COUNTED_MS = 7 * 24 * 3_600_000
/** Number of recipients per page of an export. */
const PAGE = 200
/** Number of emails counted per step. */
const STEP = 5000
/** Maximum number of broadcasts whose provider tables are cached. */
const MOST_TABLES = 100

export function createResultMethods({ storage, clock }: BroadcastDeps): ResultMethods {
  const refreshed = async (broadcast: Broadcast): Promise<Broadcast> => {
    const { id, status, revisionId, countedAt, finishedAt } = broadcast
    const now = clock.now()
    const since = finishedAt === null ? 0 : now - finishedAt
    const over = since > COUNTED_MS
    const lasts = since < HOUR_MS ? NEW_MS : FRESH_MS
    const fresh = countedAt !== null && now - countedAt < (status === 'queued' ? 0 : lasts)
    if (revisionId === null || over || fresh) return broadcast
    const counted = await recountBroadcast({ storage, clock }, id)
    return { ...broadcast, ...counted, countedAt: now }
  }
  const earlier = createEarlierRatesLoader({ storage, clock }, refreshed)
  const tables = new Map<string, { at: number; rows: ProviderResult[] }>()
  const demand = async (ref: BroadcastRef): Promise<Broadcast> => {
    const found = await storage.getBroadcast(ref, clock.now())
    if (!found) throw broadcastNotFound()
    return found
  }
  return {
    refreshed,
    async broadcastReach(ref) {
      await demand(ref)
      return storage.broadcastReach(ref, clock.now())
    },
    async inFlight(ref) {
      await demand(ref)
      return storage.broadcastInFlight({ id: ref.id }, clock.now())
    },
    async providerResults(ref) {
      await demand(ref)
      const now = clock.now()
      const known = tables.get(ref.id)
      if (known && now - known.at < NEW_MS) return known.rows
      const rows = await countByProvider({ storage, clock }, ref.id)
      if (tables.size >= MOST_TABLES) tables.clear()
      tables.set(ref.id, { at: now, rows })
      return rows
    },
    curve: async (ref) => computeHourlyTotals({ storage, clock }, await demand(ref)),
    earlierRates: async (ref) => earlier(await demand(ref)),
    async listRecipients(args) {
      await demand(args)
      return storage.listBroadcastRecipients(args, clock.now())
    },
    allRecipients: (args) => pagesOfRecipients({ storage, clock }, args),
    async listClickedLinks(args) {
      await demand(args)
      if (!Number.isSafeInteger(args.offset) || args.offset < 0)
        throw refuse('invalid_parameter', { parameter: 'after', expected: 'the id of a row of this list' })
      return storage.listClickedLinks(args, clock.now())
    },
  }
}

/** Counts the emails and the recipients of a broadcast, and stores the numbers for lists. */
export async function recountBroadcast(
  { storage, clock }: Pick<BroadcastDeps, 'storage' | 'clock'>,
  id: string,
): Promise<{ counts: BroadcastCounts; reach: BroadcastReach }> {
  const counts = await storage.countBroadcast({ id }, clock.now())
  const reach = await storage.broadcastReach({ id }, clock.now())
  await storage.saveBroadcastCounts({ id, counts, reach }, clock.now())
  return { counts, reach }
}

async function* pagesOfRecipients(
  { storage, clock }: Pick<BroadcastDeps, 'storage' | 'clock'>,
  { type, ...ref }: BroadcastRef & { type?: RecipientType | undefined },
): AsyncGenerator<RecipientRow[], void> {
  for (let after = ''; ;) {
    const rows = await storage.broadcastRecipientRows({ ...ref, after, most: PAGE }, clock.now())
    yield type === undefined ? rows : rows.filter((row) => isOfType(row, type))
    if (rows.length < PAGE) return
    after = rows.at(-1)!.contactId
  }
}

/** Applies the same conditions as `listBroadcastRecipients`. */
function isOfType(row: RecipientRow, type: RecipientType): boolean {
  switch (type) {
    case 'sent':
      return row.sentAt !== null && row.lastEvent !== 'queued'
    case 'delivered':
      return (KINDS.delivered as readonly (string | null)[]).includes(row.lastEvent)
    case 'opened':
      return row.opens > 0
    case 'clicked':
      return row.clicks > 0
    case 'unsubscribed':
      return row.unsubscribed
    case 'bounced':
    case 'complained':
    case 'suppressed':
      return row.lastEvent === type
  }
}

const KINDS = {
  waiting: ['queued', 'sent', 'delivery_delayed'],
  deferred: ['delivery_delayed'],
  delivered: ['delivered', 'opened', 'clicked', 'complained'],
  bounced: ['bounced'],
  complained: ['complained'],
} as const

async function countByProvider({ storage, clock }: BroadcastDeps, id: string): Promise<ProviderResult[]> {
  const found = new Map<string, ProviderResult>()
  for (let after: string | null = ''; after !== null;) {
    const part = await storage.broadcastOutcomes({ id, after, most: STEP }, clock.now())
    for (const { provider: name, pool, lastEvent, n } of part.outcomes) {
      if (lastEvent === 'suppressed') continue
      const provider = isProviderPlaceholder(name) ? '' : name
      const row = found.get(provider) ?? {
        provider,
        pool,
        emails: 0,
        waiting: 0,
        deferred: 0,
        delivered: 0,
        bounced: 0,
        complained: 0,
      }
      row.emails += n
      for (const [kind, events] of Object.entries(KINDS))
        if ((events as readonly string[]).includes(lastEvent)) row[kind as keyof typeof KINDS] += n
      found.set(provider, row)
    }
    after = part.next
    await setImmediate()
  }
  return [...found.values()].sort((a, b) => b.emails - a.emails)
}
