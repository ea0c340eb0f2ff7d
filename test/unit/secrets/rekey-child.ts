/**
 * Replaces the master key and dies where it is told to: before the database is changed, halfway, or right afterwards.
 */
import { rekey } from '../../../appliance/secrets/secrets.ts'
import { sqliteSealing } from '../../../appliance/storage/sqlite/sqlite.ts'

const [dataDir, where] = process.argv.slice(2)
const die = (): void => {
  process.kill(process.pid, 'SIGKILL')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

const storage: typeof sqliteSealing = {
  ...sqliteSealing,
  reseal(args, now) {
    if (where === 'before') die()
    let rows = 0
    const rewrite: typeof args.rewrite = (value, place) => {
      if (where === 'during' && ++rows === 3) die()
      return args.rewrite(value, place)
    }
    const done = sqliteSealing.reseal({ ...args, rewrite }, now)
    if (where === 'after') die()
    return done
  },
}
rekey({ dataDir: dataDir!, keyFile: undefined, env: {}, newKeyFile: undefined }, storage, Date.now())
