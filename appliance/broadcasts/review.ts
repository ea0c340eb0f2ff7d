/**
 * Reviews a draft before it is sent: its recipients, problems, and samples of the first emails. Also determines which
 * drafts a contact would get.
 */
import { setImmediate } from 'node:timers/promises'
import { variantContents } from '../mail/ab-content.ts'
import { VARIANTS } from '../mail/ab-test.ts'
import { extractLinks } from '../advice/advice.ts'
import { parseMailbox } from '../mail/address.ts'
import { isId } from '../mail/ids.ts'
import type { BroadcastContent, DraftLink, RecipientPreview, Review } from '../mail/broadcast.ts'
import { sortByUrgency, type Insight } from '../mail/insight.ts'
import { mergeRuleInsights } from '../mail/provider-rules.ts'
import { Refusal } from '../mail/refusals.ts'
import { ARCHIVE_KEY, LINK_KEYS, type MergeSource, renderMerge, listTags } from '../merge/merge.ts'
import { choosePool } from '../mail/source.ts'
import type { Caller } from '../senders/api-keys.ts'
import type { Broadcast, BroadcastRef, Candidate, Domain } from '../storage/storage.ts'
import { abTestInsights } from './ab-draft.ts'
import { broadcastNotFound } from './drafts.ts'
import { checkDraft, type CheckFacts, type RepeatedBroadcast } from './checks.ts'
import { archiveUrlOf } from './published.ts'
import { parseContent, toMergeProperties, type Revision } from './revision.ts'
import type { SendingDeps } from './sending.ts'

export interface ReviewMethods {
  /** Reviews a draft. Refuses: `not_found`. */
  reviewBroadcast(args: { caller: Caller; id: string }): Promise<Review>
  /** Counts the contacts that would get a draft, as the review does. Refuses: `not_found`. */
  countEligible(ref: BroadcastRef): Promise<Review['recipients']>
  /** Lists the newest scheduled broadcasts, then the newest drafts, each with whether the contact would get it now. */
  contactProspects(args: { teamId: string; contactId: string }): Promise<UpcomingBroadcast[]>
}

/** A draft or scheduled broadcast, for one contact. */
export interface UpcomingBroadcast {
  broadcast: Broadcast
  prospect: RecipientPreview
}

/** Maximum number of broadcasts of each status that are checked for a contact. */
const MOST_OPEN = 20
/** Number of the segment's contacts per step, and maximum in total. */
const STEP = 2000
const MOST = 50_000
/** Maximum number of steps. Each examines 20,000 contacts of the team, of which few may be in the segment. */
const STEPS = 100
const SAMPLES = 3
const SAMPLE_TEXT = 2000
/** Age below which a similar broadcast may be a mistake (milliseconds). */
const REPEAT_MS = 24 * 3_600_000
/** Maximum number of recent broadcasts compared with the draft. */
const MOST_RECENT = 50

export function createReviewMethods(deps: SendingDeps): ReviewMethods {
  const { storage, clock, gate, tracking } = deps
  return {
    async reviewBroadcast({ caller, id }) {
      const { teamId } = caller
      const broadcast = await storage.getBroadcast({ teamId, id }, clock.now())
      if (!broadcast) throw broadcastNotFound()
      const sources = sourcesOf(broadcast.content)
      const variants = variantContents(broadcast.content).slice(1)
      const properties = toMergeProperties(await storage.listContactProperties({ teamId }, clock.now()))
      const read = { sources, others: variants.flatMap(sourcesOf) }
      const survey = await surveyContacts(deps, broadcast, read, properties)
      const sender = await senderProblem(deps, caller, broadcast)
      const assignments = await storage.listAssignments({}, clock.now())
      const regions = await storage.regionMap({}, clock.now())
      const domainId = sender.domain?.id ?? null
      const region = sender.domain?.region ?? null
      const pool = choosePool(assignments, { teamId, domainId, region, stream: 'broadcast' }, regions)
      const facts: CheckFacts = {
        sender: sender.problem,
        unknownTags: survey.tags.filter(({ known }) => !known).map(({ key }) => key),
        bareTags: survey.tags.filter(isBare(properties)).map(({ key }) => key),
        eligible: survey.recipients.eligible,
        topic: broadcast.topicId !== null,
        postalAddress: (await storage.getUnsubscribePage({ teamId }, clock.now()))?.postalAddress ?? null,
        domain: sender.domain,
        tested: broadcast.testedAt !== null,
        repeats: await lastLike(deps, broadcast),
        emptyArchiveLink: await hasEmptyArchiveLink(deps, broadcast, [...sources, ...read.others]),
      }
      const { domain } = sender
      const findings = checkVariants(broadcast.content, variants, facts)
      const { hourlyRate, scheduledAt } = broadcast
      const links = linksOfAll([broadcast.content, ...variants])
      const waitHours = broadcast.content.abTest?.waitHours ?? 0
      const going = { pool, hourlyRate, scheduledAt, waitHours, links }
      if (!domain) return { findings, ...going, ...survey }
      const ruled = await gate.standing({ domain, broadcast: { origin: tracking.originFor(domain) } })
      return { findings: mergeRuleInsights(findings, ruled.insights), ...going, ...survey }
    },

    async countEligible(ref) {
      const broadcast = isId(ref.id) ? await storage.getBroadcast(ref, clock.now()) : undefined
      if (!broadcast) throw broadcastNotFound()
      return (await surveyContacts(deps, broadcast, { sources: [], others: [] }, [])).recipients
    },

    async contactProspects({ teamId, contactId }) {
      const list = async (status: 'scheduled' | 'draft') =>
        (await storage.listBroadcasts({ teamId, status, limit: MOST_OPEN }, clock.now())).items
      const open = [...(await list('scheduled')), ...(await list('draft'))]
      return Promise.all(
        open.map(async (broadcast) => {
          const { segmentId, exclude, topicId } = broadcast
          const asked = { teamId, segmentId, exclude, topicId, contactId, after: '', most: 1 }
          const [found] = (await storage.broadcastCandidates(asked, clock.now())).candidates
          return { broadcast, prospect: found ? (found.out ?? 'eligible') : 'not_in_segment' }
        }),
      )
    },
  }
}

