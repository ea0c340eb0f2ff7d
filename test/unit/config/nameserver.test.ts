import { expect, test } from 'vitest'
import { loadConfig } from '../../../appliance/config/config.ts'

/** Returns the complaints about settings of the DNS server. */
function complaints(settings: Record<string, string>): string[] {
  const env = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [`POSTHASTE_NAMESERVER__${key.toUpperCase()}`, value]),
  )
  const loaded = loadConfig({
    env: { POSTHASTE_HOSTNAME: 'mail.example.com', ...env },
    defaultFile: '/nonexistent',
  })
  return 'complaints' in loaded ? loaded.complaints.map(({ message }) => message) : []
}

test('settings of the DNS server have no effect without a zone', () => {
  expect(complaints({ listen: '192.0.2.1:53', rotate_days: '30' })).toEqual([
    'nameserver.listen has no effect without nameserver.zone.',
    'nameserver.rotate_days has no effect without nameserver.zone.',
  ])
  expect(complaints({ zone: 'dns.mail.example.com', listen: '192.0.2.1:53' })).toEqual([])
})

test('rejects a zone that contains the server’s hostname or the names of the DNS servers', () => {
  for (const zone of ['mail.example.com', 'Example.com'])
    expect(complaints({ zone })).toEqual([
      'nameserver.zone contains hostname (mail.example.com). Choose a name below or beside it, such as dns.mail.example.com.',
    ])
  expect(complaints({ zone: 'dns.example.com', names: 'ns.DNS.example.com' })).toEqual([
    'nameserver.names has ns.DNS.example.com, which is in nameserver.zone. Use names outside the zone.',
  ])
})
