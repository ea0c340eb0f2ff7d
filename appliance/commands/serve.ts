import { rmSync, writeFileSync } from 'node:fs'
import { CannotStart, compose, type Appliance } from '../compose.ts'
import { runningFile, type Config, type Running } from '../config/config.ts'
import { Failure } from './context.ts'
import { createLogger } from '../watch/log.ts'
import { VERSION } from '../version.ts'

/** What `serve` is told by the command line. */
export interface ServeArgs {
  config: Config
  /** Things worth telling at start, from the configuration. */
  notes: string[]
  sandbox: boolean
}

/** Runs the daemon until SIGTERM or SIGINT; the exit code is 0 after a clean stop. */
export async function serve({ config, notes, sandbox }: ServeArgs): Promise<number> {
  // The sandbox is for reading by people: warnings only, the welcome says the rest.
  const log = createLogger(sandbox && config.log.level === 'info' ? 'warn' : config.log.level)
  const onLost = (error: Error): void => {
    // Whoever supervises starts us again; what was accepted is on disk.
    log.fatal({ err: error }, 'the storage is lost: ending')
    process.exit(1)
  }
  const appliance = await compose(config, { log, sandbox, onLost }).catch((error: unknown) => {
    throw error instanceof CannotStart ? new Failure(error.message) : error
  })
  for (const note of notes) log.warn(note)
  log.info({ version: VERSION, url: appliance.url, hostname: config.hostname }, 'started')
  if (appliance.sandbox) {
    writeRunning(config, appliance.sandbox)
    console.log(welcome(appliance))
  }
  const signal = await stopSignal()
  log.info({ signal }, 'stopping')
  await appliance.stop()
  if (appliance.sandbox) rmSync(runningFile(config.data_dir), { force: true })
  log.info('stopped')
  return 0
}

/** Resolves with the first SIGTERM or SIGINT; a second one ends the process at once. */
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

/** Tells the command line where the sandbox's DNS and exchangers are, which take free ports. */
function writeRunning(config: Config, sandbox: { dns: string; deliveryPort: number }): void {
  const running: Running = { pid: process.pid, dns: sandbox.dns, deliveryPort: sandbox.deliveryPort }
  writeFileSync(runningFile(config.data_dir), JSON.stringify(running), { mode: 0o600 })
}

/** What the sandbox prints when it is ready: where to look, and a first email to paste. */
export function welcome({ url, sandbox, smtp }: Appliance): string {
  const { seed } = sandbox!
  return `
Posthaste ${VERSION} is running as a sandbox: no mail leaves this machine.

  Dashboard   ${url}/dashboard/
  Sign in     ${seed.email}   ${seed.password}

Send a first email:

  curl ${url}/emails \\
    -H 'Authorization: Bearer ${seed.apiKey}' -H 'Content-Type: application/json' \\
    -d '{"from":"Acme <hello@${seed.domain}>","to":"ada@customer.test","subject":"Hello","html":"<p>It works.</p>"}'

See it arrive in the dashboard's Inbox, or:

  curl ${url}/sandbox/messages -H 'Authorization: Bearer ${seed.apiKey}'

The same over SMTP (docs/smtp.md): STARTTLS at ${smtp.starttls.join(', ')}, TLS at ${smtp.implicitTls.join(', ')}

  swaks --server ${smtp.starttls[0] ?? ''} --tls --auth-user posthaste --auth-password ${seed.apiKey} \\
    --from hello@${seed.domain} --to ada@customer.test

The recipient chooses what the remote server does: bounce@, greylist@, slow@, tls-broken@ ... (docs/sandbox.md)
Stop with Ctrl-C. For real mail: ./scripts/start --config FILE (README.md, "In production")
`
}
