import { beforeAll, describe, expect, test } from 'vitest'
import { PERSONALITIES } from '../world/simulation/personalities.ts'
import { ASSERTIONS, runCampaign, type Run } from '../world/simulation/run.ts'

/** Runs a small campaign to the simulated internet. `./scripts/simulate` runs it in full. */

const DELIVERIES = 3000
/** Milliseconds after which a run is considered hung. */
const PATIENCE = 600_000

let run: Run

beforeAll(async () => {
  run = await runCampaign({ deliveries: DELIVERIES, days: 1, seed: 1, patience: PATIENCE })
}, PATIENCE + 10_000)

describe('a campaign to the simulated internet', () => {
  test('the campaign includes all of at least 30 receiver personalities', () => {
    const reached = new Set([...run.plan.deliveries.values()].map(({ personality }) => personality.name))
    expect(PERSONALITIES.length).toBeGreaterThanOrEqual(30)
    expect(reached.size).toBe(PERSONALITIES.length)
  })

  test('every delivery of the campaign ends in a final state', () => {
    expect(run.outcomes).toHaveLength(DELIVERIES)
    const final = ['delivered', 'bounced', 'expired', 'failed', 'suppressed']
    expect(run.outcomes.filter(({ state }) => !final.includes(state))).toEqual([])
  })

  test.for(ASSERTIONS)('%s', (assertion) => {
    expect(run.complaints[assertion]).toEqual([])
  })
})
