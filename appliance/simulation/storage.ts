/** An in-memory implementation of the storage that delivery needs. It starts with the current state of the server. */
import type { DeliveryStorage } from '../delivery/delivery.ts'
import type { Source } from '../mail/source.ts'
import { laneId } from '../shaping/shaping.ts'
import type { DkimKey, Domain, LaneRecord, Storage } from '../storage/storage.ts'
import type { SimulatedQueue } from './queue.ts'

type SimulatedStorage = DeliveryStorage & Pick<Storage, 'saveProviderSettings'>

/** The message that all emails have. */
const MESSAGE = Buffer.from('From: <news@sender.test>\r\nSubject: Simulated\r\n\r\nText\r\n')

/** The sending domain. Only `tls` and `name` are read. */
const SENDING_DOMAIN = { name: 'sender.test', tls: 'opportunistic' } as Domain

/** A DKIM key. It isn't used, because the simulation's signer adds no signatures. */
const KEY: DkimKey = {
  id: 'key',
  teamId: 'team',
  domainId: 'domain',
  selector: 'posthaste',
  algorithm: 'ed25519-sha256',
  privateKey: new Uint8Array(),
  publicKey: '',
  createdAt: 0,
  state: 'active',
  stateSince: 0,
  retireAt: null,
}

export interface InitialState {
  sources: readonly Source[]
  lanes: readonly LaneRecord[]
  providerSettings: readonly { provider: string; settings: Record<string, unknown> }[]
}

/** Creates the storage. Saved data is kept in memory. */
export function createSimulatedStorage(queue: SimulatedQueue, present: InitialState): SimulatedStorage {
  const lanes = new Map(present.lanes.map((lane) => [laneId(lane.source, lane.provider), lane]))
  const settings = present.providerSettings.map((one) => ({ ...one, updatedAt: 0 }))
  const none = <T>(value: T): Promise<T> => Promise.resolve(value)
  return {
    lease: (args, now) => none(queue.lease(args, now)),
    settle: (args, now) => none(queue.settle(args, now)),
    unlease: (args, now) => none(queue.unlease(args, now)),
    nextDue: (args) => none(queue.nextDue(args)),
    place: (args) => none({ count: queue.place(args), next: null }),
    leasedUntil: () => none([]),
    leaseOwners: () => none([]),
    voidLeases: () => none(0),
    listLanes: () => none([...lanes.values()]),
    saveLanes: (args) => {
      for (const lane of args.lanes) lanes.set(laneId(lane.source, lane.provider), lane)
      return none(undefined)
    },
    addLaneDays: () => none(undefined),
    listSources: () => none([...present.sources]),
    listProviderSettings: () => none(settings),
    saveProviderSettings: () => none(undefined),
    getMessage: () => none(MESSAGE),
    getDomain: () => none(SENDING_DOMAIN),
    signingKeys: () => none([KEY]),
    findReceivers: () => none([]),
  }
}
