import { systemClock, type Clock } from '../clock/clock.ts'
import { findConfig, type Config } from '../config/config.ts'
import type { DoctorDeps } from '../insights/insights.ts'
import type { Finding, FindingStatus } from '../mail/finding.ts'
import { refuse } from '../mail/refusals.ts'
import { listSpfSources } from '../mail/source.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import { presentDoctorReport } from '../api/doctor.ts'
import {
  Failure,
  createLazyResolver,
  openStorage,
  reportFailure,
  createCommandResolver,
  requireValidConfig,
  type Adapters,
  type CommonOptions,
} from './context.ts'
import { createOutput, wrapParagraph, truncate } from './output.ts'

/** `doctor`: checks everything that affects delivery. Works without a daemon, and with a storage that doesn't open. */
export async function runDoctor(
  options: CommonOptions & { domain?: string },
  adapters: Adapters,
): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const { sandbox, loaded } = findConfig({ file: options.config, env: process.env })
    const { config } = requireValidConfig(loaded)
    await using opened = new AsyncDisposableStack()
    const clock = systemClock
    const storage = await tryStorage(adapters, config, opened)
    const open = (await adapters()).createDoctor(config)
    const fresh = await createCommandResolver(adapters, config, clock, sandbox)
    const resolver = createLazyResolver(() => Promise.resolve(fresh()))
    opened.defer(() => resolver.close())
    const host = { hostname: config.hostname, sourceIps: await sourceIps(config, storage, clock) }
    const domain = options.domain === undefined ? undefined : await named(storage, options.domain, clock)
    const findings = await open(
      { storage, resolver, freshResolver: fresh, clock, host, everyTeam: true },
      domain,
    )
    output.object(presentDoctorReport(findings, clock.now()))
    if (sandbox) output.text(...SANDBOX)
    output.text(...describeFindings(findings))
    return findings.some(({ status }) => status === 'failed') ? 1 : 0
  })
}

type Unavailable = Extract<DoctorDeps['storage'], { unavailable: unknown }>

/**
 * Opens the storage. A broken storage is reported as a finding; a missing one isn't created, because the daemon does
 * that.
 */
async function tryStorage(
  adapters: Adapters,
  config: Config,
  opened: AsyncDisposableStack,
): Promise<Storage | Unavailable> {
  if (!(await adapters()).hasStorage(config)) return { unavailable: null }
  try {
    const storage = await openStorage(adapters, config)
    opened.defer(() => storage.close())
    return storage
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { unavailable: error.message }
  }
}

async function sourceIps(
  { delivery }: Config,
  storage: DoctorDeps['storage'],
  clock: Clock,
): Promise<string[]> {
  return listSpfSources(
    delivery.source_ips,
    'unavailable' in storage ? [] : await storage.listSources({}, clock.now()),
  )
}

async function named(storage: Storage | Unavailable, name: string, clock: Clock): Promise<Domain> {
  const now = clock.now()
  if ('unavailable' in storage)
    throw new Failure(storage.unavailable ?? 'There are no domains: Posthaste has not been set up.')
  const teams = await storage.listTeams({}, now)
  const domains = await Promise.all(teams.map(({ id }) => storage.listDomains({ teamId: id }, now)))
  const called = domains.flat().filter((one) => one.name === name.toLowerCase())
  // Several teams may have added the domain, but at most one can have verified it.
  const found = called.find(({ status }) => status === 'verified') ?? called[0]
  if (!found) throw refuse('not_found', { resource: `Domain ${name}` })
  return found
}

const SANDBOX = [
  ...wrapParagraph(
    'This is the sandbox: its domains are simulated and no mail leaves the machine. The checks below show how this machine would do with real mail and a configuration file (docs/operations.md).',
  ),
  '',
]

const WORDS: Record<FindingStatus, string> = {
  failed: 'FAILED',
  warning: 'WARNING',
  skipped: 'skipped',
  ok: 'ok',
}
const INDENT = 9

/** Formats the findings: problems in full, passed checks on one line each, and a summary. */
export function describeFindings(findings: readonly Finding[]): string[] {
  const count = (status: FindingStatus): number => findings.filter((one) => one.status === status).length
  const warnings = count('warning') === 1 ? '1 warning' : `${count('warning')} warnings`
  return [
    ...findings.flatMap(describeFinding),
    '',
    `${count('failed')} failed, ${warnings}, ${count('skipped')} skipped, ${count('ok')} ok`,
  ]
}

function describeFinding({ status, title, found, advice }: Finding): string[] {
  const head = WORDS[status].padEnd(INDENT)
  if (status === 'ok' && advice === null) return [truncate(`${head}${title}: ${found}`, 80)]
  return [
    `${head}${title}`,
    ...wrapParagraph(found, INDENT),
    ...(advice === null ? [] : wrapParagraph(`-> ${advice}`, INDENT)),
  ]
}
