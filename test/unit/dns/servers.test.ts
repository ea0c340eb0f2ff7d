import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseServer, systemServers } from '../../../appliance/dns/servers.ts'

test.each([
  ['192.0.2.1', { ip: '192.0.2.1', port: 53, text: '192.0.2.1' }],
  ['192.0.2.1:5353', { ip: '192.0.2.1', port: 5353, text: '192.0.2.1:5353' }],
  ['2001:db8::1', { ip: '2001:db8::1', port: 53, text: '2001:db8::1' }],
  ['[2001:db8::1]', { ip: '2001:db8::1', port: 53, text: '2001:db8::1' }],
  ['[2001:db8::1]:5353', { ip: '2001:db8::1', port: 5353, text: '[2001:db8::1]:5353' }],
  ['::1', { ip: '::1', port: 53, text: '::1' }],
])('the DNS server entry %s is accepted', (entry, server) => {
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
])('the DNS server entry %j is rejected with a hint', (entry) => {
  expect(() => parseServer(entry)).toThrow(
    `dns.servers: "${entry}" is not an address. Use ip, ip:port or [ip6]:port`,
  )
})

test('resolv.conf is read in order, ignoring comments and invalid entries', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'resolv-')), 'resolv.conf')
  writeFileSync(
    file,
    '# nameserver 192.0.2.9\nsearch example.com\n nameserver 192.0.2.1\nnameserver\t2001:db8::1 # ours\nnameserver x\n',
  )
  expect(systemServers(file).map(({ text }) => text)).toEqual(['192.0.2.1', '2001:db8::1'])
})

test('localhost is the DNS server without a resolv.conf, or with one that has no nameserver', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'resolv-')), 'resolv.conf')
  const local = [{ ip: '127.0.0.1', port: 53, text: '127.0.0.1' }]
  expect(systemServers(file)).toEqual(local)
  writeFileSync(file, 'search example.com\n')
  expect(systemServers(file)).toEqual(local)
})
