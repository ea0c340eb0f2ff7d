/** Wraps the storage to collect metrics there, because every event of an email is stored. */
import type { Clock } from '../clock/clock.ts'
import type { Instruments } from './metrics.ts'

interface Leased {
  id: string
  provider: string
  attempts: number
  createdAt: number
  scheduledAt: number | null
}

/** The measured storage methods. A structural type, so that this folder imports no other. */
export interface MeasuredStorage {
  put(
    args: { emails: readonly { via: string; deliveries: readonly unknown[] }[] },
    now: number,
  ): Promise<{ kind: string }>
  lease(args: never, now: number): Promise<Leased[]>
  settle(
    args: {
      attempt: { startedAt: number; endedAt: number } | null
      changes: readonly { deliveryId: string; state: string }[]
    },
    now: number,
  ): Promise<{ lost: string[] }>
  unlease(args: { deliveryIds: readonly string[] }, now: number): Promise<unknown>
  settleWebhookAttempt(
    args: { attempt: { durationMs: number }; outcome: { success: boolean } },
    now: number,
  ): Promise<unknown>
}

/** The result of the last write, for GET /readyz. */
export interface WriteState {
  lastFailure(): string | null
}

/**
 * Creates `timed`, which measures the duration of storage calls, and `writes`, which has the result of the last write.
 */
function createTimer(instruments: Instruments) {
  let lastFailure: string | null = null
  const timed = async <T>(method: string, work: () => Promise<T>): Promise<T> => {
    const begun = performance.now()
    try {
      const result = await work()
      instruments.stored(method, (performance.now() - begun) / 1000, false)
      lastFailure = null
      return result
    } catch (error) {
      instruments.stored(method, (performance.now() - begun) / 1000, true)
      lastFailure = error instanceof Error ? error.message : String(error)
      throw error
    }
  }
  const writes: WriteState = { lastFailure: () => lastFailure }
  return { timed, writes }
}

/** Wraps a storage to collect metrics. Counters of a delivery's attempts start over when the process restarts. */
export function measureStorage<S extends MeasuredStorage>(
  storage: S,
  instruments: Instruments,
  clock: Clock,
): { storage: S; writes: WriteState } {
  const { timed, writes } = createTimer(instruments)
  const leases = new Map<string, Leased>()
  const end = (id: string): Leased | undefined => {
    const leased = leases.get(id)
    if (leased && leases.delete(id)) instruments.inFlight(leased.provider, -1)
    return leased
  }
  const measured: MeasuredStorage = {
    async put(args, now) {
      const result = await timed('put', () => storage.put(args, now))
      if (result.kind !== 'stored') return result
      for (const { via, deliveries } of args.emails) instruments.accepted(via, 1, deliveries.length)
      instruments.succeeded('accept')
      return result
    },
    async lease(args, now) {
      const leased = await timed('lease', () => storage.lease(args, now))
      for (const one of leased) {
        if (!leases.has(one.id)) instruments.inFlight(one.provider, 1)
        leases.set(one.id, one)
        if (one.attempts === 1)
          instruments.waited((now - Math.max(one.createdAt, one.scheduledAt ?? 0)) / 1000)
      }
      return leased
    },
    async settle(args, now) {
      const result = await timed('settle', () => storage.settle(args, now))
      const { attempt, changes } = args
      if (attempt) instruments.attempted((attempt.endedAt - attempt.startedAt) / 1000)
      for (const { deliveryId, state } of changes) {
        const leased = end(deliveryId)
        if (!leased || result.lost.includes(deliveryId)) continue
        const seconds = (clock.now() - leased.createdAt) / 1000
        instruments.settled({ provider: leased.provider, state, seconds })
        if (state === 'delivered') instruments.succeeded('delivery')
      }
      return result
    },
    async unlease(args, now) {
      const result = await timed('unlease', () => storage.unlease(args, now))
      args.deliveryIds.forEach(end)
      return result
    },
    async settleWebhookAttempt(args, now) {
      const result = await timed('settleWebhookAttempt', () => storage.settleWebhookAttempt(args, now))
      const { success } = args.outcome
      instruments.webhookAttempted(success, args.attempt.durationMs / 1000)
      if (success) instruments.succeeded('webhook')
      return result
    },
  }
  return { storage: { ...storage, ...measured }, writes }
}
