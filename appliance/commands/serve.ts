import { rmSync, writeFileSync } from 'node:fs'
import { StartupError, compose, type RunningDaemon } from '../compose.ts'
import { runningSandboxFile, type Config, type LoadResult, type RunningSandbox } from '../config/config.ts'
import { systemClock } from '../clock/clock.ts'
import { Failure } from './context.ts'
import { removeDaemonRun, writeClientUsage, writeDaemonRun } from './daemon-file.ts'
import { reload } from './reload.ts'
import { announceSetupLink } from './set-up-link.ts'
import { createLogger, type Logger } from '../watch/log.ts'
import { createNotifier } from '../watch/notify.ts'
import { watchSpareMemory } from '../watch/spare-memory.ts'
import { toOrigins } from '../assembly/node.ts'
import { VERSION } from '../assembly/version.ts'

/** The arguments of `serve`. */
export interface ServeArgs {
  config: Config
  /** Notes on the configuration, logged at start. */
  notes: string[]
  sandbox: boolean
  /** Reads the configuration again, for a reload. */
  reread: () => LoadResult
}

/**
 * Runs the daemon until SIGTERM or SIGINT, and reloads on SIGHUP. The exit code is 0 after a clean stop, 1 if a part
 * failed to stop.
 */
export async function serve({ config, notes, sandbox, reread }: ServeArgs): Promise<number> {
  // People read the sandbox's output, and the welcome text has the important facts, so log only warnings.
  const log = createLogger(sandbox && config.log.level === 'info' ? 'warn' : config.log.level)
  const notifier = createNotifier({ clock: systemClock, log, env: process.env, pid: process.pid })
  const reloads = reloadSignals()
  const onLost = (error: Error): void => {
    // The service manager restarts the daemon; accepted mail is on disk.
    log.fatal({ err: error }, 'lost the storage; exiting')
    process.exit(1)
  }
  const appliance = await compose(config, { log, sandbox, onLost }).catch((error: unknown) => {
    throw error instanceof StartupError ? new Failure(error.message) : error
  })
  // Install the signal handlers before the daemon reports that it has started, because it can be stopped from then on.
  const stop = stopSignal()
  for (const note of notes) log.warn(note)
  log.info({ version: VERSION, url: appliance.url, hostname: config.hostname }, 'started')
  writeDaemonRun(config.data_dir, {
    pid: process.pid,
    version: VERSION,
    startedAt: systemClock.now(),
    listeners: toOrigins(appliance),
  })
  if (appliance.sandbox) {
    writeRunning(config, appliance.sandbox)
    console.log(formatWelcome(appliance))
  }
  await announceSetupLink({ appliance, config, clock: systemClock, log })
  await notifier.ready(`Accepting mail at ${appliance.url}.`, () => appliance.alive())
  reloads.heed(async () => {
    await notifier.reloading()
    await notifier.reloaded(await reload({ appliance, running: config, reread, log }))
  })
  const leaveMemory = watchSpareMemory()
  const leaveClients = noteClients(appliance, config, log)
  const signal = await stop
  leaveMemory()
  leaveClients()
  log.info({ signal }, 'stopping')
  await notifier.stopping()
  const clean = await stopped(appliance, log)
  notifier.close()
  removeDaemonRun(config.data_dir)
  if (appliance.sandbox) rmSync(runningSandboxFile(config.data_dir), { force: true })
  return clean ? 0 : 1
}

/** How often client usage is saved for `posthaste status`, in milliseconds. */
const NOTE_CLIENTS_MS = 5000

/** Saves client usage periodically for `posthaste status`. Returns a function that stops this. */
function noteClients(appliance: RunningDaemon, config: Config, log: Logger): () => void {
  let failed = false
  const note = (): void => {
    try {
      writeClientUsage(config.data_dir, { at: systemClock.now(), ...appliance.clients() })
      failed = false
    } catch (error) {
      // Usually a full disk. Log it only once.
      if (!failed) log.warn({ err: error }, 'could not save the client usage that posthaste status shows')
      failed = true
    }
  }
  note()
  const timer = setInterval(note, NOTE_CLIENTS_MS)
  return () => clearInterval(timer)
}

/** Stops the daemon; returns false and logs the error if a part failed to stop. */
async function stopped(appliance: RunningDaemon, log: Logger): Promise<boolean> {
  try {
    await appliance.stop()
    log.info('stopped')
    return true
  } catch (error) {
    // The other parts were closed anyway, and accepted mail is on disk.
    log.error(
      { err: error },
      'stopped, but a component failed to stop cleanly; accepted mail is safe on disk',
    )
    return false
  }
}

/** Catches SIGHUP from the start, because it ends the process by default. Reloads only after `heed` was called. */
function reloadSignals(): { heed(work: () => Promise<void>): void } {
  let last = Promise.resolve()
  let work: () => Promise<void> = async () => undefined
  // One reload at a time, because each reports its end to the service manager.
  process.on('SIGHUP', () => void (last = last.then(() => work())))
  return { heed: (what) => void (work = what) }
}

/** Resolves on the first SIGTERM or SIGINT; a second one ends the process immediately. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let asked = false
    const stop = (signal: string): void => {
      if (asked) process.exit(1)
      asked = true
      resolve(signal)
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}

/** Saves the sandbox's DNS and exchanger ports for the command line, because they are chosen at start. */
function writeRunning(config: Config, sandbox: { dns: string; deliveryPort: number }): void {
  const running: RunningSandbox = { pid: process.pid, dns: sandbox.dns, deliveryPort: sandbox.deliveryPort }
  writeFileSync(runningSandboxFile(config.data_dir), JSON.stringify(running), { mode: 0o600 })
}

/** Formats the sandbox's welcome text: where to look, and a first email to paste. */
export function formatWelcome({ url, sandbox, smtp }: RunningDaemon): string {
  const { seed } = sandbox!
  return `
Posthaste ${VERSION} is running as a sandbox: no mail leaves this machine.

  Dashboard   ${url}/dashboard/
  Sign in     ${seed.email}   ${seed.password}

Send a first email:

  curl ${url}/emails \\
    -H 'Authorization: Bearer ${seed.apiKey}' -H 'Content-Type: application/json' \\
    -d '{"from":"Acme <hello@${seed.domain}>","to":"ada@customer.test","subject":"Hello","html":"<p>It works.</p>"}'

It arrives in the dashboard's Inbox. Or run:

  curl ${url}/sandbox/messages -H 'Authorization: Bearer ${seed.apiKey}'

Or send over SMTP (docs/smtp.md): STARTTLS on ${smtp.starttls.join(', ')}, implicit TLS on ${smtp.implicitTls.join(', ')}

  swaks --server ${smtp.starttls[0] ?? ''} --tls --auth-user posthaste --auth-password ${seed.apiKey} \\
    --from hello@${seed.domain} --to ada@customer.test

The recipient's name selects how the simulated server behaves: bounce@, greylist@, slow@, tls-broken@ ... (docs/sandbox.md)
Stop with Ctrl-C. For real mail: ./scripts/start --config FILE (README.md, "In production")
`
}
