/** Removes old bodies. Stops while files are being removed after their rows' commit, to be killed there. */
import { watch } from 'node:fs'
import { join } from 'node:path'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { runRetention } from '../../../appliance/housekeeping/housekeeping.ts'

const dataDir = process.argv[2]!
const storage = await openSqlite({ dataDir })
watch(join(dataDir, 'messages'), { recursive: true }, () => {
  process.stdout.write('begun\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
const year = { now: () => Date.UTC(2026, 1, 1), after: () => () => undefined }
await runRetention(storage, year, {
  bodiesDays: 30,
  attemptsDays: 90,
  eventsDays: 90,
  emailsDays: 365,
  diskBudget: null,
})
