import { mkdirSync, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findProblems, type StatusFacts } from '../../../appliance/commands/status-judge.ts'
import { describeStatus, presentStatus } from '../../../appliance/commands/status-text.ts'
import type { Source } from '../../../appliance/mail/source.ts'
import { installation, posthaste } from './program.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const HOUR = 3_600_000
const fine = (id: string, found: string) => ({ id, title: id, status: 'ok' as const, found, advice: null })
const SOURCE: Source = {
  ip: '192.0.2.7',
  pool: 'default',
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'configuration',
  health: null,
  checkedAt: null,
}
const WELL: StatusFacts = {
  hostname: 'mail.sender.test',
  now: NOW,
  daemon: { run: { pid: 7, version: '0.1.0', startedAt: NOW - 26 * HOUR, listeners: [] }, alive: true },
  listeners: [{ address: 'smtp://0.0.0.0:25', trouble: null }],
  clients: {
    at: NOW,
    connections: [
      { listener: 'http', open: 3, unknown: 1, senders: 0, limit: 4000 },
      { listener: 'smtp', open: 2, unknown: 0, senders: 0, limit: 4000 },
    ],
    bytes: [{ what: 'memory', used: 2048, limit: 67_108_864 }],
    refused: [
      { what: 'http', why: 'strangers', count: 7 },
      { what: 'smtp', why: 'total', count: 0 },
    ],
  },
  queue: {
    count: 0,
    waiting: 0,
    held: 0,
    inFlight: 0,
    oldestAt: null,
    newestAt: null,
    teams: 0,
    providers: [],
    domains: [],
    ages: [],
  },
  oldest: null,
  nextDue: null,
  lanes: [],
  sources: [SOURCE],
  domains: [],
  webhooks: [],
  lastHour: { delivered: 90, bounced: 2, delayed: 3 },
  disk: fine('disk', '10.0 GiB of 20.0 GiB free.'),
  database: null,
  certificates: [fine('certificate', 'mail.sender.test is certified until 2027-01-01.')],
  fullInDays: 30,
  backup: { at: NOW - HOUR, file: '/backups/a.tar.gz', size: 2000, verified: true },
}
const ids = (change: Partial<StatusFacts>): string[] =>
  findProblems({ ...WELL, ...change }).map(({ id }) => id)

describe('needsPerson', () => {
  test('reports no problems when everything is fine', () => expect(findProblems(WELL)).toEqual([]))

  test('reports a stopped daemon and an unresponsive listener', () => {
    expect(ids({ daemon: null })).toEqual(['daemon'])
    expect(ids({ daemon: { ...WELL.daemon!, alive: false } })).toEqual(['daemon'])
    expect(ids({ listeners: [{ address: 'smtp://0.0.0.0:25', trouble: 'does not respond' }] })).toEqual([
      'listener:smtp://0.0.0.0:25',
    ])
  })

  test('reports overdue mail with no delivery in flight', () => {
    expect(ids({ nextDue: NOW - HOUR })).toEqual(['queue'])
    expect(ids({ nextDue: NOW - 60_000 })).toEqual([])
    expect(ids({ nextDue: NOW - HOUR, queue: { ...WELL.queue, inFlight: 1 } })).toEqual([])
  })

  test('reports a source suspended by a check, and when no source is left', () => {
    const suspended = {
      ...SOURCE,
      ip: '192.0.2.8',
      state: 'suspended' as const,
      suspendedBy: 'check' as const,
    }
    expect(ids({ sources: [SOURCE, suspended] })).toEqual(['source:192.0.2.8'])
    expect(ids({ sources: [SOURCE, { ...suspended, suspendedBy: 'operator' }] })).toEqual([])
    expect(ids({ sources: [{ ...suspended, suspendedBy: 'operator' }] })).toEqual(['sources'])
  })

  test('reports disk, certificate and backup problems, but not a self-signed certificate', () => {
    expect(ids({ disk: { ...WELL.disk, status: 'warning' } })).toEqual(['disk'])
    expect(ids({ fullInDays: 7 })).toEqual(['disk-forecast'])
    expect(ids({ certificates: [{ ...fine('c', 'It ends in 3 days.'), status: 'warning' }] })).toEqual(['c'])
    expect(ids({ certificates: [{ ...fine('c', 'It is self-signed.'), status: 'warning' }] })).toEqual([])
    expect(ids({ backup: { ...WELL.backup!, at: NOW - 9 * 24 * HOUR } })).toEqual(['backup'])
    expect(ids({ backup: null })).toEqual([])
  })

  test('reports a high bounce rate if there was enough mail', () => {
    expect(ids({ lastHour: { delivered: 45, bounced: 5, delayed: 0 } })).toEqual(['bounces'])
    expect(ids({ lastHour: { delivered: 4, bounced: 5, delayed: 0 } })).toEqual([])
  })
})

test('status prints a summary of the server', () => {
  expect(describeStatus(WELL, [])).toEqual([
    'mail.sender.test: everything is fine.',
    '',
    'daemon       version 0.1.0, pid 7, up 1 d 2 h, since 2026-11-19 10:00:00 UTC',
    'listens      smtp://0.0.0.0:25',
    'clients      http 3 of 4000 connections, smtp 2 of 4000 connections',
    '             memory 2.0 kB of 67.1 MB',
    '             refused: 7 http (strangers)',
    'queue        0 waiting, 0 held, 0 in flight',
    'lanes        0, of them 0 paused, 0 slowed',
    'sources      1 active',
    'domains      none',
    'webhooks     none',
    'last hour    90 delivered, 2 bounced, 3 delayed',
    'disk         10.0 GiB of 20.0 GiB free.',
    '             Full in 30 days.',
    'certificate  mail.sender.test is certified until 2027-01-01.',
    'backup       2026-11-20 11:00:00 UTC, 2.0 kB: /backups/a.tar.gz',
  ])
})

test('status --json includes the problems', () => {
  const facts = { ...WELL, daemon: null }
  expect(presentStatus(facts, findProblems(facts))).toMatchObject({
    object: 'status',
    needs_attention: true,
    problems: [{ id: 'daemon', found: 'The daemon is not running.' }],
    daemon: null,
    last_hour: { delivered: 90, bounced: 2, delayed: 3 },
  })
})

test('status exits with 1 without a daemon, and creates no files in the data directory', async () => {
  const { config, dataDir } = installation('[http]\nlisten = ["127.0.0.1:9"]\n')
  // Packages create it during installation, and a restore requires it to be empty.
  mkdirSync(dataDir)
  const never = await posthaste(['status', '--config', config])
  expect(never).toMatchObject({ code: 1, stderr: '' })
  expect(never.stdout).toContain('Posthaste has not been set up')
  expect(readdirSync(dataDir)).toEqual([])
  await posthaste(['setup', '--email', 'owner@sender.test', '--config', config], {
    input: 'a long password\n',
  })
  const stopped = await posthaste(['status', '--config', config])
  expect(stopped.code).toBe(1)
  expect(stopped.stdout).toContain('daemon       not running\n')
  expect(stopped.stdout).toContain('Daemon: The daemon is not running.')
})
