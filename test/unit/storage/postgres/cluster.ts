import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Where Debian installs the programs of each version. */
const VERSIONS = '/usr/lib/postgresql'
const USER = 'postgres'

/** Returns the folder of the newest PostgreSQL's programs. Throws if it isn't installed. */
export function postgresPrograms(): string {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : []
  const programs = versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(VERSIONS, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')))
  if (programs === undefined) throw new Error('PostgreSQL is not installed (Debian package postgresql)')
  return programs
}

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

/** PostgreSQL refuses to run as root. */
const isRoot = process.getuid?.() === 0
const asUser = (program: string, args: string[]): Promise<{ stdout: string; stderr: string }> => {
  const options = { cwd: '/', maxBuffer: 1e9 }
  return isRoot
    ? execute('runuser', ['-u', USER, '--', program, ...args], options)
    : execute(program, args, options)
}

const idOf = async (option: '-u' | '-g') => Number((await execute('id', [option, USER])).stdout)

/**
 * Creates and starts a cluster, which is removed when closed.
 * @param safe whether data survives a power loss, as the engine requires
 */
export async function startCluster(programs: string, { safe = false } = {}): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  if (isRoot) await chown(folder, await idOf('-u'), await idOf('-g'))
  const data = join(folder, 'data')
  const program = (name: string) => join(programs, name)
  // The schema needs byte-order collation, like SQLite's, because key ranges rely on it.
  await asUser(program('initdb'), [
    ...['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
  ])
  const settings = `-c listen_addresses= -c unix_socket_directories=${folder} -c fsync=${safe ? 'on' : 'off'}`
  const start = async (): Promise<void> =>
    void (await asUser(program('pg_ctl'), [
      '-D',
      data,
      '-o',
      settings,
      '-l',
      join(folder, 'log'),
      '-w',
      'start',
    ]))
  const stop = async (): Promise<void> =>
    void (await asUser(program('pg_ctl'), ['-D', data, '-m', 'immediate', '-w', 'stop']))
  await start()
  let databases = 0
  const create = async (template: string): Promise<string> => {
    const name = `test_${++databases}`
    await asUser(program('createdb'), ['-h', folder, '-U', USER, '-T', template, name])
    return name
  }
  const urlOf = (name: string) => `postgres://${USER}@localhost/${name}?host=${encodeURIComponent(folder)}`
  let prepared: Promise<string> | undefined
  return {
    async createDatabase(prepare) {
      if (!prepare) return urlOf(await create('template1'))
      prepared ??= create('template1').then(async (name) => {
        await prepare(urlOf(name))
        return name
      })
      return urlOf(await create(await prepared))
    },
    async run(scripts) {
      const file = join(folder, 'script.sql')
      await writeFile(file, scripts.map((script) => `${script}\n\\echo ${END}\n\\warn ${END}\n`).join(''))
      const { stdout, stderr } = await asUser(program('psql'), [
        ...['-h', folder, '-U', USER, '-X', '-q', '-A', '-t', '-f', file],
      ])
      const [outputs, errors] = [stdout, stderr].map((text) => text.split(`${END}\n`)) as [string[], string[]]
      return scripts.map((_, i) => ({
        output: outputs[i]!.trim(),
        error: /ERROR: +(.*)$/m.exec(errors[i]!)?.[1],
      }))
    },
    start,
    stop,
    kill: () => killServer(data),
    async close() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The server's own process is killed last: the others end by themselves without it, and would be missed. */
async function killServer(data: string): Promise<void> {
  const main = Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10)
  process.kill(main, 'SIGSTOP')
  const children = (await readFile(`/proc/${main}/task/${main}/children`, 'utf8'))
    .trim()
    .split(' ')
    .map(Number)
  for (const pid of [...children, main]) process.kill(pid, 'SIGKILL')
  const isAlive = (): boolean => existsSync(`/proc/${main}`)
  while (isAlive()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Marks the end of each script's output. */
const END = '--the-end-of-a-script--'
