/**
 * Reports events of emails to the apps that sent them. Events are stored together with the state changes they describe,
 * then turned into webhook deliveries by the outbox, and sent endpoint by endpoint. Also counts events by tag.
 */
import type { Clock } from '../clock/clock.ts'
import type { Storage } from '../storage/storage.ts'
import type { Logger } from '../watch/log.ts'
import type { Cidr } from '../wire/networks.ts'
import type { PostClient } from '../wire/post.ts'
import { createLanes } from './lanes.ts'
import { createTagCounter } from './metrics-tags.ts'
import { createOutbox } from './outbox.ts'
import { createWebhooks, type Webhooks } from './webhooks.ts'
import type { Duties } from '../watch/duties.ts'
import type { Worker } from '../watch/worker.ts'

export { createWebhooks, type Webhooks } from './webhooks.ts'

export interface EventsDeps {
  storage: Storage
  poster: PostClient
  clock: Clock
  log: Logger
  /** The User-Agent header of requests to endpoints. */
  agent: string
  /** Networks in which endpoints are allowed although they aren't public. */
  allowNetworks: readonly Cidr[]
  /** IPs of this machine's interfaces; endpoints there must be in an allowed network. */
  ownAddresses: () => readonly string[]
  /** How often to look for events stored by other processes, in milliseconds. Default 1000. */
  pollMs?: number | undefined
  /** Duties for the parts that run on only one node. */
  duties?: Duties | undefined
  /** Returns a random number in [0, 1). */
  random?: (() => number) | undefined
}

/** Background processing of events. Call `wake` when an event may have been stored. */
export interface Events extends Worker {
  readonly webhooks: Webhooks
}

/** Creates outbox, lanes and the methods for owners; nothing is sent before `start()`. */
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
