import { refuse } from '../mail/refusals.ts'
import type { Assignment, Source } from '../mail/source.ts'
import { presentAssignment, presentPool, presentSource } from '../api/sources.ts'
import { presentDeleted, presentList } from '../api/shared.ts'
import type { Context } from './context.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'

/** `source list`: prints the sending IPs with their last check, then the pool assignments. */
export async function listSources({ sources, output }: Context): Promise<void> {
  await sources.reconcile()
  const [found, assignments] = [await sources.list(), await sources.assignments()]
  output.object(presentList(found.map(presentSource)))
  const rows = found.map((source) => [
    source.pool,
    source.ip,
    source.state,
    source.hostname ?? '-',
    source.warmUpSince === null ? 'warm' : `since ${formatInstant(source.warmUpSince)}`,
    formatInstant(source.checkedAt),
  ])
  output.text(...formatTable(['POOL', 'ADDRESS', 'STATE', 'EHLO NAME', 'WARM-UP', 'CHECKED'], rows))
  output.text(...found.flatMap(describeTrouble))
  if (assignments.length > 0) output.text('', ...describeAssignments(assignments))
}

/** `source assignments`: prints which mail uses which pool. */
export async function listAssignments({ sources, output }: Context): Promise<void> {
  const assignments = await sources.assignments()
  output.object(presentList(assignments.map(presentAssignment)))
  const none = ['No assignments. All mail uses the pool default.']
  output.text(...(assignments.length === 0 ? none : describeAssignments(assignments)))
}

/** `source pools`: prints the pools with their regions. */
export async function listPools({ sources, output }: Context): Promise<void> {
  await sources.reconcile()
  const pools = await sources.pools()
  output.object(presentList(pools.map(presentPool)))
  const rows = pools.map(({ name, region, sources: ips }) => [name, region ?? '-', ips.join(', ') || '-'])
  output.text(...formatTable(['POOL', 'REGION', 'SENDING IPS'], rows))
}

/** `source region`: puts a pool in a region; `-` removes it from its region. */
export async function setPoolRegion({ sources, output }: Context, [pool, given]: string[]): Promise<void> {
  await sources.reconcile()
  const { name, region, ...rest } = await sources.setPoolRegion(pool!, given === '-' ? null : given!)
  output.object(presentPool({ name, region, ...rest }))
  output.text(
    ...wrapParagraph(
      region === null
        ? `The pool ${name} is in no region.`
        : `The pool ${name} is in ${region}. New mail of domains in this region is sent from it.`,
    ),
  )
}

/** Returns the reason why a sending IP is suspended, and the problems of its last check. */
function describeTrouble({ ip, stateReason, health }: Source): string[] {
  const wrong = (health?.findings ?? []).filter(({ status }) => status === 'failed' || status === 'warning')
  const reason = stateReason === null ? [] : [`Suspended: ${stateReason}`]
  const lines = [...reason, ...wrong.filter(({ found }) => found !== stateReason).map(({ found }) => found)]
  return lines.flatMap((line) => ['', ...wrapParagraph(`${ip}: ${line}`)])
}

function describeAssignments(assignments: readonly Assignment[]): string[] {
  return formatTable(
    ['POOL', 'TEAM', 'DOMAIN', 'STREAM', 'ID'],
    assignments.map(({ pool, teamId, domainId, stream, id }) => [
      pool,
      teamId ?? 'any',
      domainId ?? 'any',
      stream ?? 'any',
      id,
    ]),
  )
}

/** The options of `source add`. */
export interface AddSourceOptions {
  pool?: string
  hostname?: string
  warmUp?: boolean
}

/** Runs `source add`. */
export async function addSource(
  { sources, output }: Context,
  [ip]: string[],
  { pool, hostname, warmUp }: AddSourceOptions,
): Promise<void> {
  const source = await sources.add({ ip: ip!, pool, hostname, warmUp })
  output.object(presentSource(source))
  output.text(
    ...wrapParagraph(
      `Added ${source.ip} to the pool ${source.pool}. The daemon starts using it within a minute.`,
    ),
    ...wrapParagraph(
      'Add it to the SPF records of all domains (posthaste domain show prints them). Its PTR record must match its EHLO name in both directions.',
    ),
  )
}

/** Runs `source remove`. */
export async function removeSource({ sources, output }: Context, [ip]: string[]): Promise<void> {
  const source = await sources.remove(ip!)
  output.object({ object: 'source', ip: source.ip, deleted: true })
  output.text(`Removed ${source.ip}. No more mail is sent from it.`)
}

/** Runs `source suspend`. */
export async function suspendSource({ sources, output }: Context, [ip]: string[]): Promise<void> {
  const source = await sources.change(ip!, { suspended: true })
  output.object(presentSource(source))
  output.text(`Suspended ${source.ip}. To resume, run: posthaste source resume ${source.ip}`)
}

/** Runs `source resume`. */
export async function resumeSource({ sources, output }: Context, [ip]: string[]): Promise<void> {
  const source = await sources.change(ip!, { suspended: false })
  output.object(presentSource(source))
  output.text(`Resumed ${source.ip}. The next check may suspend it again.`)
}

/** Runs `source pool`. */
export async function setSourcePool({ sources, output }: Context, [ip, pool]: string[]): Promise<void> {
  const source = await sources.change(ip!, { pool: pool! })
  output.object(presentSource(source))
  output.text(`${source.ip} is now in the pool ${source.pool}.`)
}

/** `source hostname`: `-` resets it to the server's own name. */
export async function setSourceHostname({ sources, output }: Context, [ip, name]: string[]): Promise<void> {
  const source = await sources.change(ip!, { hostname: name === '-' ? null : name })
  output.object(presentSource(source))
  output.text(`The EHLO name of ${source.ip} is now ${source.hostname ?? "the server's hostname"}.`)
}

/** `source warm-up`: starts or ends a warm-up. */
export async function setSourceWarmUp(
  { sources, output }: Context,
  [ip]: string[],
  { end = false }: { end?: boolean },
): Promise<void> {
  const source = await sources.change(ip!, { warmUp: !end })
  output.object(presentSource(source))
  output.text(
    source.warmUpSince === null
      ? `${source.ip} is not being warmed up and has no daily limit.`
      : `${source.ip} has been warming up since ${formatInstant(source.warmUpSince)} UTC.`,
  )
}

/** The mail that `source assign` applies to. */
export interface AssignOptions {
  domain?: string
  stream?: string
}

/** `source assign`: the pool is used for all mail; with `--team` only, for all mail of the team. */
export async function assignPool(
  { sources, senders, team, namedTeam, output }: Context,
  [pool]: string[],
  { domain: name, stream }: AssignOptions,
): Promise<void> {
  const teamId = (await namedTeam())?.id
  const domain =
    name === undefined ? undefined : await senders.findDomain({ teamId: (await team()).id, name })
  if (name !== undefined && !domain) throw refuse('not_found', { resource: `Domain ${name}` })
  await sources.reconcile()
  const assignment = await sources.assign({ teamId, domainId: domain?.id, stream, pool: pool! })
  output.object(presentAssignment(assignment))
  output.text(`Assigned the mail to the pool ${assignment.pool} (${assignment.id}).`)
}

/** Runs `source unassign`. */
export async function unassignPool({ sources, output }: Context, [id]: string[]): Promise<void> {
  await sources.unassign(id!)
  output.object(presentDeleted('pool_assignment', id!))
  output.text('Removed the assignment.')
}
