import { expect, test } from 'vitest'
import type { Answer } from '../../../appliance/dns/dns.ts'
import { queryNameserver, evaluateNameserver } from '../../../appliance/insights/nameserver.ts'

const found = <T>(...records: T[]) => ({ kind: 'found' as const, records, ttl: 300, authentic: false })
const absent = { kind: 'absent' as const, why: 'nxdomain' as const, ttl: 60, authentic: false }
const failed = { kind: 'failed' as const, note: 'DNS server 192.0.2.5 did not respond' }
const facts = {
  zone: 'dns.mail.example.com',
  names: ['mail.example.com'],
  resolved: found('mail.example.com'),
  direct: found('mail.example.com'),
  tcp: [{ ip: '192.0.2.5', why: null }],
}

test('a delegated zone that is reachable over UDP and TCP passes', () => {
  expect(evaluateNameserver(facts)).toMatchObject({ status: 'ok', advice: null })
})

test.each([
  ['a server without an address', { tcp: [] }, /has no address/, /address records/],
  [
    'a zone that is not delegated',
    { resolved: absent },
    /not delegated/,
    /dns\.mail\.example\.com\. NS mail\.example\.com\./,
  ],
  [
    'a zone of other servers',
    { resolved: found('ns1.other.example') },
    /delegated to ns1\.other\.example, not to mail/,
    /nameserver\.names/,
  ],
  ['a resolver without an answer', { resolved: failed }, /did not respond/, /firewall/],
  ['a server without an answer', { direct: failed }, /did not respond/, /firewall/],
  [
    'a closed port',
    { tcp: [{ ip: '192.0.2.5', why: 'refuses the connection' }] },
    /over TCP: 192\.0\.2\.5 refuses/,
    /firewall/,
  ],
])('%s fails, with advice', (_, change, sentence, advice) => {
  const finding = evaluateNameserver({ ...facts, ...change })
  expect(finding).toMatchObject({ id: 'nameserver', status: 'failed' })
  expect(finding.found).toMatch(sentence)
  expect(finding.advice).toMatch(advice)
})

test('contacts every address of every server, and queries nothing without a zone', async () => {
  const answers: Record<string, Answer<'NS' | 'A' | 'AAAA'>> = {
    'dns.mail.example.com NS': found('ns1.example.com', 'ns2.example.com'),
    'ns1.example.com A': found('192.0.2.1'),
    'ns2.example.com AAAA': found('2001:db8::2'),
  }
  const resolve = async (name: string, type: string) => answers[`${name} ${type}`] ?? absent
  const resolver = { resolve, resolveAuthoritative: resolve, close: () => undefined } as never
  const dialed: string[] = []
  const dial = async ({ ip, port }: { ip: string; port: number }) => {
    dialed.push(`${ip} ${port}`)
    return null
  }
  const nameserver = {
    zone: 'dns.mail.example.com',
    names: ['ns1.example.com', 'ns2.example.com'],
    rotateMs: 1,
  }
  const host = { hostname: 'mail.example.com', sourceIps: [], nameserver }
  const asked = await queryNameserver(resolver, host, dial)
  expect(dialed).toEqual(['192.0.2.1 53', '2001:db8::2 53'])
  expect(evaluateNameserver(asked!)).toMatchObject({ status: 'ok' })
  expect(await queryNameserver(resolver, { ...host, nameserver: undefined }, dial)).toBeNull()
})
