import { expect, test } from 'vitest'
import { ATTACKS } from '../../scripts/attacks/catalog.ts'
import { runAttacks } from '../../scripts/attacks/run.ts'
import { PATIENCE } from '../world/patience.ts'

/** Runs some attacks of `./scripts/attack` briefly. The client's latency is checked only in runs on idle machines. */
test.each(['http-headers', 'slow-tls'])(
  'serves a client of another team during the attack %s, and frees all resources afterwards',
  async (name) => {
    expect(ATTACKS).toHaveProperty(name)
    const outcome = await runAttacks({ name, attacks: [name], seconds: 3, patience: PATIENCE })
    expect(outcome.failures).toEqual(new Map())
    expect(outcome.missed).toEqual([])
    expect(outcome.asked).toBeGreaterThan(0)
  },
)
