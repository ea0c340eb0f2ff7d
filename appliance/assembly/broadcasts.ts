/** Connects broadcasts to a daemon: sends them and composes their emails. */
import { type Broadcasts, type BroadcastsDeps, createBroadcasts, isRecord } from '../broadcasts/broadcasts.ts'
import { createComposer } from '../intake/intake.ts'
import { createReturnPaths } from '../senders/senders.ts'
import type { ShapingOperations } from '../shaping/shaping.ts'
import type { Storage } from '../storage/storage.ts'
import type { ComposeOptions } from './appliance.ts'

/** Composes the message of an email from its stored bytes. */
type MessageOf = (emailId: string, stored: Uint8Array) => Promise<Uint8Array | undefined>

/**
 * Wraps the storage so that the emails of broadcasts are composed when their messages are read. Reads before the call
 * of `composed` wait, because delivery starts before the composer.
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

/** The parts of a daemon that broadcasts need. */
type Ground = Omit<BroadcastsDeps, 'composer' | 'returnPaths' | 'pollMs' | 'laneRates'> & {
  shaping: Pick<ShapingOperations, 'rates'>
  options: Pick<ComposeOptions, 'pollMs'>
  started: AsyncDisposableStack
  composed: (by: MessageOf) => void
}

/** Opens broadcasts and continues those that a stop interrupted. */
export function openBroadcasts({ options, started, composed, shaping, ...deps }: Ground): Broadcasts {
  const composing = createComposer(deps)
  const composer = started.adopt(composing, () => composing.close())
  const returnPaths = createReturnPaths(deps)
  const pollMs = options.pollMs ?? 1000
  const laneRates = () => shaping.rates()
  const broadcasts = createBroadcasts({ ...deps, composer, returnPaths, laneRates, pollMs })
  composed((emailId, stored) => broadcasts.messageOf(emailId, stored))
  started.defer(() => broadcasts.close())
  broadcasts.start()
  return broadcasts
}
