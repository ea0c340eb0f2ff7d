/**
 * Runs a campaign through the whole appliance to a simulated internet. Prints a table and violations; exits with 1 if
 * there are any.
 * usage: ./scripts/simulate [--deliveries N] [--days D] [--seed S] [--plots DIRECTORY]
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { shippedLimits } from '../../test/world/simulation/limits.ts'
import { ASSERTIONS, runCampaign } from '../../test/world/simulation/run.ts'
import { tableOf } from '../../test/world/simulation/table.ts'
import { drawPlots } from './plots.ts'

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '100000' },
    days: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    plots: { type: 'string' },
  },
})
const [deliveries, days, seed] = [values.deliveries, values.days, values.seed].map(Number) as [
  number,
  number,
  number,
]
if (![deliveries, days, seed].every((one) => Number.isInteger(one) && one > 0)) {
  console.error('usage: ./scripts/simulate [--deliveries N] [--days D] [--seed S], whole numbers above 0')
  process.exit(2)
}

/** Time after which a run counts as hung, in milliseconds. */
const PATIENCE = 3_600_000

const run = await runCampaign({
  deliveries,
  days,
  seed,
  patience: PATIENCE,
  say: (line) => console.error(line),
})
console.log(tableOf(run))
const hours = (run.end - run.begin) / 3_600_000
console.log(
  `\n${run.outcomes.length} deliveries in ${(run.took / 1000).toFixed(0)} s, ${hours.toFixed(0)} simulated hours`,
)
if (values.plots !== undefined) {
  const plots = drawPlots(run, shippedLimits().get('gmail')!.warmUp)
  for (const [file, svg] of Object.entries(plots)) writeFileSync(join(values.plots, file), svg)
}
for (const assertion of ASSERTIONS) {
  const complaints = run.complaints[assertion]
  console.log(`${complaints.length === 0 ? 'ok' : 'FAILED'}: ${assertion}`)
  for (const complaint of complaints) console.log(`  ${complaint}`)
  if (complaints.length > 0) process.exitCode = 1
}
