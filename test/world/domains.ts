import type { Domain } from '../../appliance/api/domains.ts'
import type { TestAppliance } from './appliance.ts'
import { PATIENCE } from './patience.ts'
import type { World } from './world.ts'

/** Publishes a domain's records in the world's DNS. */
export function publishRecords(world: World, records: Domain['records']): void {
  for (const fqdn of new Set(records.map((record) => record.fqdn))) {
    const here = records.filter((record) => record.fqdn === fqdn)
    world.dns.set(fqdn, {
      TXT: here.filter(({ type }) => type === 'TXT').map(({ value }) => value),
      MX: here
        .filter(({ type }) => type === 'MX')
        .map(({ value, priority }) => ({ preference: priority!, exchange: value })),
    })
  }
}

/** A sending domain in a test: publishes its records in the world's DNS and moves time to its next check. */
export interface TestDomain {
  readonly id: string
  get(): Promise<Domain>
  /** Publishes all records, or those that match `which`. */
  publish(which?: (record: Domain['records'][number]) => boolean): Promise<void>
  /** Moves time to the daemon's next check of the domain and waits for the result. */
  look(): Promise<Domain>
  /** Runs checks until `enough` returns true. Fails after `most` checks. */
  lookUntil(enough: (domain: Domain) => boolean, most?: number): Promise<Domain>
}

/** Converts a timestamp of the REST API to Unix milliseconds. */
export const instantOf = (text: string | null): number =>
  Date.parse(text!.replace(' ', 'T').replace('+00', 'Z'))

/** Returns a handle on an existing domain. */
export function testDomain(appliance: TestAppliance, world: World, id: string): TestDomain {
  const get = async (): Promise<Domain> => (await appliance.call<Domain>('GET', `/domains/${id}`)).body
  const look = async (): Promise<Domain> => {
    const before = await get()
    if (before.next_check_at === null) throw new Error(`${before.name} is not going to be looked at`)
    await world.clock.set(Math.max(world.clock.now(), instantOf(before.next_check_at)))
    const end = Date.now() + PATIENCE
    for (;;) {
      const after = await get()
      if (after.checked_at !== before.checked_at) return after
      if (Date.now() > end) throw new Error(`${before.name} was not looked at: ${JSON.stringify(after)}`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  return {
    id,
    get,
    look,
    async publish(which = () => true) {
      const { records, recommended_records } = await get()
      publishRecords(world, [...records, ...recommended_records].filter(which))
    },
    async lookUntil(enough, most = 100) {
      for (let looks = 0; looks < most; looks++) {
        const domain = await look()
        if (enough(domain)) return domain
      }
      throw new Error(`not after ${most} looks: ${JSON.stringify(await get())}`)
    },
  }
}
