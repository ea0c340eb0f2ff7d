/** Makes a backup next to a data directory. Stops when the archive starts to grow, to be killed there. */
import { watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { createBackupArchive } from '../../../appliance/storage/sqlite/sqlite.ts'

const dataDir = process.argv[2]!
const folder = dirname(dataDir)
const scratch = `backup.partial-${process.pid}`
watch(folder, (_event, name) => {
  if (name !== scratch) return
  process.stdout.write('begun\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
const options = { dataDir, file: join(folder, 'backup'), bodies: true, verify: true, version: '0.1.0' }
await createBackupArchive({ ...options, configuration: [] }, Date.now())
