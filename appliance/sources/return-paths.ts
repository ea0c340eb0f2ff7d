/** Whose domains are looked at, and from which of their names mail is sent. */
import type { Domain, Storage } from '../storage/storage.ts'

/** A team beside the one that runs the appliance. */
export interface OtherTeam {
  id: string
  name: string
}

/** A domain with the team that has it; null: the team that runs the appliance. */
export interface TeamDomain {
  domain: Domain
  otherTeam: OtherTeam | null
}

/** The domain of envelope senders. */
export interface ReturnPath {
  domain: string
  otherTeam: OtherTeam | null
}

/** The domains of the first team, which runs the appliance; with `everyTeam` then those of the others. */
export async function readDomains(
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

/** Domains in the envelope senders of what may be sent now. Pure. */
export function returnPathsOf(domains: readonly TeamDomain[]): ReturnPath[] {
  return domains
    .filter(({ domain }) => domain.status === 'verified')
    .map(({ domain, otherTeam }) => ({ domain: `${domain.returnPath}.${domain.name}`, otherTeam }))
}

/** For titles. */
export const ofTeam = ({ name }: OtherTeam): string => `team "${name}"`
