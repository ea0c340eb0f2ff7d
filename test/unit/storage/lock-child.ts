/** Takes the daemon's lock, prints so, and holds it until killed. */
import { lockDataDir } from '../../../appliance/storage/sqlite/sqlite.ts'

await lockDataDir(process.argv[2]!)
process.stdout.write('locked\n')
setInterval(() => undefined, 60_000)
