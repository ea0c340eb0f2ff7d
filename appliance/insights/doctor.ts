/** `doctor`: checks everything that decides whether the server's mail gets out and is accepted. */
import type { Blocklist } from '../config/config.ts'
import type { Resolver } from '../dns/dns.ts'
import { FINDING_STATUSES, type Finding } from '../mail/finding.ts'
import { toNodeViews } from '../mail/node-view.ts'
import { AUTO_IP, type Source } from '../mail/source.ts'
import { getRegistrableDomain } from '../senders/records.ts'
import type { Domain } from '../storage/storage.ts'
import {
  listAddresses,
  isPublicAddress,
  lookUpHost,
  determineVisibleAddresses,
  type HostAnswers,
  queryBlocklist,
  evaluateListing,
  summarizeListings,
  listTeamDomains,
  listReturnPaths,
  type OtherTeam,
  type TeamDomain,
  checkSource,
  evaluateSpf,
  explainHeloSpf,
} from '../sources/sources.ts'
import { checkBodies } from './bodies.ts'
import { checkIssuance, evaluateCertificate, readCertificates } from './certificate.ts'
import { probeAddress } from './connect.ts'
import { evaluateForecast, measureForecast } from './disk-forecast.ts'
import { evaluateDisk, measureDisk } from './disk.ts'
import { evaluateDomain, lookUpDomain } from './domains.ts'
import { evaluateHelo, evaluateHostAddresses } from './helo.ts'
import { evaluateListeners, probeListener, type Listener } from './listeners.ts'
import { checkNameserver } from './nameserver.ts'
import { examineCluster } from './node-versions.ts'
import { evaluatePort25, probePort25 } from './port25.ts'
import { evaluateResponses, evaluateCaching, evaluateValidation, queryResolver } from './resolver.ts'
import { probePublicMx, evaluatePublicMx } from './public-mx.ts'
import { pingMilter, pingSpamFilter, evaluateMilter, evaluateSpamFilter } from './spam-filter.ts'
import { fetchTime, evaluateTime } from './time.ts'
import { listMachineAddresses } from '../wire/networks.ts'
import { type DoctorDeps, type Machine } from './doctor-deps.ts'

/** Sorts findings: failures first, otherwise in the order of the checks. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  const rank = ({ status }: Finding): number => FINDING_STATUSES.indexOf(status)
  return findings.toSorted((a, b) => rank(a) - rank(b))
}

/**
 * Runs all checks, or checks the records and blocklists of one domain; failures first. Problems never make it reject.
 *
 * @param tell called with the findings of each group as soon as they are known
 */
export async function runChecks(
  deps: DoctorDeps,
  only?: Domain,
  tell: (findings: Finding[]) => void = () => undefined,
): Promise<Finding[]> {
  const known = await readStorage(deps)
  if (only) return sortFindings(await examineDomain(deps, only, true))
  tell(known.findings)
  const looks = [
    ...known.sources.map((source) => examineSource(deps, source, known.domains)),
    examineNames(deps, known.sources),
    examineResolver(deps),
    examineMachine(deps),
    examineForecast(deps),
    examineSpamFilter(deps),
    examineMilters(deps),
    checkNameserver(deps),
    'unavailable' in deps.storage ? [] : examineCluster(deps.storage, deps.clock.now()),
    examineBodies(deps),
    // The blocklists for the host's own domain are queried with its host name.
    ...known.domains.map(({ domain, otherTeam }) =>
      examineDomain(
        deps,
        domain,
        getRegistrableDomain(domain.name) !== getRegistrableDomain(deps.host.hostname),
        otherTeam,
      ),
    ),
  ]
  const groups = await Promise.all(
    looks.map(async (look) => {
      const findings = await look
      tell(findings)
      return findings
    }),
  )
  return sortFindings([...known.findings, ...groups.flat()])
}

interface Known {
  sources: Pick<Source, 'ip' | 'hostname' | 'state' | 'stateReason'>[]
  domains: TeamDomain[]
  findings: Finding[]
}

/** Returns the facts that the configuration alone provides, if the storage can't be read. */
function withoutStorage({ config }: DoctorDeps, reason: string | null): Known {
  const ips = config.delivery.source_ips.length > 0 ? config.delivery.source_ips : [AUTO_IP]
  return {
    sources: ips.map((ip) => ({ ip, hostname: null, state: 'active', stateReason: null })),
    domains: [],
    findings: [reason === null ? notStored : brokenStorage(reason, config.storage.engine)],
  }
}

const notStored: Finding = {
  id: 'storage',
  title: 'Storage',
  status: 'skipped',
  found: 'Nothing is stored yet, so there are no domains or sending IPs to check.',
  advice: null,
}

const brokenStorage = (reason: string, engine: DoctorDeps['config']['storage']['engine']): Finding => ({
  id: 'storage',
  title: 'Storage',
  status: 'failed',
  found: `${reason} Domains and sending IPs cannot be checked without it.`,
  advice: `The server cannot accept mail until the storage opens. ${engine === 'sqlite' ? 'Check the disk and the owner of data_dir.' : 'Nothing accepted is lost.'}`,
})

