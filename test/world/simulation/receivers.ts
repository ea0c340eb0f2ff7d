import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Zone, ZoneRecords } from '../../../appliance/sandbox/zone.ts'
import { freeAddress, likelyFreePort } from '../addresses.ts'
import { PERSONALITIES } from './personalities.ts'
import { domainsOf, type Personality } from './personality.ts'
import type { ThreadCommand, ThreadData } from './receivers-thread.ts'
import type { Records } from './record.ts'
import type { SharedTime } from './time.ts'

/** All personalities, running in a thread of their own, and the DNS that resolves to them. */
export interface Receivers {
  /** All receivers listen on one port, because `delivery.port` is a single number. */
  port: number
  zone: Zone
  /** Must be called after the clock was skipped ahead. */
  moved(): void
  /** Resolves when they have read all data that had already arrived. */
  ready(): Promise<void>
  /** Returns all records so far. Each call copies them again. */
  records(): Promise<Records>
  close(): Promise<void>
}

interface Place {
  personality: Personality
  host: string
  address: string
  dead: boolean
}

const MAX_PORT_TRIES = 5

/** Starts the receivers' thread. */
export async function startReceivers(time: SharedTime): Promise<Receivers> {
  const places = PERSONALITIES.flatMap(placesOf)
  const hosts = places
    .filter(({ dead }) => !dead)
    .map(({ personality, host, address }) => ({ personality: personality.name, host, address }))
  for (let attempt = 1; ; attempt++) {
    const data: ThreadData = { buffer: time.buffer, port: likelyFreePort(), hosts }
    const thread = new Worker(new URL('receivers-thread.ts', import.meta.url), { workerData: data })
    const [said] = (await once(thread, 'message')) as [{ listening: number } | { failed: string }]
    if ('listening' in said) return receivers(thread, said.listening, describeZone(places))
    await thread.terminate()
    if (said.failed !== 'EADDRINUSE' || attempt === MAX_PORT_TRIES)
      throw new Error(`the receivers cannot listen: ${said.failed}`)
  }
}

function receivers(thread: Worker, port: number, zone: Zone): Receivers {
  const tell = (command: ThreadCommand): void => thread.postMessage(command)
  return {
    port,
    zone,
    moved: () => tell('moved'),
    async ready() {
      tell('ping')
      await once(thread, 'message')
    },
    async records() {
      tell('records')
      const [said] = (await once(thread, 'message')) as [{ records: Records }]
      return said.records
    },
    async close() {
      tell('close')
      await once(thread, 'exit')
    },
  }
}

/** Returns the personality's exchangers, each name once, with an address of its own. */
function placesOf(personality: Personality): Place[] {
  const names = domainsOf(personality).flatMap((domain) => exchangersOf(personality, domain))
  return [...new Set(names)].map((name) => {
    const dead = name.startsWith('dead:')
    return { personality, host: dead ? name.slice(5) : name, address: freeAddress(), dead }
  })
}

function exchangersOf({ mx }: Personality, domain: string): string[] {
  return mx.map((name) => name.replace('*', domain.replaceAll('.', '-')))
}

function describeZone(places: Place[]): Zone {
  const zone: Zone = {}
  for (const { host, address } of places) zone[host] = { A: address }
  for (const personality of PERSONALITIES) {
    for (const domain of domainsOf(personality)) Object.assign(zone, entryOf(personality, domain))
  }
  return zone
}

function entryOf(personality: Personality, domain: string): Zone {
  const { dns } = personality
  if (dns === 'absent' || dns === 'implicit') return {}
  if (dns === 'servfail-first') return { [domain]: 'SERVFAIL' }
  return { [domain]: exchangers(personality, domain) }
}

/** Returns a domain's MX records. */
export function exchangers(personality: Personality, domain: string): ZoneRecords {
  if (personality.dns === 'null-mx') return { MX: { preference: 0, exchange: '' } }
  const names = exchangersOf(personality, domain).map((name) => name.replace('dead:', ''))
  return { MX: names.map((exchange, at) => ({ preference: 10 * (at + 1), exchange })) }
}
