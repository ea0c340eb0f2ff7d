import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadBotRules } from '../../../appliance/config/config.ts'
import { createVisitMemory } from '../../../appliance/tracking/recent-visits.ts'
import { createBotClassifier, type VisitContext } from '../../../appliance/tracking/bots.ts'
import type { Visit } from '../../../appliance/tracking/tracking.ts'

const BROWSER = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36'
const visit: Visit = { method: 'GET', ip: '192.0.2.1', userAgent: BROWSER, purpose: '' }
const moment: VisitContext = { now: 60_000, deliveredAt: 0, links: 1 }

describe('bots are distinguished from people', () => {
  const judge = createBotClassifier(loadBotRules())
  const rows: [Partial<Visit>, Partial<VisitContext>, boolean, string | null][] = [
    [{}, {}, false, null],
    [{ method: 'HEAD' }, {}, true, 'sent a HEAD request'],
    [{ userAgent: '' }, {}, true, 'sent no User-Agent'],
    [{ purpose: 'prefetch;prerender' }, {}, true, 'prefetched the content'],
    [{ userAgent: 'Mozilla/5.0' }, {}, true, 'Apple Mail Privacy Protection'],
    [
      {
        userAgent:
          'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
      },
      {},
      false,
      'Gmail image proxy',
    ],
    [
      { userAgent: 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html' },
      {},
      false,
      'Yahoo image proxy',
    ],
    [{ userAgent: 'Mimecast-URL-Scanner' }, {}, true, 'Mimecast'],
    [{ userAgent: 'Mozilla/5.0 (compatible; Barracuda)' }, {}, true, 'Barracuda'],
    [{ userAgent: 'curl/8.0' }, {}, true, 'a program, not a browser'],
    [{}, { deliveredAt: null }, true, 'visited before delivery'],
    [{}, { deliveredAt: 58_001 }, true, 'visited within seconds of delivery'],
    [{}, { deliveredAt: 58_000 }, false, null],
    [{}, { links: 3 }, false, null],
    [{}, { links: 4 }, true, 'followed many links at once'],
  ]
  test.each(rows)('classifies a visit as bot or person: %j %j', (who, when, robot, seenBy) => {
    expect(judge({ ...visit, ...who }, { ...moment, ...when })).toEqual({ robot, seenBy })
  })

  test('classifies a visit by network if a rule lists any', () => {
    const scanner = {
      name: 'Scanner',
      is: 'robot' as const,
      agents: [],
      exactAgents: [],
      networks: ['192.0.2.0/24'],
    }
    const own = createBotClassifier([scanner])
    expect(own(visit, moment)).toEqual({ robot: true, seenBy: 'Scanner' })
    expect(own({ ...visit, ip: '198.51.100.1' }, moment)).toEqual({ robot: false, seenBy: null })
  })
})

describe('custom bot rules', () => {
  const file = (text: string): string => {
    const path = join(mkdtempSync(join(tmpdir(), 'posthaste-robots-')), 'robots.toml')
    writeFileSync(path, text)
    return path
  }

  test('custom bot rules are applied first', () => {
    const path = file('[[rule]]\nname = "Ours"\nis = "proxy"\nagents = ["CURL"]\n')
    expect(createBotClassifier(loadBotRules(path))({ ...visit, userAgent: 'curl/8.0' }, moment)).toEqual({
      robot: false,
      seenBy: 'Ours',
    })
  })

  test.each([
    ['[[rule]]\nname = "All"\nis = "robot"\n', 'would match everyone'],
    ['[[rule]]\nname = "X"\nis = "human"\nagents = ["x"]\n', 'rule[0].is'],
    ['[[rule]]\nname = "X"\nis = "robot"\nnetworks = ["10.0.0.0/99"]\n', '10.0.0.0/99'],
    ['[robot]\nname = "X"\n', 'unknown key robot'],
    ['rule = 7\n', 'rule must be a list'],
  ])('rejects the bot rules %j', (text, complaint) => {
    expect(() => loadBotRules(file(text))).toThrow(complaint)
  })
})

test('repeated visits within a minute count as one', () => {
  const memory = createVisitMemory()
  expect(memory.repeated('a', 0)).toBe(false)
  expect(memory.repeated('a', 59_999)).toBe(true)
  expect(memory.repeated('b', 59_999)).toBe(false)
  expect(memory.repeated('a', 60_000)).toBe(false)
})

test('counts different links followed within five seconds per visitor', () => {
  const memory = createVisitMemory()
  expect(['x', 'y', 'x', 'z'].map((link, at) => memory.links('ada', link, at * 1000))).toEqual([1, 2, 2, 3])
  expect(memory.links('bob', 'x', 3000)).toBe(1)
  expect(memory.links('ada', 'w', 5000)).toBe(1)
})

test('more than 300 visits to an email within a minute are excessive', () => {
  const memory = createVisitMemory()
  const seen = Array.from({ length: 301 }, () => memory.excessive('e', 0))
  expect(seen.indexOf(true)).toBe(300)
  expect(memory.excessive('other', 0)).toBe(false)
  expect(memory.excessive('e', 60_000)).toBe(false)
})