async function readStorage(deps: DoctorDeps): Promise<Known> {
  const { storage, clock } = deps
  if ('unavailable' in storage) return withoutStorage(deps, storage.unavailable)
  const domains = await listTeamDomains(storage, { everyTeam: deps.everyTeam === true }, clock.now())
  const sources = await storage.listSources({ nodeId: deps.nodeId }, clock.now())
  const findings = [...sources.flatMap(suspension), ...(await lostNodes(deps))]
  // Nothing is stored before the daemon's first start.
  if (sources.length > 0) return { sources, domains, findings }
  return { ...withoutStorage(deps, null), domains, findings }
}

/** Warns of lost nodes. */
async function lostNodes({ storage, nodeId, clock }: DoctorDeps): Promise<Finding[]> {
  if (nodeId === undefined || 'unavailable' in storage) return []
  const now = clock.now()
  const nodes = toNodeViews((await storage.listNodes?.({}, now)) ?? [], nodeId, now)
  return nodes
    .filter(({ state }) => state === 'lost')
    .map(({ id, name, reasons }) => ({
      id: `node:${id}`,
      title: `Node ${name}`,
      status: 'warning',
      found: reasons.join(' '),
      advice: `Start it. If it will not return: posthaste node forget ${name}`,
    }))
}

function suspension({ ip, state, stateReason, suspendedBy }: Source): Finding[] {
  if (state === 'active') return []
  const advice = suspendedBy === 'operator' ? `To use it again: posthaste source resume ${ip}.` : null
  return [
    {
      id: `suspended:${ip}`,
      title: `Source ${ip}`,
      status: 'warning',
      found: `It is suspended, so no mail is sent from it: ${stateReason ?? ''}`,
      advice: advice ?? 'It resumes automatically when the cause is fixed.',
    },
  ]
}

const machineOf = ({ machine = {} }: DoctorDeps): Machine => ({
  local: listMachineAddresses,
  isPublic: isPublicAddress,
  probe: probeAddress,
  dialMs: undefined,
  pauseMs: undefined,
  ...machine,
})

async function examineSource(
  deps: DoctorDeps,
  source: Known['sources'][number],
  domains: readonly TeamDomain[],
): Promise<Finding[]> {
  const { resolver, targets, blocklists, config } = deps
  const machine = machineOf(deps)
  const [tries, health] = await Promise.all([
    probePort25(resolver, targets.port25, source.ip, machine.dialMs),
    checkSource(source, {
      resolver,
      blocklists,
      hostname: config.hostname,
      ...machine,
      returnPaths: listReturnPaths(domains),
    }),
  ])
  const listings = health.findings.filter(({ id }) => id.startsWith('blocklist:'))
  const others = health.findings.filter((one) => !listings.includes(one))
  const addresses = new Set(listings.map(({ title }) => title.slice(title.lastIndexOf(': ') + 2)))
  const summaries = [...addresses].flatMap((ip) =>
    summarizeListings(
      ip,
      listings.filter(({ id }) => id.endsWith(`:${ip}`)),
    ),
  )
  return [
    evaluatePort25(source.ip, tries),
    ...others,
    ...summaries,
    ipv6Finding(source.ip, health.ipv6),
  ].filter((one) => one !== null)
}

/** Checks PTR and SPF for IPv6; null if IPv6 isn't used. */
function ipv6Finding(ip: string, ipv6: boolean | null): Finding | null {
  const about = { id: `ipv6:${ip}`, title: `IPv6 from ${ip === AUTO_IP ? 'this machine' : ip}` }
  if (ipv6 === null && ip !== AUTO_IP) return null
  if (ipv6 === null)
    return {
      ...about,
      status: 'skipped',
      found: 'There is no public IPv6 address to check. Mail is sent over IPv4.',
      advice: null,
    }
  return ipv6
    ? {
        ...about,
        status: 'ok',
        found: 'Reverse DNS and SPF pass, so mail is also sent over IPv6.',
        advice: null,
      }
    : {
        ...about,
        status: 'warning',
        found: 'Not used: its reverse DNS or SPF check fails, and large providers refuse such mail.',
        advice:
          'To use IPv6, fix the findings about its reverse DNS and SPF. Otherwise mail is sent over IPv4.',
      }
}

async function examineNames(deps: DoctorDeps, sources: Known['sources']): Promise<Finding[]> {
  const { resolver, config, blocklists } = deps
  const { local, isPublic } = machineOf(deps)
  const names = [...new Set([config.hostname, ...sources.flatMap(({ hostname }) => hostname ?? [])])]
  const hosts = await Promise.all(names.map((name) => lookUpHost(resolver, name)))
  const seen = sources.flatMap(({ ip }) => determineVisibleAddresses(ip, hosts[0]!, local(), isPublic))
  const listings = await examineListings(resolver, blocklists, config.hostname)
  const spf = await Promise.all(hosts.map((host) => examineHeloSpf(deps, host, sources)))
  return [...hosts.map(evaluateHelo), ...spf.flat(), evaluateHostAddresses(hosts[0]!, seen), ...listings]
}

