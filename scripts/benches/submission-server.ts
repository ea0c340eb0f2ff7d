/**
 * The SMTP listeners as a separate process: everything from the socket to the commit, without delivery.
 * usage: submission-server.ts DATA_DIR [DNS_SERVER [RECEIVERS]]
 * Sends a `Target` to its parent and logs to standard output, as in production.
 */
import { join } from 'node:path'
import { createFetcher, openResolver, openSmtp } from '../../appliance/assembly/adapters.ts'
import { openStorage } from '../../appliance/assembly/storage.ts'
import { createAccounts } from '../../appliance/accounts/accounts.ts'
import { createCapacity } from '../../appliance/capacity/capacity.ts'
import { systemClock as clock } from '../../appliance/clock/clock.ts'
import { loadConfig } from '../../appliance/config/config.ts'
import { createRequestLogBuffer } from '../../appliance/http/request-log-buffer.ts'
import { createPublicMx } from '../../appliance/inbound/public-mx.ts'
import { createMailReceiver } from '../../appliance/inbound/inbound.ts'
import { createMimeReader } from '../../appliance/mime/mime.ts'
import { createIntake } from '../../appliance/intake/intake.ts'
import { createQuotas, createRateLimiter, createSenders } from '../../appliance/senders/senders.ts'
import { capacityOptions, submissionOptions } from '../../appliance/assembly/options.ts'
import { createSubmission } from '../../appliance/submission/submission.ts'
import { createLogger } from '../../appliance/watch/log.ts'
import { openCertificates } from '../../appliance/wire/certificates.ts'
import { freeAddress } from '../../test/world/addresses.ts'

/** The listeners' addresses, and the domain to send from. */
export interface Target {
  /** The trusted listener, as `host:port`. */
  address: string
  domain: string
  /** The public listener, as `host:port`; null without receivers. */
  mx: string | null
  /**
   * Receiving domains. Each belongs to a separate team, because the amount that a team may receive per day is limited.
   */
  receivers: string[]
}

const [folder, dns = '127.0.0.1:9', many = '0'] = process.argv.slice(2) as [string, string?, string?]
const domain = 'acme.example'
const loaded = loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.acme.example' }, defaultFile: '/nonexistent' })
if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
const config = { ...loaded.config, data_dir: join(folder, 'data') }
const log = createLogger('info')
const storage = await openStorage(config)
const resolver = openResolver(config, clock, { servers: [dns] })
const host = { hostname: config.hostname, sourceIps: [] }
// This benchmark signs nothing, so the key isn't valid.
const keygen = async () => ({ privateKey: new Uint8Array([1]), publicKey: 'AQ==' })
const senders = createSenders({ storage, resolver, clock, config: host, log, keygen })
const owner = { email: 'owner@acme.example', password: 'a quiet harbour at dusk', teamName: 'Acme' }
const accounts = createAccounts({ storage, clock })
const { team, user } = await accounts.createOwner(owner)
await addDomain(team.id, domain, false)
const receivers = Array.from({ length: Number(many) }, (_, at) => `r${at}.example`)
for (const name of receivers) {
  const { id: teamId } = await accounts.teams.createTeam({ name, ownerId: user.id })
  await addDomain(teamId, name, true)
}
const { key } = await senders.createKey({ teamId: team.id, name: 'bench', permission: 'sending_access' })
const capacity = createCapacity({ ...capacityOptions(config), clock, freeBytes: async () => null })
const mime = createMimeReader({ clock, turns: capacity.turns })
const intake = createIntake({
  storage,
  senders,
  mime,
  clock,
  limits: config.limits,
  fetch: createFetcher(resolver, clock),
  quotas: createQuotas({ storage, clock, plans: new Map() }),
  wake: () => undefined,
})
const address = `${freeAddress()}:2525`
const mx = receivers.length > 0 ? `${freeAddress()}:25` : null
const trusted = [{ listen: address, networks: ['127.0.0.0/8'], api_key_id: key.id }]
const { data_dir: dataDir, hostname } = config
const rateLimiter = createRateLimiter({ clock, perSecond: 1_000_000 })
const inbound = createMailReceiver({
  storage,
  clock,
  log,
  mime,
  intake,
  resolver,
  hostname,
  messageBytes: config.limits.message_bytes,
  postmaster: undefined,
  tables: () => ({ formats: [], rules: [] }),
  sendNotice: async () => ({ sent: false, reason: 'nothing is sent here' }),
})
await openSmtp(
  { ...config, smtp: { ...config.smtp, starttls: mx === null ? [] : [mx], implicit_tls: [], trusted } },
  {
    submission: createSubmission({
      senders,
      rateLimiter,
      intake,
      mime,
      clock,
      config: submissionOptions(config),
    }),
    // Lifts the limit of 600 messages in ten minutes per network, because it must not affect the measurement.
    publicMx: createPublicMx({ ...inbound, admit: () => undefined }),
    requestLog: createRequestLogBuffer({ storage, clock, log }),
    certificates: await openCertificates({ dataDir, hostname, clock }),
    capacity,
    clock,
    log,
  },
)
process.send!({ address, domain, mx, receivers } satisfies Target)
// Each message of the parent requests the CPU time used so far, in microseconds.
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send!(user + system)
})

async function addDomain(teamId: string, name: string, receiving: boolean): Promise<void> {
  const { id } = await senders.addDomain({ teamId, name })
  if (receiving) await senders.updateDomain({ teamId, id, settings: { receiving: true } })
  await storage.saveDomainCheck({ teamId, id, status: 'verified', checks: [] }, clock.now())
}
