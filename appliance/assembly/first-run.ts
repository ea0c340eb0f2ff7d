/** What people need who run the appliance for the first time: the owner by a link, and DNS records on their way. */
import { createSetUp, type Accounts, type SetUp } from '../accounts/accounts.ts'
import type { Clock } from '../clock/clock.ts'
import type { Resolver, Surveyor } from '../dns/dns.ts'
import type { SourceBook } from '../sources/sources.ts'
import { createPropagation, type PropagationWatch } from '../senders/senders.ts'
import type { Storage } from '../storage/storage.ts'

/** What it stands on. */
export interface FirstRunDeps {
  storage: Storage
  clock: Clock
  resolver: Resolver & Surveyor
}

/** See the top of this file. */
export function openFirstRun(
  { storage, clock, resolver }: FirstRunDeps,
  { accounts, book }: { accounts: Accounts; book: SourceBook },
): { setUp: SetUp; propagation: PropagationWatch } {
  return {
    setUp: createSetUp({ storage, clock, accounts }),
    propagation: createPropagation({ storage, resolver, clock, config: book.host }),
  }
}
