import { expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { createRecorder } from '../../../appliance/delivery/recorder.ts'
import { findRoute } from '../../../appliance/delivery/route.ts'
import type { Resolver } from '../../../appliance/dns/dns.ts'

const OWN = 'mail.sender.test'
const ADDRESS = '10.0.0.7'

/** Finds the route to example.org, whose best MX is `exchange`, at an address of this machine. */
async function find(exchange: string, receives: readonly string[]): Promise<string> {
  const found = (records: unknown[]) => ({ kind: 'found' as const, records, authentic: false })
  const resolve = async (_name: string, type: string) => {
    if (type === 'MX') return found([{ preference: 10, exchange }])
    return type === 'A' ? found([ADDRESS]) : { kind: 'absent' as const, why: 'nodata', authentic: false }
  }
  const made = await findRoute('example.org', createRecorder(systemClock, systemClock.now()), {
    resolver: { resolve: resolve as unknown as Resolver['resolve'] },
    random: () => 0,
    hostname: OWN,
    allowNetworks: [],
    ownAddresses: () => [ADDRESS],
    sources: { reaches: () => true },
    receives: async (domain) => receives.includes(domain),
  })
  if (made.kind === 'failed') return `${made.failure.kind} ${made.failure.status}`
  return made.hosts.map(({ name, addresses }) => `${name} ${addresses.join(' ')}`).join(', ')
}

test('routes mail for a domain that receives here to this server, whatever its address', async () => {
  expect(await find('Mail.Sender.test', ['example.org'])).toBe(`${OWN} ${ADDRESS}`)
})

test('an MX pointing to this server is a loop for other domains, and forbidden under another name', async () => {
  expect(await find(OWN, ['other.example'])).toBe('no-route 5.4.6')
  expect(await find('mx.stranger.test', ['example.org'])).toBe('forbidden 5.4.4')
})
