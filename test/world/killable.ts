/**
 * A daemon that tests kill and restart on the same data, with an exchanger for busy.test and an API key of sender.test.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type Daemon, startDaemon, writeConfig } from './daemon.ts'
import type { Mailbox } from './mailbox.ts'
import { PROGRAM } from './program.ts'
import { setUpByCommands } from './set-up.ts'
import { createWorld, type World } from './world.ts'

export interface Killable {
  world: World
  /** The mail that busy.test received. */
  mailbox: Mailbox
  dataDir: string
  /** Path of the configuration file. */
  config: string
  /** Makes a request with the API key and expects success. `body` is sent as JSON. */
  call<T>(method: string, path: string, body?: object): Promise<T>
  start(env?: NodeJS.ProcessEnv): Promise<void>
  kill(): Promise<void>
  /** Waits until the process ends by itself. Returns the signal that ended it. */
  died(): Promise<NodeJS.Signals | null>
  /** Stops the daemon gracefully. Returns the exit code. */
  stop(): Promise<number | null>
  close(): Promise<void>
}

const HOST = 'mx.busy.test'

/** Sets up everything, but doesn't start the daemon. */
export async function createKillable(): Promise<Killable> {
  const world = await createWorld({
    domains: { 'busy.test': { mx: [{ preference: 10, host: HOST }] } },
    names: { 'mail.sender.test': { A: '127.0.0.1' } },
  })
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-kill-'))
  const [config, dataDir] = [join(folder, 'posthaste.toml'), join(folder, 'data')]
  await mkdir(dataDir, { mode: 0o700 })
  await writeConfig(config, {
    hostname: 'mail.sender.test',
    data_dir: dataDir,
    http: { listen: ['127.0.0.1:0'], public_url: 'https://mail.sender.test' },
    smtp: { starttls: [], implicit_tls: [] },
    dns: { servers: world.dnsServers },
    delivery: { port: world.deliveryPort, allow_networks: ['127.0.0.0/8'] },
    limits: { rate_per_second: 1_000_000 },
  })
  const key = await setUpByCommands(config, world)
  let daemon: Daemon | undefined
  return {
    world,
    mailbox: world.mailboxOf(HOST),
    dataDir,
    config,
    async call<T>(method: string, path: string, body?: object) {
      const response = await fetch(`${daemon!.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const answer = (await response.json()) as T
      expect(response.ok, JSON.stringify(answer)).toBe(true)
      return answer
    },
    async start(env = {}) {
      daemon = await startDaemon(config, PROGRAM, env)
    },
    async kill() {
      await daemon!.end('SIGKILL')
    },
    died: () => daemon!.died(),
    stop: () => daemon!.end('SIGTERM'),
    async close() {
      await daemon?.end('SIGKILL')
      await world.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