const sourcesOf = (content: BroadcastContent): MergeSource[] => {
  const { subject, html, text } = parseContent(content)
  return [subject, html, text].filter((source) => source !== null)
}

/** Returns the links of variant A, and those that only others have. */
const linksOfAll = ([content, ...variants]: BroadcastContent[]): DraftLink[] => {
  const links = extractLinks(content!)
  for (const link of variants.flatMap(extractLinks))
    if (!links.some(({ url, text }) => url === link.url && text === link.text)) links.push(link)
  return links
}

/** Checks a draft, and adds what only its variants have. */
function checkVariants(
  content: BroadcastContent,
  variants: readonly BroadcastContent[],
  facts: CheckFacts,
): Insight[] {
  const findings = checkDraft(content, facts)
  const known = new Set(findings.map(({ id, note }) => `${id} ${note}`))
  const others = variants.flatMap((variant, index) =>
    checkDraft(variant, facts)
      .filter(({ id, note, verdict }) => verdict !== 'pass' && !known.has(`${id} ${note}`))
      .map((one) => {
        const name = VARIANTS[index + 1]!
        return { ...one, id: `${one.id}_${name}`, note: `Variant ${name}: ${one.note}` }
      }),
  )
  return sortByUrgency([...findings, ...others, ...abTestInsights(content, facts)])
}

/** Reports whether a merge tag would be empty for some contacts. */
const isBare =
  (properties: Revision['properties']) =>
  ({ key, fallback, missing, known }: Review['tags'][number]): boolean => {
    const name = key.replace(/^contact\.(?:properties\.)?/, '')
    const preset = properties.find((property) => property.key === name)?.fallback ?? null
    return known && missing > 0 && fallback === null && preset === null
  }

/** Returns the From domain, and why it can't be used (null if it can). */
async function senderProblem(
  { senders, tracking }: SendingDeps,
  caller: Caller,
  { content }: Broadcast,
): Promise<{ domain: Domain | undefined; problem: string | null }> {
  try {
    const domain = await senders.authorize(caller, { domain: parseMailbox(content.from)?.domain ?? '' })
    const closed = 'Nobody could open the unsubscribe link. Set `http.public_url` in the configuration.'
    return { domain, problem: tracking.originFor(domain) === null ? closed : null }
  } catch (error) {
    if (error instanceof Refusal) return { domain: undefined, problem: error.message }
    throw error
  }
}

/** Reports whether it links to its page in the archive, but won't have one. */
async function hasEmptyArchiveLink(
  deps: SendingDeps,
  broadcast: Broadcast,
  sources: MergeSource[],
): Promise<boolean> {
  if (!listTags(...sources).some(({ key, fallback }) => key === ARCHIVE_KEY && fallback === null))
    return false
  return (await archiveUrlOf(deps, broadcast, '')) === null
}

