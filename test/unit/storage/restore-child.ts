/**
 * Restores a backup into `new` next to it. Stops when the directory starts to look like a data directory, to be killed
 * there.
 */
import { watch } from 'node:fs'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { restore } from '../../../appliance/storage/sqlite/sqlite.ts'

const file = process.argv[2]!
const dataDir = join(dirname(file), 'new')
mkdirSync(dataDir)
watch(dataDir, (_event, name) => {
  if (name !== 'restoring') return
  process.stdout.write('begun\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
const by = { kind: 'command', name: 'root', ip: null } as const
await restore({ by, file, dataDir }, Date.now())
