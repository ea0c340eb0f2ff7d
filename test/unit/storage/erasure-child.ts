/** Erases an address. Stops while the first message file is being removed, to be killed there. */
import { watch } from 'node:fs'
import { join } from 'node:path'
import { createErasures } from '../../../appliance/senders/senders.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'

const dataDir = process.argv[2]!
const storage = await openSqlite({ dataDir })
watch(join(dataDir, 'messages'), { recursive: true }, () => {
  process.stdout.write('begun\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
const clock = { now: () => Date.UTC(2026, 0, 2), after: () => () => undefined }
const [id] = await storage.unfinishedErasures({}, clock.now())
const team = await storage.firstTeam({}, clock.now())
await createErasures({ storage, clock }).run({ teamId: team!.id, id: id! })
