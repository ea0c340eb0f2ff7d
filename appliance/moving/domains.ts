import { HOSTED_REGIONS } from '../mail/region.ts'
import type { NewDomainArgs } from '../senders/senders.ts'
import type { Domain } from '../storage/storage.ts'
import { parseHostedDomain, listSelectors, stringOrNull, type HostedDomain } from './objects.ts'
import {
  tryAdd,
  countSkipped,
  type MoveDeps,
  type MovedDomain,
  type MoveReport,
  type MoveCount,
} from './report.ts'

/** Adds the hosted service's domains with new DKIM keys. Existing ones stay as they are. */
export async function moveDomains(deps: MoveDeps, report: MoveReport, count: MoveCount): Promise<void> {
  const { hosted, senders, teamId } = deps
  for await (const summary of hosted.list('/domains')) {
    count.there += 1
    const [id, name] = [stringOrNull(summary.id), stringOrNull(summary.name)]
    if (id === null || name === null) {
      countSkipped(count, 'a domain', 'the hosted API returned no ID or name for it')
      continue
    }
    const theirs = parseHostedDomain(await hosted.get(`/domains/${encodeURIComponent(id)}`), name)
    const here = await senders.findDomain({ teamId, name })
    if (here) {
      count.present += 1
      report.domains.push(await told(deps, here, theirs))
    } else await tryAdd(count, name, () => addOne(deps, theirs, report, count))
  }
}

async function addOne(
  deps: MoveDeps,
  theirs: HostedDomain,
  report: MoveReport,
  count: MoveCount,
): Promise<void> {
  const { senders, options, made } = deps
  const args = argsOf(deps, theirs)
  if (options.dryRun) {
    senders.checkDomain(args)
    remark(theirs, count)
    return
  }
  const domain = await senders.addDomain(args)
  await made({ kind: 'domain', domain })
  remark(theirs, count)
  report.domains.push(await told(deps, domain, theirs))
}

/**
 * Builds the arguments for a domain. Using the same selector would invalidate signatures that the hosted service still
 * makes, so the new key gets a different one.
 */
function argsOf({ teamId, options }: MoveDeps, theirs: HostedDomain): NewDomainArgs {
  const { name, region, settings } = theirs
  return {
    teamId,
    name,
    settings,
    region: region !== null && isKnown(region) ? region : undefined,
    returnPath: options.returnPath ?? theirs.returnPath ?? undefined,
    takenSelectors: listSelectors(theirs).filter((selector) => selector.startsWith('posthaste')),
  }
}

const isKnown = (region: string): boolean => HOSTED_REGIONS.some((one) => one === region)

function remark({ name, region, settings }: HostedDomain, count: MoveCount): void {
  const note = (text: string) => count.notes.push({ what: name, text })
  if (region !== null && !isKnown(region))
    note(`its region ${region.slice(0, 40)} does not exist here; it is set to ${HOSTED_REGIONS[0]}`)
  if (settings.receiving) note('it receives mail there: publish the Receiving record here when you move it')
}

async function told({ senders }: MoveDeps, domain: Domain, { records }: HostedDomain): Promise<MovedDomain> {
  const [expected, keys] = [await senders.expectedRecords(domain), await senders.dkimKeys(domain)]
  return { domain, records: expected, keys, theirs: records }
}
