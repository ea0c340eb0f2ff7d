/** The dependencies of the doctor's checks. */
import type { Clock } from '../clock/clock.ts'
import type { Blocklist, Config, DoctorTargets } from '../config/config.ts'
import type { Resolver } from '../dns/dns.ts'
import type { SendingHost } from '../senders/records.ts'
import type { Storage } from '../storage/storage.ts'

/** The dependencies of the checks. */
export interface DoctorDeps {
  /** The storage, or why it couldn't be opened (null if there is none yet). The other checks run in any case. */
  storage:
    | (Pick<
        Storage,
        | 'listSources'
        | 'listDomains'
        | 'dkimKeys'
        | 'listTeams'
        | 'diskUse'
        | 'listDiskDays'
        | 'databaseServer'
      > &
        Partial<Pick<Storage, 'listNodes' | 'probeBodies'>>)
    | { unavailable: string | null }
  resolver: Resolver
  /** ID of this node, if others share the storage. A node can check only its own sending IPs. */
  nodeId?: string | undefined
  /** Creates a resolver with an empty cache; the caller closes it. */
  freshResolver: () => Resolver
  clock: Clock
  config: Pick<
    Config,
    | 'hostname'
    | 'data_dir'
    | 'storage'
    | 'dns'
    | 'http'
    | 'smtp'
    | 'tls'
    | 'acme'
    | 'delivery'
    | 'inbound'
    | 'nameserver'
    | 'retention'
  >
  host: SendingHost
  /**
   * Whether to check the domains of all teams. By default, only those of the server's own team are checked, because it
   * must not see the domains of others.
   */
  everyTeam?: boolean
  blocklists: readonly Blocklist[]
  targets: DoctorTargets
  /** Replaces parts of the machine in tests. */
  machine?: Partial<Machine>
}

/** The functions of the machine that checks use. */
export interface Machine {
  local: () => string[]
  isPublic: (ip: string) => boolean
  probe: (ip: string) => Promise<string | null>
  /** Time limit for dialing an exchanger, and pause between two queries for one name, in milliseconds. */
  dialMs: number | undefined
  pauseMs: number | undefined
}