/** Returns the last broadcast to the same segment, or else the last one with the same subject. */
async function lastLike(
  { storage, clock }: SendingDeps,
  { teamId, id, segmentId, content }: Broadcast,
): Promise<RepeatedBroadcast | undefined> {
  const now = clock.now()
  const started = await storage.startedBroadcasts({ teamId, since: now - REPEAT_MS, most: MOST_RECENT }, now)
  const recent = started
    .filter((one) => one.id !== id)
    .map((one) => ({
      name: one.name,
      ago: now - one.startedAt!,
      segment: one.segmentId === segmentId,
      subject: one.content.subject.trim() === content.subject.trim(),
    }))
  return recent.find(({ segment }) => segment) ?? recent.find(({ subject }) => subject)
}

const FIELDS: Record<string, (one: Candidate) => string | null> = {
  FIRST_NAME: ({ firstName }) => firstName,
  'contact.first_name': ({ firstName }) => firstName,
  LAST_NAME: ({ lastName }) => lastName,
  'contact.last_name': ({ lastName }) => lastName,
  EMAIL: ({ email }) => email,
  'contact.email': ({ email }) => email,
}
const LINKS: readonly string[] = [...LINK_KEYS, ARCHIVE_KEY]

/** Returns a function that reads the value of a merge tag; undefined if no contact can have one. */
function readerFor(key: string, properties: Revision['properties']) {
  if (Object.hasOwn(FIELDS, key)) return FIELDS[key]
  const name = key.replace(/^contact\.(?:properties\.)?/, '')
  const label = properties.find((property) => property.key === name)?.label
  return label === undefined ? undefined : (one: Candidate) => one.properties[label]?.toString() ?? null
}

async function surveyContacts(
  { storage, clock }: SendingDeps,
  { teamId, segmentId, exclude, topicId }: Broadcast,
  { sources, others }: { sources: MergeSource[]; others: MergeSource[] },
  properties: Revision['properties'],
): Promise<Pick<Review, 'recipients' | 'providers' | 'tags' | 'looked' | 'samples'>> {
  const out = { unsubscribed: 0, topic: 0, suppressed: 0, excluded: 0 }
  const providers = new Map<string, number>()
  const tags = listTags(...sources, ...others)
    .filter(({ key }) => !LINKS.includes(key))
    .map(({ key, fallback }) => ({ key, fallback, missing: 0, read: readerFor(key, properties) }))
  const samples: Candidate[] = []
  let [looked, eligible] = [0, 0]
  let after: string | null = ''
  for (let step = 0; after !== null && looked < MOST && step < STEPS; step++) {
    const asked = { teamId, segmentId, exclude, topicId, after, most: STEP }
    const { candidates, next } = await storage.broadcastCandidates(asked, clock.now())
    looked += candidates.length
    for (const one of candidates) {
      if (one.out !== null) {
        out[one.out] += 1
        continue
      }
      eligible += 1
      providers.set(one.provider, (providers.get(one.provider) ?? 0) + 1)
      for (const tag of tags) if (!tag.read?.(one)) tag.missing += 1
      // All contacts are equally likely to be samples, but the same draft shows the same samples for a while.
      if (samples.length < SAMPLES) samples.push(one)
    }
    after = next
    await setImmediate()
  }
  const segment = await storage.getSegment({ teamId, id: segmentId }, clock.now())
  const contacts = after === null ? looked : Math.max(looked, segment?.contacts ?? 0)
  const scale = looked === 0 ? 1 : contacts / looked
  const scaled = (n: number): number => Math.round(n * scale)
  return {
    recipients: {
      contacts,
      eligible: scaled(eligible),
      estimated: after !== null,
      out: {
        unsubscribed: scaled(out.unsubscribed),
        topic: scaled(out.topic),
        suppressed: scaled(out.suppressed),
        excluded: scaled(out.excluded),
      },
    },
    providers: [...providers]
      .map(([provider, n]) => ({ provider, contacts: scaled(n) }))
      .sort((a, b) => b.contacts - a.contacts),
    tags: tags.map(({ key, fallback, missing, read }) => ({
      key,
      fallback,
      missing,
      known: read !== undefined,
    })),
    looked: eligible,
    samples: samples.map((one) => sampleOf(one, sources, properties)),
  }
}

function sampleOf(one: Candidate, sources: MergeSource[], properties: Revision['properties']) {
  const values = (key: string) => {
    const property = properties.find((known) => known.key === key.replace(/^contact\.(?:properties\.)?/, ''))
    const text = LINKS.includes(key) ? '#' : (readerFor(key, properties)?.(one) ?? null)
    return { text, fallback: property?.fallback?.toString() ?? null, raw: false }
  }
  const [subject, ...bodies] = sources.map((source) => renderMerge(source, values))
  const plain = bodies.at(-1) ?? ''
  return { email: one.email, subject: subject!, text: plain.slice(0, SAMPLE_TEXT) }
}
