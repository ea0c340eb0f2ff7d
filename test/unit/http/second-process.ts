/**
 * Runs the API as a separate process, on another one's data. Prints its address.
 * usage: second-process.ts DATA_DIR [die]      `die`: kills itself between an email's commit and the response
 */
import type { Storage } from '../../../appliance/storage/storage.ts'
import { startApi } from './harness.ts'

const [dataDir, mode] = process.argv.slice(2)

const deadly = (storage: Storage): Storage => ({
  ...storage,
  async put(args, now) {
    await storage.put(args, now)
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  },
})

const api = await startApi({ dataDir: dataDir!, ...(mode === 'die' ? { storage: deadly } : {}) })
process.stdout.write(`${api.url}\n`)
