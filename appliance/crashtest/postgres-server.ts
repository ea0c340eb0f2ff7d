/** A private PostgreSQL server on a Unix socket, which can be killed and started again. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Where Debian installs the programs of each version. */
const VERSIONS = '/usr/lib/postgresql'
const USER = 'postgres'

/** Returns the folder with the programs of the newest installed PostgreSQL. Throws if there is none. */
export function findPostgresPrograms(): string {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : []
  const programs = versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(VERSIONS, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')))
  if (programs === undefined) throw new Error('PostgreSQL is not installed (Debian package postgresql)')
  return programs
}

export interface PostgresServer {
  /** Folder with the server's files and socket. */
  readonly folder: string
  /** Returns the connection string of a database. */
  urlOf(database: string): string
  /** Runs one of the client programs against the server. */
  run(program: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }>
  /** Runs `pg_ctl` on the server's data, and waits until it is done. */
  control(...args: string[]): Promise<void>
  /** Runs an SQL query in the database `postgres`. Returns rows as lines, with columns separated by `|`. */
  query(sql: string): Promise<string>
  /** Runs an SQL query after `kill`, before any other client can connect. Afterwards, the server is stopped again. */
  queryApart(sql: string): Promise<string>
  /** Starts the server; resolves when it accepts connections. */
  start(): Promise<void>
  /** Stops it at once, as in a crash, but with its own processes in charge. */
  stop(): Promise<void>
  /** Kills every process of the server with SIGKILL. */
  kill(): Promise<void>
  /** Stops the server and removes its files. */
  close(): Promise<void>
}

/** PostgreSQL refuses to run as root. */
const isRoot = process.getuid?.() === 0
const asUser = (program: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }> => {
  const options = { cwd: '/', maxBuffer: 1e9 }
  return isRoot
    ? execute('runuser', ['-u', USER, '--', program, ...args], options)
    : execute(program, args, options)
}

const idOf = async (option: '-u' | '-g') => Number((await execute('id', [option, USER])).stdout)

/** Creates a folder that the user of the server may write to. */
async function makeFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  if (isRoot) await chown(folder, await idOf('-u'), await idOf('-g'))
  return folder
}

/** Creates a folder for the files and sockets of a test's servers. */
export const temporaryFolder = async (): Promise<string> =>
  makeFolder(await mkdtemp(join(tmpdir(), 'postgres-')))

/** Folder of a server's data within its folder. */
export const dataOf = (folder: string): string => join(folder, 'data')

/** Where a server is, and how it runs. */
export interface ServerPlace {
  /** Folder with the programs of PostgreSQL. */
  programs: string
  folder: string
  /** Whether data survives a power loss, as the engine requires. */
  safe: boolean
  /** Further settings, such as `wal_keep_size=256MB`. */
  settings?: readonly string[]
}

/**
 * Creates and starts a server that sorts text by bytes, as the schema requires.
 * @param safe whether data survives a power loss, as the engine requires
 */
export async function startPostgres(programs: string, { safe }: { safe: boolean }): Promise<PostgresServer> {
  const server = await createServer({ programs, folder: await temporaryFolder(), safe })
  await server.start()
  return server
}

/** Creates a server with an empty database in a folder; doesn't start it. */
export async function createServer(place: ServerPlace): Promise<PostgresServer> {
  const server = await serverIn(place)
  const data = ['-D', dataOf(place.folder), '-U', USER]
  await asUser(join(place.programs, 'initdb'), [
    ...data,
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
  ])
  return server
}

/** Returns the server whose data is or will be in a folder. */
export async function serverIn({
  programs,
  folder,
  safe,
  settings = [],
}: ServerPlace): Promise<PostgresServer> {
  await makeFolder(folder)
  const apart = await makeFolder(join(folder, 'apart'))
  const data = dataOf(folder)
  const program = (name: string) => join(programs, name)
  const all = ['listen_addresses=', `fsync=${safe ? 'on' : 'off'}`, ...settings]
  const control = async (...args: string[]): Promise<void> =>
    void (await asUser(program('pg_ctl'), ['-D', data, '-w', ...args]))
  const startIn = (socket: string) => {
    const options = [...all, `unix_socket_directories=${socket}`].map((one) => `-c ${one}`).join(' ')
    return control('-o', options, '-l', join(folder, 'log'), 'start')
  }
  const queryIn = async (socket: string, text: string): Promise<string> =>
    (await asUser(program('psql'), ['-h', socket, '-U', USER, '-XAtc', text, 'postgres'])).stdout
  const stop = () => control('-m', 'immediate', 'stop')
  return {
    folder,
    urlOf: (database) => urlIn([folder], database),
    run: (name, args) => asUser(program(name), ['-h', folder, '-U', USER, ...args]),
    control,
    query: (text) => queryIn(folder, text),
    async queryApart(text) {
      await startIn(apart)
      const answer = await queryIn(apart, text)
      await stop()
      return answer
    },
    start: () => startIn(folder),
    stop,
    kill: () => killServer(data),
    async close() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the connection string of a database on one of several servers, which are on Unix sockets. */
export const urlIn = (folders: readonly string[], database: string): string =>
  `postgres://${USER}@localhost/${database}?host=${encodeURIComponent(folders.join(','))}`

/**
 * Kills every process of a server. The main process is killed last: without it, the others end by themselves and
 * couldn't be killed.
 */
async function killServer(data: string): Promise<void> {
  const main = Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10)
  process.kill(main, 'SIGSTOP')
  const children = (await readFile(`/proc/${main}/task/${main}/children`, 'utf8'))
    .trim()
    .split(' ')
    .map(Number)
  for (const pid of [...children, main]) process.kill(pid, 'SIGKILL')
  while (existsSync(`/proc/${main}`)) await pause(5)
}
