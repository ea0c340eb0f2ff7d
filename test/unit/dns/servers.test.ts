import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseServer, readSystemServers } from '../../../appliance/dns/servers.ts'

test.each([
  ['192.0.2.1', { ip: '192.0.2.1', port: 53, text: '192.0.2.1' }],
  ['192.0.2.1:5353', { ip: '192.0.2.1', port: 5353, text: '192.0.2.1:5353' }],
  ['2001:db8::1', { ip: '2001:db8::1', port: 53, text: '2001:db8::1' }],
  ['[2001:db8::1]', { ip: '2001:db8::1', port: 53, text: '2001:db8::1' }],
  ['[2001:db8::1]:5353', { ip: '2001:db8::1', port: 5353, text: '[2001:db8::1]:5353' }],
  ['::1', { ip: '::1', port: 53, text: '::1' }],
])('accepts the DNS server entry %s', (entry, server) => {
  expect(parseServer(entry)).toEqual(server)
})

test.each([
  '',
  'dns.example.com',
  '192.0.2',
  '192.0.2.1:0',
  '192.0.2.1:70000',
  '192.0.2.1:',
  '[::1',
  '[::1]53',
])('rejects the DNS server entry %j with a hint', (entry) => {
  expect(() => parseServer(entry)).toThrow(
    `dns.servers: "${entry}" is not an address. Use ip, ip:port or [ip6]:port`,
  )
})

test('reads resolv.conf in order, ignoring comments and invalid entries', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'resolv-')), 'resolv.conf')
  writeFileSync(
    file,
    '# nameserver 192.0.2.9\nsearch example.com\n nameserver 192.0.2.1\nnameserver\t2001:db8::1 # ours\nnameserver x\n',
  )
  expect(readSystemServers(file).map(({ text }) => text)).toEqual(['192.0.2.1', '2001:db8::1'])
})

test('uses localhost as the DNS server if resolv.conf is missing or has no nameserver', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'resolv-')), 'resolv.conf')
  const local = [{ ip: '127.0.0.1', port: 53, text: '127.0.0.1' }]
  expect(readSystemServers(file)).toEqual(local)
  writeFileSync(file, 'search example.com\n')
  expect(readSystemServers(file)).toEqual(local)
})
