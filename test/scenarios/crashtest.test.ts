import { expect, test } from 'vitest'
import { openResolver } from '../../appliance/assembly/adapters.ts'
import { openStorage } from '../../appliance/assembly/storage.ts'
import { systemClock } from '../../appliance/clock/clock.ts'
import { runCrashtest } from '../../appliance/crashtest/crashtest.ts'
import { CRASH_POINTS } from '../../appliance/watch/crash-points.ts'

/** Runs the shipped durability test, with each named crash point once and one random moment. */
test('a kill at every crash point loses nothing, and without a kill nothing is repeated', async () => {
  const kills = Object.keys(CRASH_POINTS).length + 2
  const report = await runCrashtest({ openStorage, openResolver }, { kills, seed: 11, clock: systemClock })
  expect(report.faults).toEqual([])
  expect(
    report.points.filter(
      // The kill in the middle of a checkpoint comes from outside and may be too late.
      ({ name, planned, reached, unreachable }) =>
        name in CRASH_POINTS && unreachable === null && (planned === 0 || reached < planned),
    ),
  ).toEqual([])
  expect(report.kills).toBeGreaterThanOrEqual(kills - 1)
  const { verdict } = report
  expect(verdict).toMatchObject({ lost: [], twice: [], wrong: [], refused: [], beyond: [] })
  expect(verdict.duplicates.filter((one) => one.kills === null)).toEqual([])
  expect(verdict.accepted).toBeGreaterThan(50)
  // Mail of every kind was at risk.
  expect(Math.min(verdict.batched, verdict.scheduled, verdict.held)).toBeGreaterThan(0)
  expect(verdict.delivered + verdict.bounced).toBe(verdict.expected)
  expect(report.events).toMatchObject({ untold: [], strange: [] })
  expect(report.events.events).toBeGreaterThan(verdict.delivered + verdict.bounced)
  expect(report.arrivals).toMatchObject({ lost: [], wrong: [], untold: [], refused: [] })
  expect(Math.min(report.arrivals.emails, report.arrivals.reports)).toBeGreaterThan(5)
  expect(report).toMatchObject({ sound: true, kept: null })
}, 900_000)
