import { Type, type Static } from 'typebox'
import type { FailoverPreview as Preview, RegionView } from '../mail/region.ts'
import { operationsIn } from './operation.ts'
import { path, pathText, query, text } from './parameters.ts'
import { array, boolean, integer, kind, Nullable, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const Name = (description: string) => string(description, { examples: ['eu-west-1'] })
const Names = (description: string, example: string) =>
  array(Type.String(), description, { examples: [[example]] })

/** An element of GET /regions. Not part of the hosted API. */
export const Region = object('A region of nodes, pools or domains.', {
  object: kind('region'),
  name: Name('The region.'),
  pools: Names('Its pools. Its mail is sent from the first one.', 'default'),
  nodes: object('Its nodes.', {
    alive: Names('Names of nodes that send mail.', 'mail1'),
    gone: Names('Names of nodes that are stopped or lost.', 'mail2'),
  }),
  domains: integer('Number of domains of all teams that chose it.'),
  fail_over: Nullable(
    object('Its fail-over.', {
      region: Name('The region that then sends its mail.'),
      after_seconds: integer('How long all its nodes must be gone before that.'),
    }),
    'What happens when all its nodes are gone. Null: its mail waits.',
  ),
  failed_over: Nullable(
    object('The fail-over that is in effect.', {
      region: Name('The region that sends its mail.'),
      since: Timestamp,
    }),
    'Where its mail leaves from now. Null: from the region itself.',
  ),
})
export type Region = Static<typeof Region>
export const RegionList = listOf(Region, 'regions', 'All regions, by name.')

/** GET /regions/:region/failover */
export const FailoverPreview = object('What a fail-over would mean for SPF.', {
  object: kind('failover_preview'),
  region: Name('The region whose nodes would be gone.'),
  to: Name('The region that would send its mail.'),
  pool: Nullable(Type.String(), {
    description: 'The pool that its mail would be sent from; null: no pool is in that region.',
    examples: ['default'],
  }),
  ips: Names('The IPs that receivers would see.', '192.0.2.7'),
  domains: array(
    object('A domain whose mail leaves from the region.', {
      id: Id,
      name: string('The domain.', { examples: ['example.com'] }),
      team_id: Id,
      return_path: string('The domain whose SPF record receivers check.', { examples: ['send.example.com'] }),
      covered: boolean('Whether the SPF record covers all the IPs.'),
      results: array(
        object('The result for an IP.', {
          ip: string('The IP.', { examples: ['192.0.2.7'] }),
          result: string(
            'The result of SPF: `pass`, `fail`, `softfail`, `neutral`, `none`, `temperror` or `permerror`.',
            { examples: ['pass'] },
          ),
        }),
        'The result for each IP.',
      ),
    }),
    'Domains of all teams whose mail leaves from the region: at most 500, and only those checked within 20 seconds.',
  ),
  total: integer('Number of all such domains.'),
})
export type FailoverPreview = Static<typeof FailoverPreview>

const operation = operationsIn('Sources')

export const listRegions = operation('GET /regions', {
  summary: 'List regions',
  description:
    'The regions of nodes, pools and domains, and whether one is failed over to another. For the team that operates the server. Not part of the hosted API.',
  response: { 200: RegionList },
})
export const previewFailover = operation('GET /regions/:region/failover', {
  summary: 'Preview a fail-over',
  description:
    'Looks up, for each domain whose mail leaves from the region, whether its SPF record covers the IPs of the other region. Changes nothing.',
  params: path({ region: pathText('The region.') }),
  querystring: query({
    to: text(string('The other region. Default: the one that its nodes name in `failover.region`.')),
  }),
  response: { 200: FailoverPreview },
})

/** Formats an element of GET /regions and of `region list`. */
export function presentRegion(view: RegionView): Region {
  const { name, pools, alive, gone, domains, failover, active } = view
  return {
    object: 'region',
    name,
    pools,
    nodes: { alive, gone },
    domains,
    fail_over: failover && { region: failover.region, after_seconds: Math.round(failover.afterMs / 1000) },
    failed_over: active && { region: active.region, since: timestamp(active.since) },
  }
}

/** Formats the response of GET /regions/:region/failover. */
export function presentFailoverPreview({
  region,
  target,
  pool,
  ips,
  domains,
  total,
}: Preview): FailoverPreview {
  return {
    object: 'failover_preview',
    region,
    to: target,
    pool,
    ips,
    domains: domains.map(({ id, name, teamId, returnPath, results }) => ({
      id,
      name,
      team_id: teamId,
      return_path: returnPath,
      covered: results.length > 0 && results.every(({ result }) => result === 'pass'),
      results,
    })),
    total,
  }
}
