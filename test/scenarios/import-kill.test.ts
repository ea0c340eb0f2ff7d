import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCsv } from '../../appliance/mail/csv.ts'
import { startDaemon, writeConfig, type Daemon } from '../world/daemon.ts'
import { setUpByCommands } from '../world/set-up.ts'
import { createWorld, type World } from '../world/world.ts'

/** An import writes each row exactly once and completely, however often the daemon is killed during it. */

const ROWS = 30_000
const KILLS = 5
/** Every tenth address occurs again further down in the file, with another name. */
const AGAIN = ROWS / 10
/** Number of invalid addresses. */
const WRONG = 40

let world: World
let folder: string
let config: string
let daemon: Daemon | undefined

beforeAll(async () => {
  world = await createWorld({ domains: {}, names: { 'mail.sender.test': { A: '127.0.0.1' } } })
  folder = await mkdtemp(join(tmpdir(), 'posthaste-import-kill-'))
  config = join(folder, 'posthaste.toml')
  await writeConfig(config, {
    hostname: 'mail.sender.test',
    data_dir: join(folder, 'data'),
    http: { listen: ['127.0.0.1:0'] },
    smtp: { starttls: [], implicit_tls: [] },
    dns: { servers: world.dnsServers },
    limits: { rate_per_second: 1_000_000 },
  })
})

afterAll(async () => {
  await daemon?.end('SIGKILL')
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

const name = (n: number): string => (n % 10 === 0 ? `again ${n}` : `first ${n}`)

function fileOfContacts(): string {
  const rows = Array.from({ length: ROWS }, (_, n) => `user${n}@import.test,first ${n},${n}`)
  for (let n = 0; n < WRONG; n++) rows.splice(n * 700, 0, `nobody ${n},x,1`)
  for (let n = 0; n < ROWS; n += 10) rows.push(`USER${n}@import.test,again ${n},${n}`)
  return `email,first_name,score\n${rows.join('\n')}\n`
}

interface Import {
  status: string
  processed_bytes: number
  counts: Record<string, number>
  duplicates: number
  rejects: number
}

test(`imports ${ROWS} rows once although the daemon is killed ${KILLS} times`, async () => {
  const key = await setUpByCommands(config, world)
  daemon = await startDaemon(config)
  const call = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(`${daemon!.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}` },
    })
    expect(response.ok).toBe(true)
    return response
  }
  const form = new FormData()
  form.set('file', new Blob([fileOfContacts()]), 'contacts.csv')
  const properties = { score: { column: 'score', type: 'number' } }
  form.set('column_map', JSON.stringify({ email: 'email', first_name: 'first_name', properties }))
  const { id } = (await (await call('/contacts/imports', { method: 'POST', body: form })).json()) as {
    id: string
  }
  const read = async (): Promise<Import> => (await call(`/contacts/imports/${id}`)).json() as Promise<Import>
  const until = async (done: (found: Import) => boolean): Promise<Import> => {
    for (;;) {
      const found = await read()
      if (done(found) || found.status === 'failed') return found
    }
  }

  let stopped = 0
  const places = new Set<number>()
  for (let kill = 0; kill < KILLS; kill++) {
    const { processed_bytes: at, status } = await until(
      (found) => found.processed_bytes > stopped || found.status === 'completed',
    )
    if (status === 'completed') break
    places.add(at)
    stopped = at
    await daemon.end('SIGKILL')
    daemon = await startDaemon(config)
  }
  expect(places.size).toBeGreaterThanOrEqual(3)

  const ended = await until(({ status }) => status === 'completed')
  expect(ended).toMatchObject({
    status: 'completed',
    duplicates: AGAIN,
    rejects: WRONG,
    counts: { total: ROWS + AGAIN + WRONG, created: ROWS, updated: 0, skipped: AGAIN, failed: WRONG },
  })
  const counted = (await (await call('/contacts/counts')).json()) as { contacts: number }
  expect(counted.contacts).toBe(ROWS)
  const rejects = [...readCsv(await (await call(`/contacts/imports/${id}/rejects.csv`)).text())]
  expect(rejects).toHaveLength(1 + WRONG)
  const [head, ...rows] = [...readCsv(await (await call('/contacts/export.csv')).text())].map(
    ({ cells }) => cells,
  )
  expect(head).toEqual(['id', 'email', 'first_name', 'last_name', 'unsubscribed', 'created_at', 'score'])
  const found = new Map(rows.map((cells) => [cells[1]!, [cells[2], cells[6]]]))
  expect(rows).toHaveLength(ROWS)
  expect(found.size).toBe(ROWS)
  for (let n = 0; n < ROWS; n++) expect(found.get(`user${n}@import.test`)).toEqual([name(n), String(n)])
  expect(await daemon.end('SIGTERM')).toBe(0)
}, 400_000)
