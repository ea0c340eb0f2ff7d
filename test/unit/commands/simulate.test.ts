import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { openSqliteReader, openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { startAppliance, type TestAppliance } from '../../world/appliance.ts'
import { PATIENCE } from '../../world/patience.ts'
import { act } from '../../contract/audience-stage.ts'
import { installation, posthaste, type Run } from './program.ts'

interface Printed {
  recipients: number
  finished_after: number | null
  receivers: { id: string; emails: number; broken_limits: { limit: string }[] }[]
  sources: { ip: string; warm_up_since: string | null }[]
}

const AT = ['--at', '2024-11-28T08:00:00Z']
let config: string
let dataDir: string
const run = (...args: string[]): Promise<Run> => posthaste(['simulate', ...args, '--config', config])
const printed = async (...args: string[]): Promise<Printed> =>
  JSON.parse((await run(...args, ...AT, '--json')).stdout) as Printed

/** The content of every file of the data directory, by path. */
function snapshot(): Record<string, string> {
  const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dataDir, name))
    .filter((path) => statSync(path).isFile())
  return Object.fromEntries(
    files.map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
  )
}

beforeAll(async () => {
  const made = installation('')
  config = made.config
  dataDir = made.dataDir
  await posthaste(['setup', '--email', 'owner@sender.test', '--config', config], {
    input: 'a long password\n',
  })
})

describe('simulate', () => {
  test('prints a table by receiver, a summary and a chart, within 80 columns', async () => {
    const { code, stdout, stderr } = await run('--volume', '500', '--transactional', '20000', ...AT)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(
      /^500 emails, starting 2024-11-28 08:00:00 UTC, from pool default: auto \(warm\)$/m,
    )
    expect(stdout).toMatch(/^RECEIVER +MAIL +DAY 1 +DONE +REFUSED +DEFERRED +PEAK +BROKEN$/m)
    expect(stdout).toMatch(/^Gmail +18\d +18\d +.* no$/m)
    expect(stdout).toMatch(/^\d+ delivered\. Every recipient was attempted after /m)
    expect(stdout).toMatch(/^Transactional mail: /m)
    expect(stdout).toContain('No published limit was broken.')
    expect(stdout).toContain('Emails delivered in each')
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  })

  test('prints the same result for the same seed and start time', async () => {
    const [one, two] = [await run('--volume', '300', ...AT), await run('--volume', '300', ...AT)]
    expect(one.stdout).toBe(two.stdout)
    const other = await run('--volume', '300', '--seed', '2', ...AT)
    expect(other.stdout).not.toBe(one.stdout)
  })

  test('exits with 1 and says what to change if a limit of a receiver is exceeded', async () => {
    await posthaste(['provider', 'set', 'orange', 'connections=20', '--config', config])
    const list = join(dirname(config), 'orange.csv')
    writeFileSync(list, Array.from({ length: 600 }, (_, at) => `r${at}@orange.fr`).join('\n'))
    const { code, stdout } = await run('--contacts', list, ...AT)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Orange +600 .* yes$/m)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'Orange allows 3 simultaneous connections, but got 4. Lower the limit of provider orange. Source: https://',
    )
    expect((await printed('--contacts', list)).receivers).toMatchObject([
      { id: 'orange', emails: 600, broken_limits: [{ limit: 'connections', most: 3, seen: 4 }] },
    ])
    await posthaste(['provider', 'set', 'orange', 'connections=', '--config', config])
    expect((await run('--contacts', list, ...AT)).code).toBe(0)
  })

  test('scales a list of contacts to the given volume', async () => {
    const list = join(dirname(config), 'list.csv')
    writeFileSync(list, 'email\nada@gmail.com\nbob@gmail.com\ncarol@orange.fr\n')
    const { recipients, receivers } = await printed('--contacts', list, '--volume', '90')
    expect(recipients).toBe(90)
    expect(receivers.map(({ id, emails }) => [id, emails])).toEqual([
      ['gmail', 60],
      ['orange', 30],
    ])
  })

  test('uses the providers of a segment', async () => {
    const storage = await openSqlite({ dataDir })
    const now = Date.now()
    const teamId = (await storage.firstTeam({}, now))!.id
    const id = newId(now)
    const segment = { id, teamId, name: 'News', filter: null, createdAt: now, updatedAt: now }
    await storage.createSegment({ segment, most: 9 }, now)
    for (const name of ['ada', 'bob', 'carol']) {
      const email = `${name}@one.example`
      const contact = { id: newId(now), teamId, email, segmentIds: [id], topics: [] }
      await storage.saveContact({ contact, act: act() }, now)
    }
    await storage.close()
    const { recipients, receivers } = await printed('--segment', id)
    expect(recipients).toBe(3)
    expect(receivers).toMatchObject([{ id: 'hosting', emails: 3 }])
  })

  test('shows the warm-up of the sending IPs', async () => {
    await posthaste(['source', 'add', '192.0.2.7', '--warm-up', '--config', config])
    const { sources, finished_after: finished } = await printed('--volume', '300', '--transactional', '0')
    expect(sources).toMatchObject([{ ip: '192.0.2.7', warm_up_since: expect.any(String) as string }])
    expect(finished).toBeGreaterThan(3600)
    await posthaste(['source', 'remove', '192.0.2.7', '--config', config])
  })

  test('plots the progress as SVG', async () => {
    const file = join(dirname(config), 'progress.svg')
    expect((await run('--volume', '200', '--plot', file, ...AT)).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toMatch(/^<svg [^]*all mail[^]*<\/svg>\n$/)
  })

  test('writes nothing in the data directory', async () => {
    const before = snapshot()
    expect((await run('--volume', '200', ...AT)).code).toBe(0)
    expect(snapshot()).toEqual(before)
  })

  test('runs before the first start, and creates nothing', async () => {
    const made = installation('[delivery]\nsource_ips = ["192.0.2.9"]\nwarm_up = true\n')
    const { stdout } = await posthaste([
      'simulate',
      '--volume',
      '10',
      ...AT,
      '--json',
      '--config',
      made.config,
    ])
    expect(JSON.parse(stdout)).toMatchObject({
      sources: [{ ip: '192.0.2.9', warm_up_since: '2024-11-28T08:00:00.000Z' }],
    })
    expect(existsSync(made.dataDir)).toBe(false)
  })

  test.each([
    [[], '--volume is missing'],
    [['--volume', '0'], 'Expected a whole number from 1 to 1000000.'],
    [['--volume', '1000001'], 'Expected a whole number from 1 to 1000000.'],
    [['--volume', '10', '--days', '61'], 'Expected a whole number from 1 to 60.'],
    [['--volume', '10', '--at', 'tomorrow'], 'Expected a date or time such as'],
    [['--volume', '10', '--bounces', '100'], 'Expected a number from 0 to 99'],
    [['--volume', '10', '--transactional', '-1'], 'Expected a whole number from 0 to 99999.'],
    [
      ['--segment', '0197c3e2-5a71-7000-8000-1c2d3e4f5061', '--contacts', 'x'],
      '--segment and --contacts cannot be combined.',
    ],
  ])('the options %j are a usage error', async (args, why) => {
    const { code, stdout, stderr } = await run(...args)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(why)
  })

  test.each([
    [
      ['--segment', '0197c3e2-5a71-7000-8000-1c2d3e4f5061'],
      'Segment 0197c3e2-5a71-7000-8000-1c2d3e4f5061 not found',
    ],
    [['--contacts', '/nonexistent'], '--contacts: /nonexistent could not be read'],
    [['--volume', '10', '--domain', 'other.test'], 'Domain other.test not found'],
    [['--volume', '10', '--team', 'Nobody'], 'Team Nobody not found'],
    [['--volume', '10', '--receivers', '/nonexistent'], 'The receivers could not be loaded'],
    [['--volume', '10', '--plot', '/nonexistent/a.svg'], '--plot: /nonexistent/a.svg could not be written'],
  ])('the options %j fail with the reason', async (args, why) => {
    const { code, stderr } = await run(...args, ...AT)
    expect(code).toBe(1)
    expect(stderr).toContain(why)
  })
})

