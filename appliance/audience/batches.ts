/** Batches of contacts: pasted lists of addresses, and changes to all matching contacts. */
import { parseMailbox } from '../mail/address.ts'
import type { ConsentContext } from '../mail/audience.ts'
import { newId } from '../mail/ids.ts'
import type { Rules } from '../mail/rules.ts'
import type { ContactConditions, ContactBatchChange, AddressStatus } from '../storage/storage.ts'
import { countSteps, parseTeamRules, COUNT_STEPS_PER_REQUEST } from './rules.ts'
import { type AudienceDeps, checkIds, segmentNotFound, topicNotFound, createMissingRefError } from './find.ts'
import { parseAddress } from './values.ts'

/** Maximum number of contacts per request and per transaction. A transaction delays mail by some 30 ms. */
const AT_ONCE = 500
const IN_TRANSACTION = 100

/** Maximum number of addresses in a preview. */
const SAMPLE = 5

/** Contacts to change: by ID, or all that match conditions. */
export type SelectedContacts =
  { ids: string[] } | { conditions: ContactConditions; after?: string | undefined }

export interface BatchMethods {
  /** Checks that the team has the segment and topic. Refuses: `not_found`. */
  checkConditions(teamId: string, conditions: ContactConditions): Promise<void>
  /** Reads rules and checks that everything they refer to exists in the team. Refuses: `invalid_field`. */
  readRules(args: { teamId: string; rules: unknown }): Promise<Rules>
  /** Looks up addresses, in order. Null stands for an invalid address. */
  checkAddresses(args: { teamId: string; emails: string[] }): Promise<(AddressStatus | null)[]>
  /** Adds contacts. Existing opt-outs stay. Refuses: `invalid_field`, `missing_field`, `invalid_id`, `not_found`. */
  addContacts(args: {
    teamId: string
    emails: string[]
    segmentIds: string[]
    act: ConsentContext
  }): Promise<{ created: number; known: number }>
  /** Counts the matches among the next 40,000 contacts; `next` is where to continue. Refuses: `not_found`. */
  countMatching(args: {
    teamId: string
    conditions: ContactConditions
    after?: string | undefined
  }): Promise<{ contacts: number; sample: string[]; next: string | null }>
  /** Changes at most 500 contacts; `next` is where to continue. Refuses: `not_found`. */
  changeContacts(args: {
    teamId: string
    picked: SelectedContacts
    change: ContactBatchChange
    act: ConsentContext
  }): Promise<{ contacts: number; next: string | null }>
}

export function createBatchMethods({ storage, clock }: AudienceDeps): BatchMethods {
  const checkConditions: BatchMethods['checkConditions'] = async (teamId, { segmentId, topic }) => {
    if (segmentId !== undefined && !(await storage.getSegment({ teamId, id: segmentId }, clock.now())))
      throw segmentNotFound()
    if (topic !== undefined && !(await storage.getTopic({ teamId, id: topic.id }, clock.now())))
      throw topicNotFound()
  }

  return {
    checkConditions,
    readRules: ({ teamId, rules }) => parseTeamRules({ storage, clock }, teamId, rules),
    async checkAddresses({ teamId, emails }) {
      const read = emails.map(addressOf)
      const valid = read.filter((one) => one !== null)
      const known = (await storage.knownAddresses({ teamId, emails: valid }, clock.now())).values()
      return read.map((one) => (one === null ? null : (known.next().value ?? null)))
    },
    async addContacts({ teamId, emails, segmentIds: given, act }) {
      const addresses = emails.map((email, at) => parseAddress(email, `emails[${at}]`))
      const segmentIds = checkIds('segment_ids', given)
      const counts = { created: 0, known: 0 }
      for (const email of addresses) {
        const now = clock.now()
        const contact = { id: newId(now), teamId, email, segmentIds, topics: [] }
        const saved = await storage.saveContact({ contact, act }, now)
        if (!('contact' in saved)) throw createMissingRefError(saved)
        counts[saved.kind === 'created' ? 'created' : 'known'] += 1
      }
      return counts
    },
    countMatching: (args) => countMatching({ storage, clock }, checkConditions, args),
    async changeContacts({ teamId, picked, change, act }) {
      const { ids, next } = await idsOf(teamId, picked)
      let contacts = 0
      for (let at = 0; at < Math.max(ids.length, 1); at += IN_TRANSACTION) {
        const some = ids.slice(at, at + IN_TRANSACTION)
        const done = await storage.changeContacts({ teamId, ids: some, change, act }, clock.now())
        if (!('found' in done)) throw createMissingRefError(done)
        contacts += done.found
      }
      return { contacts, next }
    },
  }

  async function idsOf(
    teamId: string,
    picked: SelectedContacts,
  ): Promise<{ ids: string[]; next: string | null }> {
    if ('ids' in picked) return { ids: checkIds('ids', picked.ids), next: null }
    const { conditions, after } = picked
    await checkConditions(teamId, conditions)
    const page = { teamId, ...conditions, after, limit: AT_ONCE }
    const { items, next } = await storage.searchContacts(page, clock.now())
    return { ids: items.map(({ id }) => id), next }
  }
}

async function countMatching(
  deps: AudienceDeps,
  checkConditions: BatchMethods['checkConditions'],
  { teamId, conditions, after: from }: Parameters<BatchMethods['countMatching']>[0],
): ReturnType<BatchMethods['countMatching']> {
  await checkConditions(teamId, conditions)
  const counted = { contacts: 0, sample: [] as string[], next: null as string | null }
  let steps = 0
  for await (const { count, after, next } of countSteps(deps, { teamId, after: from, ...conditions })) {
    counted.contacts += count
    counted.next = next
    if (count > 0 && counted.sample.length === 0) {
      const page = { teamId, ...conditions, after, limit: SAMPLE }
      const found = await deps.storage.searchContacts(page, deps.clock.now())
      counted.sample = found.items.map(({ email }) => email)
    }
    steps += 1
    if (steps === COUNT_STEPS_PER_REQUEST) break
  }
  return counted
}

/** Parses a single address; null if it is invalid. */
function addressOf(text: string): string | null {
  const mailbox = parseMailbox(text)
  return mailbox?.name === '' ? mailbox.address : null
}
