import { expect, test } from 'vitest'
import { parseHostPort } from '../../../appliance/wire/listeners.ts'
import { getSourceNetwork } from '../../../appliance/wire/networks.ts'

test.each([
  ['0.0.0.0:8025', { host: '0.0.0.0', port: 8025 }],
  ['[::]:8025', { host: '::', port: 8025 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
])('parses the listen address %s', (text, parsed) => {
  expect(parseHostPort(text)).toEqual(parsed)
})

test.each(['', '8025', 'localhost', 'localhost:99999', ':::8025', '[x]:1'])(
  'rejects the listen address %j with an example',
  (text) => {
    expect(() => parseHostPort(text)).toThrow('use host:port, such as 0.0.0.0:587')
  },
)

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('%s belongs to the network %s', (ip, network) => {
  expect(getSourceNetwork(ip)).toBe(network)
})
