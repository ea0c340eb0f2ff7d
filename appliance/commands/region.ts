/** Commands that show regions and preview fail-overs. */
import { presentFailoverPreview, presentRegion } from '../api/regions.ts'
import { presentList } from '../api/shared.ts'
import { toNodeViews } from '../mail/node-view.ts'
import { createRegionOverview, type RegionOverview } from '../sources/sources.ts'
import type { Context } from './context.ts'
import { formatInstant, formatTable, wrapParagraph } from './output.ts'
import type { Registrar } from './registrar.ts'

/** Registers `region`. */
export function registerRegionCommands({ group, add, does, doesWith }: Registrar): void {
  const regions = group('region', 'Show regions and their fail-over')
  add('list', 'List regions, their pools and nodes, and where their mail leaves from', regions).action(
    does(listRegions),
  )
  add('preview', 'Check whether SPF records allow another region to send the mail of a region', regions)
    .argument('<region>', 'Name from the list')
    .option('--to <region>', 'The other region (default: failover.region of its nodes)')
    .action(doesWith(previewFailover))
}

type RegionContext = Pick<Context, 'config' | 'storage' | 'clock' | 'resolver' | 'output'>

const overviewOf = ({ config, storage, clock, resolver }: RegionContext): RegionOverview =>
  createRegionOverview({
    storage,
    clock,
    resolver,
    listNodes: async () =>
      config.storage.engine === 'postgres'
        ? toNodeViews(await storage.listNodes({}, clock.now()), null, clock.now())
        : [],
  })

/** `region list`: prints the regions. */
async function listRegions(context: RegionContext): Promise<void> {
  const { output } = context
  const regions = await overviewOf(context).list()
  output.object(presentList(regions.map(presentRegion)))
  const rows = regions.map(({ name, pools, alive, gone, domains, failover, active }) => [
    name,
    pools.join(', ') || '-',
    [...alive, ...gone.map((one) => `${one} (gone)`)].join(', ') || '-',
    String(domains),
    failover?.region ?? '-',
    active ? `${active.region} since ${formatInstant(active.since)}` : name,
  ])
  output.text(...formatTable(['REGION', 'POOLS', 'NODES', 'DOMAINS', 'FAIL-OVER', 'SENDS FROM'], rows))
  if (regions.length === 0) output.text('No regions. Put a pool in one: posthaste source region')
}

/** `region preview`: prints for each domain of a region whether its SPF record covers another region. */
async function previewFailover(
  context: RegionContext,
  [region]: string[],
  { to }: { to?: string },
): Promise<void> {
  const { output } = context
  const seen = await overviewOf(context).preview(region!.toLowerCase(), to?.toLowerCase())
  const preview = presentFailoverPreview(seen)
  output.object(preview)
  const { pool, ips, domains, total } = preview
  if (pool === null) {
    output.text(`No pool is in ${seen.target}, so the mail of ${seen.region} waits.`)
    return
  }
  const from = ips.length === 0 ? 'no known IP' : ips.join(', ')
  output.text(...wrapParagraph(`Mail of ${seen.region} would leave from ${from} (pool ${pool}).`))
  if (total === 0) {
    output.text(`No mail leaves from ${seen.region}.`)
    return
  }
  const rows = domains.map(({ name, covered, results }) => [
    covered ? 'covered' : 'not covered',
    name,
    results
      .filter(({ result }) => result !== 'pass')
      .map(({ ip, result }) => `${ip}: ${result}`)
      .join(', ') || '-',
  ])
  output.text('', ...formatTable(['SPF', 'DOMAIN', 'NOT COVERED'], rows))
  if (total > domains.length) output.text(`${total - domains.length} more domains were not checked.`)
}
