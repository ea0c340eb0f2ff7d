/** Broadcasts in a daemon: what sends them, and what composes their emails. */
import { type Broadcasts, type BroadcastsDeps, createBroadcasts, isRecord } from '../broadcasts/broadcasts.ts'
import { createComposer } from '../intake/intake.ts'
import { createReturnPaths } from '../senders/senders.ts'
import type { ShapingBook } from '../shaping/shaping.ts'
import type { Storage } from '../storage/storage.ts'
import type { ComposeOptions } from './appliance.ts'

/** The message of an email, by what is stored of it. */
type MessageOf = (emailId: string, stored: Uint8Array) => Promise<Uint8Array | undefined>

/**
 * Lets the emails of broadcasts be composed when somebody asks for their messages. Who asks before `composed` was called waits: what
 * delivers begins before what composes.
 */
export function withBroadcastMail<S extends Pick<Storage, 'getMessage'>>(
  engine: S,
): { storage: S; composed: (by: MessageOf) => void } {
  const { promise, resolve } = Promise.withResolvers<MessageOf>()
  const getMessage: Storage['getMessage'] = async ({ emailId }, now) => {
    const stored = await engine.getMessage({ emailId }, now)
    return stored && isRecord(stored) ? (await promise)(emailId, stored) : stored
  }
  return { storage: { ...engine, getMessage }, composed: resolve }
}

type LaneBook = Pick<ShapingBook, 'lanes' | 'providers'>

/** The rate of each lane, and for providers without a lane the rate that their first lane would start with. */
async function laneRatesOf(shaping: LaneBook): Promise<{ provider: string; perMinute: number }[]> {
  const lanes = (await shaping.lanes()).map(({ provider, allowed, paused }) => ({
    provider,
    perMinute: paused === null ? allowed.messagesPerMinute : 0,
  }))
  const known = new Set(lanes.map(({ provider }) => provider))
  const others = (await shaping.providers()).filter(({ id }) => !known.has(id))
  return [
    ...lanes,
    ...others.map(({ id, limits }) => ({ provider: id, perMinute: limits.messagesPerMinute })),
  ]
}

/** What of a daemon broadcasts stand on. */
type Ground = Omit<BroadcastsDeps, 'composer' | 'returnPaths' | 'pollMs' | 'laneRates'> & {
  shaping: LaneBook
  options: Pick<ComposeOptions, 'pollMs'>
  started: AsyncDisposableStack
  composed: (by: MessageOf) => void
}

/** Opens broadcasts, and goes on with those that a stop interrupted. */
export function openBroadcasts({ options, started, composed, shaping, ...deps }: Ground): Broadcasts {
  const composing = createComposer(deps)
  const composer = started.adopt(composing, () => composing.close())
  const returnPaths = createReturnPaths(deps)
  const pollMs = options.pollMs ?? 1000
  const laneRates = () => laneRatesOf(shaping)
  const broadcasts = createBroadcasts({ ...deps, composer, returnPaths, laneRates, pollMs })
  composed((emailId, stored) => broadcasts.messageOf(emailId, stored))
  started.defer(() => broadcasts.close())
  broadcasts.start()
  return broadcasts
}
