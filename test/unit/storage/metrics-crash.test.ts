import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recomputeMetrics } from '../../../appliance/events/metrics.ts'
import { breakDownInChunks } from '../../../appliance/events/metrics-pieces.ts'
import { catchUpTagCounts } from '../../../appliance/events/metrics-tags.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'

let dataDir: string
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'posthaste-metrics-'))
})
afterAll(() => rm(dataDir, { recursive: true, force: true }))

const start = (): ChildProcess =>
  fork(join(import.meta.dirname, 'metrics-child.ts'), [dataDir], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [],
  })

test('after kill -9 while sending, metrics, their sums and metrics by tag match the events', async () => {
  for (let round = 0; round < 2; round++) {
    const child = start()
    await once(child, 'message')
    await new Promise((resolve) => setTimeout(resolve, 50 + 70 * round))
    child.kill('SIGKILL')
    await once(child, 'exit')
    const storage = await openSqlite({ dataDir })
    const [span] = await storage.metricsSpans({}, 0)
    const { teamId, first, last } = span!
    const range = { start: first, end: last + 1 }
    const sums = await storage.sumMetrics({ teamId, ranges: [range], together: true }, 0)
    const delivered = sums.find(({ counter }) => counter === 'delivered')!.n
    expect(delivered).toBeGreaterThan(0)
    expect(await catchUpTagCounts(storage, 0)).toBeNull()
    const byTag = { teamId, range, by: 'tag', counters: ['delivered'], most: 9 } as const
    expect(await breakDownInChunks(storage, byTag, 0)).toEqual([
      { value: 'kind:receipt', counter: 'delivered', n: delivered },
    ])
    expect(await storage.metricsSummed({ teamId: span!.teamId }, 0)).toBeGreaterThan(span!.first)
    expect(await recomputeMetrics(storage, 0)).toEqual({ changed: 0, left: 0 })
    await storage.close()
  }
})
