/**
 * The appliance as a separate process: a sandbox on a data directory.
 * usage: dashboard-server.ts DATA_DIR DASHBOARD
 * Sends a `DashboardServer` to its parent, and exits when the parent does.
 */
import { compose } from '../../appliance/compose.ts'
import { loadConfig } from '../../appliance/config/config.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'

/** The server's URL and credentials. */
export interface DashboardServer {
  url: string
  email: string
  password: string
  apiKey: string
  domain: string
}

const [dataDir, dashboard] = process.argv.slice(2) as [string, string]
const loaded = loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.acme.example' }, defaultFile: '/nonexistent' })
if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
const { config } = loaded
// Retention in days. The generated emails are older than the default.
const KEPT = 36_500
const appliance = await compose(
  {
    ...config,
    data_dir: dataDir,
    http: { ...config.http, listen: ['127.0.0.1:0'] },
    smtp: { ...config.smtp, starttls: [], implicit_tls: [] },
    delivery: { ...config.delivery, allow_networks: ['127.0.0.0/8'] },
    limits: { ...config.limits, rate_per_second: 1_000_000 },
    retention: {
      ...config.retention,
      bodies_days: KEPT,
      attempts_days: KEPT,
      events_days: KEPT,
      emails_days: KEPT,
    },
  },
  { log: createSilentLogger(), sandbox: true, dashboard },
)
const { email, password, apiKey, domain } = appliance.sandbox!.seed
process.send!({ url: appliance.url, email, password, apiKey, domain } satisfies DashboardServer)
process.on('disconnect', () => void appliance.stop())
