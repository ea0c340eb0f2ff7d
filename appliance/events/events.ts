/**
 * Tells the apps what became of their mail: events, stored with the state changes that they tell of, are drained from the outbox into
 * webhook deliveries, which are sent lane by lane. Counts them by tag, too.
 */
import type { Clock } from '../clock/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Cidr } from '../wire/networks.ts'
import type { Poster } from '../wire/post.ts'
import { createLanes } from './lanes.ts'
import { createTagCounter } from './metrics-tags.ts'
import { createOutbox } from './outbox.ts'
import { createWebhooks, type Webhooks } from './webhooks.ts'
import type { Duties } from '../watch/duties.ts'
import type { Worker } from '../watch/worker.ts'

export { createWebhooks, type Webhooks } from './webhooks.ts'

export interface EventsDeps {
  storage: Storage
  poster: Poster
  clock: Clock
  log: Logger
  /** `User-Agent` of requests to endpoints. */
  agent: string
  /** Networks in which endpoints may be although they are not public. */
  allowNetworks: readonly Cidr[]
  /** Addresses of this machine's interfaces, where no endpoint may be unless a listed network contains them. */
  ownAddresses: () => readonly string[]
  /** How often to look for what other processes stored, in milliseconds. Default 1000. */
  pollMs?: number | undefined
  /** What of it runs once, however many nodes there are. */
  duties?: Duties | undefined
  /** Dice: a number in [0, 1). */
  random?: (() => number) | undefined
}

/** What is done about events behind the mail; `wake` says that one may have been stored. */
export interface Events extends Worker {
  readonly webhooks: Webhooks
}

/** Builds outbox, lanes and the methods of owners; nothing is sent before `start()`. */
export function createEvents(deps: EventsDeps): Events {
  const { pollMs = 1000, random = Math.random } = deps
  const lanes = createLanes({ ...deps, pollMs, random })
  const wake = (): void => lanes.wake()
  const outbox = createOutbox({ ...deps, pollMs, onStored: wake })
  const tags = createTagCounter({ ...deps, pollMs })
  return {
    webhooks: createWebhooks({ ...deps, wake }),
    start() {
      outbox.start()
      lanes.start()
      tags.start()
    },
    wake: () => outbox.wake(),
    async stop() {
      await outbox.stop()
      await lanes.stop()
      await tags.stop()
    },
  }
}
