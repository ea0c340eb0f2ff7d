import { expect, test } from 'vitest'
import type { DomainRecord } from '../../../appliance/api/domains.ts'
import { formatZoneFile } from '../../../ui/src/state/zone.ts'

const record = (change: Partial<DomainRecord>): DomainRecord => ({
  record: 'SPF',
  name: 'send',
  type: 'TXT',
  ttl: 'Auto',
  status: 'pending',
  value: 'v=spf1 -all',
  fqdn: 'send.example.com',
  required: true,
  advice: null,
  served: false,
  found: [],
  note: null,
  checked_at: null,
  since: null,
  ...change,
})

test('names and targets in the zone file are absolute', () => {
  const mx = record({ type: 'MX', value: 'mail.example.net', priority: 10 })
  expect(formatZoneFile([mx, record({})])).toBe(
    'send.example.com. 3600 IN MX 10 mail.example.net.\nsend.example.com. 3600 IN TXT "v=spf1 -all"\n',
  )
})

test('splits a key longer than a character-string without losing any of it', () => {
  const value = `v=DKIM1; p=${'A'.repeat(400)}`
  const line = formatZoneFile([record({ value })])
  const pieces = [...line.matchAll(/"([^"]*)"/g)].map((match) => match[1]!)
  expect(pieces.map((piece) => piece.length)).toEqual([255, 156])
  expect(pieces.join('')).toBe(value)
  expect(line).toMatch(/ TXT \( ".*" ".*" \)\n$/)
})

test('escapes quotes and backslashes', () => {
  expect(formatZoneFile([record({ value: 'a"b\\c' })])).toContain('TXT "a\\"b\\\\c"')
})
