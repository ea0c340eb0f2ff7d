/** Lists the domains to check, and the domains of their envelope senders. */
import type { Domain, Storage } from '../storage/storage.ts'

/** A team other than the operator's. */
export interface OtherTeam {
  id: string
  name: string
}

/** A domain and its team; null for the operator's team. */
export interface TeamDomain {
  domain: Domain
  otherTeam: OtherTeam | null
}

/** A domain that is used in envelope senders. */
export interface ReturnPath {
  domain: string
  otherTeam: OtherTeam | null
}

/** Returns the domains of the first team, which operates the server; with `everyTeam`, also those of other teams. */
export async function listTeamDomains(
  storage: Pick<Storage, 'listTeams' | 'listDomains'>,
  { everyTeam }: { everyTeam: boolean },
  now: number,
): Promise<TeamDomain[]> {
  const all = await storage.listTeams({}, now)
  const found: TeamDomain[] = []
  for (const [at, { id, name }] of (everyTeam ? all : all.slice(0, 1)).entries())
    for (const domain of await storage.listDomains({ teamId: id }, now))
      found.push({ domain, otherTeam: at === 0 ? null : { id, name } })
  return found
}

/** Returns the envelope sender domains of domains that may send now. Pure. */
export function listReturnPaths(domains: readonly TeamDomain[]): ReturnPath[] {
  return domains
    .filter(({ domain }) => domain.status === 'verified')
    .map(({ domain, otherTeam }) => ({ domain: `${domain.returnPath}.${domain.name}`, otherTeam }))
}

/** For titles. */
export const formatTeam = ({ name }: OtherTeam): string => `team "${name}"`
