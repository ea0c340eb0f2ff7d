/**
 * The mail servers that `relay.ts` compares. Each accepts mail from loopback, stores it durably, and relays it to one
 * exchanger.
 */
import { execFile, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { dataOf, findPostgresPrograms, startPostgres } from '../../appliance/crashtest/postgres-server.ts'
import { freeAddress, likelyFreePort } from '../../test/world/addresses.ts'
import { startPostfixInstance } from '../../test/world/postfix-instance.ts'
import { createDaemonHome, SENDER_DOMAIN, startDaemon } from './real-daemon.ts'

const execute = promisify(execFile)

/** A running server. */
export interface BenchmarkedServer {
  name: string
  /** Address at which the server accepts mail, as `host:port`. */
  address: string
  /** IDs of the server's processes. The CPU time and memory of their descendants are included. */
  roots: number[]
  close(): Promise<void>
}

export interface Exchanger {
  address: string
  port: number
}

/** Starts our server with its defaults and all features on, except for the rate limits of providers.toml. */
export async function startPosthaste(folder: string, exchanger: Exchanger): Promise<BenchmarkedServer> {
  const home = await createDaemonHome(folder, exchanger)
  const daemon = await startDaemon(folder, home)
  const close = async (): Promise<void> => {
    await daemon.stop()
    await home.close()
  }
  return { name: 'Posthaste', address: home.smtp, roots: [daemon.pid], close }
}

/** Starts our server as `startPosthaste` does, on a PostgreSQL server with default settings on the same machine. */
export async function startPosthasteOnPostgres(
  folder: string,
  exchanger: Exchanger,
): Promise<BenchmarkedServer> {
  const database = await startPostgres(findPostgresPrograms(), { safe: true })
  await database.run('createdb', ['posthaste'])
  const home = await createDaemonHome(folder, exchanger, new Map(), database.urlOf('posthaste'))
  const daemon = await startDaemon(folder, home)
  const pidFile = await readFile(join(dataOf(database.folder), 'postmaster.pid'), 'utf8')
  const close = async (): Promise<void> => {
    await daemon.stop()
    await home.close()
    await database.close()
  }
  const roots = [daemon.pid, Number.parseInt(pidFile, 10)]
  return { name: 'Posthaste, PostgreSQL', address: home.smtp, roots, close }
}

/**
 * Starts Postfix with its defaults, except for settings that would delay it (in_flow_delay) or limit it to fewer
 * sessions than the benchmark uses.
 */
export async function startPostfix(
  name: string,
  exchanger: Exchanger,
  sessions: number,
  milter?: { socket: string; pid: number },
): Promise<BenchmarkedServer> {
  let master = ''
  const instance = await startPostfixInstance(({ folder }) => {
    master = join(folder, 'queue', 'pid', 'master.pid')
    const settings = {
      myhostname: `mail.${SENDER_DOMAIN}`,
      mynetworks: '127.0.0.0/8',
      relayhost: `[${exchanger.address}]:${exchanger.port}`,
      in_flow_delay: 0,
      smtpd_client_connection_count_limit: 0,
      default_process_limit: Math.max(100, sessions * 2),
      ...(milter ? { smtpd_milters: milter.socket, milter_default_action: 'tempfail' } : {}),
    }
    return { settings, services: 'smtp unix - - n - - smtp\nrelay unix - - n - - smtp\n' }
  })
  const pid = Number(await readFile(master, 'utf8'))
  const roots = milter ? [pid, milter.pid] : [pid]
  return { name, address: `${instance.address}:25`, roots, close: () => instance.close() }
}

/** Starts Postfix with OpenDKIM as a milter, which signs with RSA-SHA256, 2048 bits, relaxed/relaxed. */
export async function startPostfixWithOpenDkim(
  folder: string,
  exchanger: Exchanger,
  sessions: number,
): Promise<BenchmarkedServer> {
  const key = join(folder, 'opendkim.key')
  await writeFile(key, generateRsaKey(), { mode: 0o600 })
  const milter = await startOpenDkim(
    folder,
    `Mode s\nDomain ${SENDER_DOMAIN}\nSelector bench\nKeyFile ${key}
Canonicalization relaxed/relaxed\nInternalHosts 127.0.0.0/8\n`,
  )
  const postfix = await startPostfix('Postfix + OpenDKIM', exchanger, sessions, milter)
  const close = async (): Promise<void> => {
    await postfix.close()
    milter.close()
  }
  return { ...postfix, close }
}

/** Starts OpenDKIM with these settings as a milter for Postfix. */
export async function startOpenDkim(
  folder: string,
  settings: string,
): Promise<{ socket: string; pid: number; close(): void }> {
  const address = `${freeAddress()}:${likelyFreePort()}`
  const [host, port] = address.split(':')
  const file = join(folder, 'opendkim.conf')
  await writeFile(
    file,
    `${settings}Syslog no\nRequireSafeKeys no\nSocket inet:${port}@${host}\nUserID root\n`,
  )
  const child = spawn('opendkim', ['-f', '-x', file], { stdio: 'inherit' })
  await listening(address)
  return { socket: `inet:${host}:${port}`, pid: child.pid!, close: () => void child.kill() }
}

/** Haraka's install folder, reused between runs. */
const HARAKA = join(tmpdir(), 'posthaste-bench-haraka')
/**
 * The newest versions from before this date are installed, so that every registry mirror has them and their
 * dependencies.
 */
const HARAKA_BEFORE = '2026-09-01'

/** Starts Haraka with its outbound queue and DKIM plugin. Rejects if it can't be installed. */
export async function startHaraka(folder: string, exchanger: Exchanger): Promise<BenchmarkedServer> {
  await installHaraka()
  const address = `${freeAddress()}:${likelyFreePort()}`
  const base = join(folder, 'haraka')
  const put = async (name: string, text: string): Promise<void> => {
    const path = join(base, name)
    await mkdir(join(path, '..'), { recursive: true })
    await writeFile(path, text)
  }
  await mkdir(join(base, 'queue'), { recursive: true })
  await put('config/smtp.ini', `listen=${address}\nnodes=cpus\n`)
  await put('config/me', `mail.${SENDER_DOMAIN}\n`)
  await put('config/plugins', 'bench\ndkim\n')
  await put('config/log.ini', '[main]\nlevel=notice\n')
  await put('config/outbound.ini', 'enable_tls=false\nlocal_mx_ok=true\n')
  await put('config/databytes', '50000000\n')
  // Haraka reads its default settings only from the instance's folder.
  const shipped = join(HARAKA, 'node_modules', 'Haraka', 'config', 'connection.ini')
  await put('config/connection.ini', await readFile(shipped, 'utf8'))
  await put(
    'config/dkim.ini',
    `[sign]\nenabled=true\nselector=bench\ndomain=${SENDER_DOMAIN}\n[verify]\nenabled=false\n`,
  )
  await put(`config/dkim/${SENDER_DOMAIN}/private`, generateRsaKey())
  await put(`config/dkim/${SENDER_DOMAIN}/selector`, 'bench\n')
  const to = JSON.stringify({ priority: 0, exchange: exchanger.address, port: exchanger.port })
  await put(
    'plugins/bench.js',
    `exports.hook_connect = (next, connection) => { connection.relaying = true; next() }
exports.hook_rcpt = (next) => next(OK)
exports.hook_get_mx = (next) => next(OK, ${to})\n`,
  )
  const log = await open(join(folder, 'haraka.log'), 'w')
  const program = join(HARAKA, 'node_modules', 'Haraka', 'bin', 'haraka')
  const child = spawn(process.execPath, [program, '-c', base], { stdio: ['ignore', log.fd, log.fd] })
  await log.close()
  const ended = once(child, 'exit')
  await listening(address)
  const close = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  return { name: 'Haraka + DKIM', address, roots: [child.pid!], close }
}

async function installHaraka(): Promise<void> {
  const installed = await stat(join(HARAKA, 'node_modules', 'haraka-plugin-dkim')).catch(() => null)
  if (installed) return
  await mkdir(HARAKA, { recursive: true })
  await writeFile(join(HARAKA, 'package.json'), '{ "private": true }\n')
  const options = [
    '--ignore-scripts',
    '--omit=optional',
    '--no-audit',
    '--no-fund',
    `--before=${HARAKA_BEFORE}`,
  ]
  await execute('npm', ['install', ...options, 'Haraka', 'haraka-plugin-dkim'], {
    cwd: HARAKA,
    timeout: 90_000,
  })
}

/** Generates an RSA key of 2048 bits. */
export const generateRsaKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs1',
    format: 'pem',
  }) as string

/** Waits until the address accepts connections; rejects after ten seconds. */
async function listening(address: string): Promise<void> {
  const [host, port] = address.split(':')
  const end = Date.now() + 10_000
  for (;;) {
    const socket = connect(Number(port), host)
    const there = await new Promise<boolean>((resolve) =>
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
    )
    socket.destroy()
    if (there) return
    if (Date.now() > end) throw new Error(`No server listens on ${address}.`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
