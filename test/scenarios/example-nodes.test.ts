import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readEnvironment } from '../../appliance/config/environment.ts'
import { type Daemon, run, startDaemon } from '../world/daemon.ts'
import { PATIENCE } from '../world/patience.ts'
import { PROGRAM } from '../world/program.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'

/** The examples of three nodes and one database, run with the settings that users copy. */

const project = join(import.meta.dirname, '..', '..')
/** What a machine of the examples has, and a test machine doesn't: ports below 1024. */
const OWN_PORTS = {
  POSTHASTE_HTTP__LISTEN: '127.0.0.1:0',
  POSTHASTE_SMTP__STARTTLS: '[]',
  POSTHASTE_SMTP__IMPLICIT_TLS: '[]',
  POSTHASTE_STORAGE__RESERVE_MB: '0',
}

let cluster: Cluster
let folder: string
let masterKey: string
const running: Daemon[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-examples-'))
  masterKey = join(folder, 'master.key')
  await writeFile(masterKey, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  cluster = await startCluster(findPostgresPrograms(), { safe: true })
})

afterAll(async () => {
  await Promise.all(running.map((one) => one.end('SIGKILL')))
  await cluster?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Starts the nodes at the same time on an empty database. Checks that they know each other, and stops them. */
async function runNodes(nodes: { config: string; env: Record<string, string> }[]): Promise<void> {
  const url = await cluster.createDatabase()
  const started = await Promise.all(
    nodes.map(async ({ config, env }, at) => {
      const home = await mkdtemp(join(folder, 'node-'))
      const [file, dataDir] = [join(home, 'posthaste.toml'), join(home, 'data')]
      await mkdir(dataDir, { mode: 0o700 })
      await writeFile(file, config)
      const own = { POSTHASTE_DATA_DIR: dataDir, POSTHASTE_STORAGE__URL: url }
      const all = { ...env, ...OWN_PORTS, ...own, POSTHASTE_SECRETS__MASTER_KEY_FILE: masterKey }
      const daemon = await startDaemon(file, PROGRAM, all)
      running.push(daemon)
      return { daemon, file, env: all, hostname: `mail${at + 1}.example.com` }
    }),
  )
  const { file, env } = started[0]!
  const listed = async () => {
    const { stdout } = await run(['node', 'list', '--json', '--config', file], '', env)
    return (JSON.parse(stdout) as { data: { hostname: string; state: string; ready: boolean }[] }).data
      .map(({ hostname, state }) => `${hostname} ${state}`)
      .toSorted()
  }
  await expect
    .poll(listed, { timeout: PATIENCE })
    .toEqual(started.map(({ hostname }) => `${hostname} active`))
  const setup = ['setup', '--email', 'you@example.com', '--config', file]
  expect(await run(setup, 'a long password for tests\n', env)).toMatchObject({ code: 0 })
  for (const { daemon } of started) {
    expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200)
    const signIn = await fetch(`${daemon.url}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'you@example.com', password: 'a long password for tests' }),
    })
    expect(signIn.status).toBe(200)
  }
  for (const { daemon } of started) expect(await daemon.end('SIGTERM')).toBe(0)
}

interface Compose {
  services: Record<
    string,
    { environment: Record<string, string>; secrets?: string[]; ports?: string[]; volumes: string[] }
  >
  secrets: Record<string, unknown>
  volumes: Record<string, unknown>
}

/** Replaces `${NAME}`, `${NAME:-default}` and `${NAME:?message}`, as Compose does. */
const interpolate = (text: string, values: Record<string, string>): string =>
  text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind?: string, word?: string) => {
    const value = values[name] ?? (kind === '-' ? word : undefined)
    if (value === undefined) throw new Error(`${name} is missing: ${word ?? ''}`)
    return value
  })

test('the nodes of container/compose-nodes.yaml share the database', { timeout: 3 * PATIENCE }, async () => {
  const text = await readFile(join(project, 'container', 'compose-nodes.yaml'), 'utf8')
  const values = { DATABASE_PASSWORD: 'secret', POSTHASTE_DOMAIN: 'example.com' }
  const written = JSON.stringify(parse(text, { merge: true }))
  const made = JSON.parse(interpolate(written, values)) as Compose
  const { database, ...nodes } = made.services
  expect(database!.environment).toMatchObject({ POSTGRES_USER: 'posthaste', POSTGRES_PASSWORD: 'secret' })
  expect(Object.keys(nodes)).toEqual(['mail1', 'mail2', 'mail3'])
  const ports = Object.values(nodes).flatMap((one) => one.ports!.map((port) => port.replace(/:\d+$/, '')))
  expect(new Set(ports).size).toBe(ports.length)
  const volumes = Object.values(made.services).flatMap((one) => one.volumes.map((each) => each.split(':')[0]))
  expect(volumes.toSorted()).toEqual(Object.keys(made.volumes).toSorted())
  for (const { environment, secrets } of Object.values(nodes)) {
    expect(environment.POSTHASTE_STORAGE__URL).toBe('postgres://posthaste:secret@database/posthaste')
    expect(environment.POSTHASTE_SECRETS__MASTER_KEY_FILE).toBe(`/run/secrets/${secrets![0]}`)
    expect(Object.keys(made.secrets)).toEqual(secrets)
    const complaints: Parameters<typeof readEnvironment>[1] = []
    expect([readEnvironment(environment, complaints).notes, complaints]).toEqual([[], []])
  }
  await runNodes(Object.values(nodes).map(({ environment }) => ({ config: '', env: environment })))
})

test('the nodes of docs/scaling.md share the database', { timeout: 3 * PATIENCE }, async () => {
  const page = await readFile(join(project, 'docs', 'scaling.md'), 'utf8')
  const example = /^ {3}```toml\n(.*?)^ {3}```$/ms.exec(page)![1]!.replace(/^ {3}/gm, '')
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, 'secret\n', { mode: 0o600 })
  const env = { POSTHASTE_STORAGE__PASSWORD_FILE: passwordFile }
  // The server of the test is reached through its socket, without TLS.
  const common = example.replace(/^tls_ca = .*\n/m, '')
  const nodes = [1, 2, 3].map((number) =>
    common.replace('mail1', `mail${number}`).replace('192.0.2.1', `127.0.0.${number + 10}`),
  )
  await runNodes(nodes.map((config) => ({ config, env })))
})
