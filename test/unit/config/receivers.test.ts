import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadProviders, loadReceivers } from '../../../appliance/config/config.ts'
import { determineProvider } from '../../../appliance/shaping/shaping.ts'

const OTHER =
  '[hosting]\nname = "H"\nmx = ["mail.hosting.test"]\nshare = 1\nround_trip_ms = 1\naccept_ms = 1\n'
const ONE = '[one]\nname = "One"\nmx = ["mx.one.test"]\nshare = 1\nround_trip_ms = 40\naccept_ms = 300\n'

function load(text: string): ReturnType<typeof loadReceivers> {
  const file = join(mkdtempSync(join(tmpdir(), 'posthaste-receivers-')), 'receivers.toml')
  writeFileSync(file, text)
  return loadReceivers(file)
}

describe('the shipped receivers', () => {
  test('the shipped receivers include every known provider, so that each limit is simulated', () => {
    const table = loadProviders({ connections: 10 })
    const known = new Set(
      loadReceivers().map(({ mx }) =>
        determineProvider(
          mx.map((exchange, preference) => ({ preference, exchange })),
          table,
        ),
      ),
    )
    // It differs from m365 only in DANE.
    const missing = table.providers.map(({ id }) => id).filter((id) => !known.has(id) && id !== 'm365-dane')
    expect(missing).toEqual([])
  })

  test('each limit of the shipped receivers has a source, or is marked as an estimate', () => {
    const limits = loadReceivers().flatMap((one) => [
      one.connections,
      one.messagesPerConnection,
      one.messagesPerMinute,
      one.recipientsPerMessage,
    ])
    const sources = limits.flatMap((limit) => (limit === null ? [] : [limit.source]))
    expect(sources.filter((source) => source !== null).length).toBeGreaterThan(40)
    expect(sources.every((source) => source === null || source.startsWith('https://'))).toBe(true)
  })
})

describe('a file of receivers', () => {
  test('a receiver has defaults for omitted keys', () => {
    const [, one] = load(OTHER + ONE)
    expect(one).toMatchObject({ id: 'one', domains: [], connections: null, greylist: null })
    expect(one!.unknown).toMatch(/^550 5\.1\.1 /)
  })

  test.each([
    ['no other receiver', ONE, 'the table [hosting] is missing'],
    ['an unknown key', `${OTHER}${ONE}speed = 3\n`, 'one.speed'],
    ['a share below 0', OTHER + ONE.replace('share = 1', 'share = -1'), 'one.share is -1'],
    ['no exchanger', OTHER + ONE.replace('["mx.one.test"]', '[]'), 'one.mx'],
    [
      'a limit without a source',
      `${OTHER}${ONE}[one.connections]\nmost = 5\nreply = "421 Too many connections"\n`,
      'one.connections.source',
    ],
    [
      'a source that is no URL',
      `${OTHER}${ONE}[one.connections]\nmost = 5\nreply = "421 Too many connections"\nsource = "a friend"\n`,
      'one.connections.source is not an https: URL or "estimate"',
    ],
    [
      'a reply that accepts',
      `${OTHER}${ONE}[one.greylist]\nminutes = 5\nreply = "250 Ok"\n`,
      'one.greylist.reply is not a refusal',
    ],
    [
      'a domain of two receivers',
      `${OTHER}domains = ["a.test"]\n${ONE}domains = ["a.test"]\n`,
      'one.domains has a.test, which hosting also has',
    ],
  ])('rejects a receivers file with %s', (_, text, why) => {
    expect(() => load(text)).toThrow(why)
  })
})
