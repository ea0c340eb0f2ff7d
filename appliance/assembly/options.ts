/** Converts the configuration to the options of each module. */
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { readDescriptorLimit } from '../capacity/capacity.ts'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import { readDiskSpace } from './monitoring.ts'
import type { LiveTables } from './tables.ts'
import { VERSION } from './version.ts'
import type { Storage } from '../storage/storage.ts'
import { reportDiskUsage, type RetentionPeriods } from '../housekeeping/housekeeping.ts'
import { parseNetworks, listMachineAddresses } from '../wire/networks.ts'

/** Returns the domains of test addresses, in lower case. */
const testDomains = ({ test_domains: names }: Config['delivery']): string[] =>
  names.map((name) => name.toLowerCase())

/** Returns the minimum free disk space for the database, in bytes. A PostgreSQL server watches its own disk. */
export function diskSpaceOptions({ data_dir: dataDir, storage }: Config) {
  const local = storage.engine === 'sqlite' ? 1_000_000 : 0
  return {
    dataDir,
    leastFree: storage.min_free_mb * local,
    bytes: storage.reserve_mb * local,
    freeOnDisk: async () => (await readDiskSpace(dataDir))?.free ?? null,
  }
}

/** Returns the options of intake. */
export const intakeOptions = ({ limits, delivery }: Config) => ({
  limits,
  testDomains: testDomains(delivery),
  feedbackId: delivery.feedback_id,
})

/** Returns the limits of client usage. */
export function capacityOptions({ data_dir: dataDir, http, smtp, nameserver, limits, storage }: Config) {
  return {
    folder: join(dataDir, 'incoming'),
    messageBytes: limits.message_bytes,
    http: connectionLimits(http),
    smtp: connectionLimits(smtp),
    dns: nameserver.listen.length > 0 ? DNS_CONNECTIONS : undefined,
    leastFree: storage.min_free_mb * 1_000_000,
    heapBytes: getHeapStatistics().heap_size_limit,
    descriptors: readDescriptorLimit(),
  }
}

/** Returns the folder of uploaded CSV files. */
export const importOptions = ({ data_dir: dataDir }: Config) => ({ folder: join(dataDir, 'imports') })

/** Connection limits for DNS over TCP. Resolvers use UDP, and TCP only now and then. */
const DNS_CONNECTIONS = { total: 500, perAddress: 20, perStranger: 20 }

const connectionLimits = (section: Config['http'] | Config['smtp']) => ({
  total: section.max_connections,
  perAddress: section.max_connections_per_address,
  perStranger: section.max_unknown_connections_per_address,
})

/** Returns the options of delivery. */
export function deliveryOptions({ hostname, delivery }: Config, { bounces, providers }: LiveTables) {
  return {
    hostname,
    sourceIps: delivery.source_ips,
    allowNetworks: parseNetworks(delivery.allow_networks),
    ownAddresses: listMachineAddresses,
    testDomains: testDomains(delivery),
    bounces,
    providers,
    maxConnections: delivery.max_connections,
  }
}

/** Returns the options of the HTTP server. */
export function httpOptions({ hostname, limits, http, logs }: Config) {
  const { trust_proxy: trustProxy, public_url: publicUrl } = http
  const adminApart = http.admin_listen.length + http.admin_tls_listen.length > 0
  return {
    hostname,
    version: VERSION,
    messageBytes: limits.message_bytes,
    trustProxy,
    publicUrl,
    hstsDays: http.hsts_days,
    adminApart,
    peopleUrl: http.admin_url ?? (adminApart ? undefined : publicUrl),
    logApiUse: logs.retention_days > 0,
  }
}

/** Returns the options of notices. */
export const noticeOptions = ({ hostname, notices }: Config) => ({ hostname, from: notices.from })

/** Returns the options of SMTP submission. */
export const submissionOptions = ({ hostname, smtp, limits }: Config) => ({
  hostname,
  messageBytes: limits.message_bytes,
  hideClient: smtp.hide_client,
})

/** Returns the options of the public MX. */
export const inboundOptions = ({ hostname, limits, smtp }: Config, tables: LiveTables) => ({
  hostname,
  messageBytes: limits.message_bytes,
  postmaster: smtp.postmaster,
  tables: () => {
    const { formats, reasons } = tables.returnedMail()
    return { formats, rules: [...reasons, ...tables.bounces()] }
  },
})

/** Returns the blocklists that are queried about servers that deliver mail. */
export const dnsblOptions = ({ inbound }: Config) => ({
  zones: inbound.dnsbl,
  allow: parseNetworks(inbound.dnsbl_allow),
})

/** Returns the milter settings; undefined if there are no milters. */
export const milterOptions = ({ inbound, hostname }: Config) =>
  inbound.milters.length === 0
    ? undefined
    : { milters: inbound.milters, unavailable: inbound.milter_unavailable, hostname }

/** Returns the settings of the spam filter; undefined if there is none. */
export const spamFilterOptions = ({ inbound }: Config) =>
  inbound.rspamd_url === undefined
    ? undefined
    : { url: inbound.rspamd_url, unavailable: inbound.rspamd_unavailable }

/** Returns the retention periods, and the disk budget in bytes. */
export function retentionPeriods({ retention }: Config): RetentionPeriods {
  const { bodies_days, attempts_days, events_days, emails_days, disk_budget_mb: budget } = retention
  return {
    bodiesDays: bodies_days,
    attemptsDays: attempts_days,
    eventsDays: events_days,
    emailsDays: emails_days,
    diskBudget: budget === undefined ? null : budget * 1_000_000,
  }
}

/** Returns the data of GET /retention. */
export function loadRetention({
  config,
  storage,
  clock,
}: {
  config: Config
  storage: Storage
  clock: Clock
}) {
  const { bodiesDays, attemptsDays, eventsDays, emailsDays, diskBudget: budget } = retentionPeriods(config)
  const logs = config.logs.retention_days
  const others = { webhooks: config.webhooks.retention_days, audit: config.retention.audit_days }
  return {
    days: {
      bodies: bodiesDays,
      attempts: attemptsDays,
      events: eventsDays,
      emails: emailsDays,
      logs,
      ...others,
    },
    async disk() {
      const onDisk = (await readDiskSpace(config.data_dir))?.free ?? 0
      return reportDiskUsage(storage, clock, { budget, onDisk })
    },
  }
}