describe('simulate with a running server', () => {
  let appliance: TestAppliance

  beforeAll(async () => {
    appliance = await startAppliance()
  }, PATIENCE)
  afterAll(() => appliance.close())

  test('simulates with the data of a running server, and leaves the server unchanged', async () => {
    const own = installation('')
    writeFileSync(own.config, `hostname = "mail.sender.test"\ndata_dir = "${appliance.config.data_dir}"\n`)
    const { storage } = appliance.appliance
    const read = async (): Promise<unknown> => [
      await storage.listLanes({}, 0),
      (await storage.listSources({}, 0)).map(({ ip, state, warmUpSince }) => [ip, state, warmUpSince]),
      await storage.nextDue({ closed: [] }, 0),
    ]
    const before = await read()
    const { code, stderr } = await posthaste(['simulate', '--volume', '500', ...AT, '--config', own.config])
    expect([code, stderr]).toEqual([0, ''])
    expect(await read()).toEqual(before)
    expect((await fetch(`${appliance.url}/healthz`)).status).toBe(200)
  })

  test('the read-only storage returns stored data, and has no methods that write', async () => {
    const reads = await openSqliteReader(appliance.config.data_dir)
    try {
      expect((await reads.listTeams({}, 0)).map(({ id }) => id)).toContain(appliance.teamId)
      expect(reads).not.toHaveProperty('saveLanes')
    } finally {
      await reads.close()
    }
  })
})
