import { expect, test } from 'vitest'
import { openResolver } from '../../appliance/assembly/adapters.ts'
import { openStorage } from '../../appliance/assembly/storage.ts'
import { systemClock } from '../../appliance/clock/clock.ts'
import { runCrashtest } from '../../appliance/crashtest/crashtest.ts'
import type { NodeFault } from '../../appliance/crashtest/node-plan.ts'

/** One fault of each kind, with the shortest times that reach the same states. */
const FAULTS: NodeFault[] = [
  { kind: 'promotion', sinceMs: 300, downMs: 0 },
  { kind: 'node', sinceMs: 300, node: 0, start: 'when freed' },
  { kind: 'server', sinceMs: 300, downMs: 0 },
  { kind: 'pause', sinceMs: 300, node: 1, forMs: 9000 },
  { kind: 'node', sinceMs: 300, node: 2, start: 'at once' },
  // After 15 seconds, every node counts as lost.
  { kind: 'server', sinceMs: 300, downMs: 15_500 },
]

test('faults of nodes and database servers lose nothing, and leases of dead nodes are freed within 20 s', async () => {
  const report = await runCrashtest(
    { openStorage, openResolver },
    {
      engine: 'postgres',
      nodes: 3,
      kills: FAULTS.length,
      faults: FAULTS,
      seed: 5,
      clock: systemClock,
    },
  )
  expect(report.faults).toEqual([])
  expect(report.kills).toBe(FAULTS.length)
  expect(report.points.map(({ name, reached }) => [name, reached])).toEqual([
    ['standby promoted', 1],
    ['node killed, started when freed', 1],
    ['database server', 1],
    ['node stopped and continued', 1],
    ['node killed, started at once', 1],
    ['database server, long', 1],
  ])
  const { verdict } = report
  expect(verdict).toMatchObject({ lost: [], twice: [], wrong: [], refused: [], beyond: [], freedLate: [] })
  expect(verdict.duplicates.filter((one) => one.kills === null)).toEqual([])
  expect(verdict.longestFreeMs).toBeGreaterThan(10_000)
  expect(verdict.longestFreeMs).toBeLessThan(20_000)
  expect(verdict.accepted).toBeGreaterThan(50)
  expect(report.events).toMatchObject({ untold: [], strange: [] })
  expect(report.arrivals).toMatchObject({ lost: [], wrong: [], untold: [], refused: [] })
  expect(report).toMatchObject({ sound: true, kept: null })
}, 900_000)
