import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startPostgres } from '../../../../appliance/crashtest/postgres-server.ts'

export { findPostgresPrograms } from '../../../../appliance/crashtest/postgres-server.ts'

/** A private PostgreSQL server, reachable through a socket in its folder. */
export interface Cluster {
  /**
   * Creates a database. Returns its connection string.
   * @param prepare what to run once, on the first database; all others are copies of the result. Default: they are empty
   */
  createDatabase(prepare?: (url: string) => Promise<void>): Promise<string>
  /** Runs the scripts, continuing after errors. Returns each script's output and first error. */
  run(scripts: readonly string[]): Promise<{ output: string; error: string | undefined }[]>
  /** Stops the server at once, as in a crash. */
  stop(): Promise<void>
  /** Kills every process of the server with SIGKILL. */
  kill(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

/**
 * Creates and starts a cluster, which is removed when closed.
 * @param safe whether data survives a power loss, as the engine requires
 */
export async function startCluster(programs: string, { safe = false } = {}): Promise<Cluster> {
  const server = await startPostgres(programs, { safe })
  let databases = 0
  const create = async (template: string): Promise<string> => {
    const name = `test_${++databases}`
    await server.run('createdb', ['-T', template, name])
    return name
  }
  let prepared: Promise<string> | undefined
  return {
    async createDatabase(prepare) {
      if (!prepare) return server.urlOf(await create('template1'))
      prepared ??= create('template1').then(async (name) => {
        await prepare(server.urlOf(name))
        return name
      })
      return server.urlOf(await create(await prepared))
    },
    async run(scripts) {
      const file = join(server.folder, 'script.sql')
      await writeFile(file, scripts.map((script) => `${script}\n\\echo ${END}\n\\warn ${END}\n`).join(''))
      const { stdout, stderr } = await server.run('psql', ['-X', '-q', '-A', '-t', '-f', file])
      const [outputs, errors] = [stdout, stderr].map((text) => text.split(`${END}\n`)) as [string[], string[]]
      return scripts.map((_, i) => ({
        output: outputs[i]!.trim(),
        error: /ERROR: +(.*)$/m.exec(errors[i]!)?.[1],
      }))
    },
    start: () => server.start(),
    stop: () => server.stop(),
    kill: () => server.kill(),
    close: () => server.close(),
  }
}

/** Marks the end of each script's output. */
const END = '--the-end-of-a-script--'
