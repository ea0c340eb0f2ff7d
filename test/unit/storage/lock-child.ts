/** Takes the daemon's lock, says so, and holds it until it is killed. */
import { lockDataDir } from '../../../appliance/storage/sqlite/sqlite.ts'

await lockDataDir(process.argv[2]!)
process.stdout.write('locked\n')
setInterval(() => undefined, 60_000)