/**
 * Checks the SPF record of the HELO name for the addresses that use it. Skips names that don't resolve, which
 * evaluateHelo reports.
 */
async function examineHeloSpf(
  deps: DoctorDeps,
  host: HostAnswers,
  sources: Known['sources'],
): Promise<Finding[]> {
  const { resolver, config } = deps
  const { local, isPublic } = machineOf(deps)
  const { name } = host
  const ips = sources
    .filter(({ hostname }) => (hostname ?? config.hostname) === name)
    .flatMap(({ ip }) => determineVisibleAddresses(ip, host, local(), isPublic).map((seen) => seen.ip))
  if (listAddresses(host).length === 0 || ips.length === 0) return []
  const facts = [...new Set(ips)].map((ip) => evaluateSpf(resolver, { ip, domain: name, helo: name }))
  return [explainHeloSpf(name, await Promise.all(facts))]
}

/** Domain blocklists contain registered domains and subdomains. */
async function examineListings(
  resolver: Resolver,
  blocklists: readonly Blocklist[],
  name: string,
): Promise<Finding[]> {
  const zone = getRegistrableDomain(name)
  const lists = blocklists.filter((list) => list.lists === 'domains')
  const asked = await Promise.all(lists.map((list) => queryBlocklist(resolver, list, zone)))
  return summarizeListings(zone, asked.map(evaluateListing))
}

async function examineDomain(
  deps: DoctorDeps,
  domain: Domain,
  listed: boolean,
  team: OtherTeam | null = null,
): Promise<Finding[]> {
  const { storage, resolver, host, clock, blocklists } = deps
  const keys = 'unavailable' in storage ? [] : await storage.dkimKeys({ domainId: domain.id }, clock.now())
  const [seen, listings] = await Promise.all([
    lookUpDomain(resolver, domain, keys, host),
    listed ? examineListings(resolver, blocklists, domain.name) : [],
  ])
  return [evaluateDomain(domain, seen, team), ...listings]
}

async function examineResolver(deps: DoctorDeps): Promise<Finding[]> {
  const { freshResolver, targets, config } = deps
  const facts = await queryResolver(freshResolver, targets.resolver, machineOf(deps).pauseMs)
  return [evaluateResponses(facts), evaluateCaching(facts), evaluateValidation(facts, config.dns.trust_ad)]
}

async function examineSpamFilter({ config: { inbound } }: DoctorDeps): Promise<Finding[]> {
  const { rspamd_url: url, rspamd_unavailable: unavailable } = inbound
  return url === undefined ? [] : [evaluateSpamFilter(await pingSpamFilter(url), { url, unavailable })]
}

const examineMilters = ({ config: { inbound } }: DoctorDeps): Promise<Finding[]> =>
  Promise.all(
    inbound.milters.map(async (milter) =>
      evaluateMilter(await pingMilter(milter), { milter, unavailable: inbound.milter_unavailable }),
    ),
  )

const examineBodies = async ({ storage, config }: DoctorDeps): Promise<Finding[]> =>
  'unavailable' in storage || !storage.probeBodies
    ? []
    : checkBodies({ probeBodies: storage.probeBodies }, config.storage.bodies)

/** Forecasts the disk usage; empty if the usage is unknown. */
async function examineForecast({ storage, clock, config }: DoctorDeps): Promise<Finding[]> {
  // The disk of a database server can't be measured.
  if ('unavailable' in storage || config.storage.engine === 'postgres') return []
  const facts = await measureForecast({ storage, clock, config })
  return facts === null ? [] : [evaluateForecast(facts)]
}

async function examineMachine({ config, clock, targets }: DoctorDeps): Promise<Finding[]> {
  const { hostname, data_dir, http, smtp, acme, nameserver } = config
  const listeners: Listener[] = [
    ...(['listen', 'tls_listen', 'admin_listen', 'admin_tls_listen'] as const).flatMap((key) =>
      http[key].map((address): Listener => ({ address, setting: `http.${key}` })),
    ),
    ...(acme.agree_terms ? acme.http_listen : []).map((address): Listener => ({
      address,
      setting: 'acme.http_listen',
    })),
    ...nameserver.listen.map((address): Listener => ({ address, setting: 'nameserver.listen' })),
    ...smtp.starttls.map((address): Listener => ({ address, setting: 'smtp.starttls' })),
    ...smtp.implicit_tls.map((address): Listener => ({ address, setting: 'smtp.implicit_tls' })),
  ]
  const [time, disk, shown, attempts, answered, mx] = await Promise.all([
    Promise.all(targets.clock.map((origin) => fetchTime(origin))),
    measureDisk(data_dir),
    readCertificates(config),
    checkIssuance(config),
    Promise.all(listeners.map((listener) => probeListener(listener, hostname))),
    probePublicMx(smtp, hostname),
  ])
  const now = clock.now()
  return [
    evaluateTime(time, now),
    evaluateDisk(disk),
    ...shown.map(({ facts, hostname: name }) => evaluateCertificate(facts, name, now)),
    ...attempts,
    evaluateListeners(answered.filter((one) => one !== null)),
    evaluatePublicMx(mx, hostname),
  ]
}
