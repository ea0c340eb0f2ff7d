/** Moves broadcasts as drafts. None is sent or scheduled here, whatever its status is there. */
import { refuse } from '../mail/refusals.ts'
import type { DraftInput } from '../broadcasts/operations.ts'
import type { Broadcast } from '../storage/storage.ts'
import type { HostedObject } from './hosted.ts'
import { readAllPages, moveByName, fetchWholeObject, type ObjectWriter, type ObjectMatcher } from './named.ts'
import { stringOrNull } from './objects.ts'
import type { IdLookups } from './refs.ts'
import type { MoveCount, MoveDeps } from './report.ts'

const PAGE = 100
const PATH = '/broadcasts'
/** Limit on the characters of a name here. */
const MAX_NAME = 70

/** Returns the name of the draft: the name as given, or else the subject. */
const calledIn = (wire: HostedObject): string => {
  const name = stringOrNull(wire.name)?.trim() ?? ''
  return (name === '' ? (stringOrNull(wire.subject) ?? '').trim() : name).slice(0, MAX_NAME).toWellFormed()
}

const broadcastNames = (deps: MoveDeps): ObjectMatcher<Broadcast> => ({
  path: PATH,
  noun: 'a broadcast',
  // The list has no subjects.
  nameOf: async (wire) => {
    const name = calledIn(wire)
    return name === '' ? calledIn(await fetchWholeObject(deps, PATH, wire)) : name
  },
  here: () =>
    readAllPages((after) => deps.broadcasts.listBroadcasts({ teamId: deps.teamId, limit: PAGE, after })),
  nameHere: ({ name }) => name,
})

/** Moves broadcasts with their segment, topic and content. */
export async function moveBroadcasts(deps: MoveDeps, refs: IdLookups, count: MoveCount): Promise<void> {
  const { broadcasts, teamId, options, author, made } = deps
  const elsewhere = new Map<string, number>()
  const making: ObjectWriter<Broadcast> = {
    async create(summary, name) {
      const wire = await fetchWholeObject(deps, PATH, summary)
      const draft = await draftOf(wire, name, refs)
      broadcasts.checkBroadcast(draft)
      const status = stringOrNull(wire.status) ?? 'draft'
      if (status !== 'draft') elsewhere.set(status, (elsewhere.get(status) ?? 0) + 1)
      if (options.dryRun) return
      const { id } = await broadcasts.createBroadcast({ teamId, draft, author })
      await made({ kind: 'stored', action: 'broadcast.create', id, name })
    },
    async change(summary, { id, name, status }) {
      if (status !== 'draft') return false
      const draft = await draftOf(await fetchWholeObject(deps, PATH, summary), name, refs)
      broadcasts.checkBroadcast(draft)
      if (options.dryRun) return true
      await broadcasts.updateBroadcast({ teamId, id, draft, author })
      await made({ kind: 'stored', action: 'broadcast.update', id, name })
      return true
    },
  }
  await moveByName(deps, count, { named: broadcastNames(deps), making })
  for (const [status, many] of elsewhere)
    count.notes.push({
      what: many === 1 ? '1 broadcast' : `${many} broadcasts`,
      text: `${status.slice(0, 20)} in the hosted service; here a draft, which is not sent`,
    })
}

async function draftOf(wire: HostedObject, name: string, refs: IdLookups): Promise<DraftInput> {
  const segment = stringOrNull(wire.segment_id) ?? stringOrNull(wire.audience_id)
  const segmentId = segment === null ? undefined : (await refs.segments()).get(segment)
  if (segmentId === undefined)
    throw refuse('invalid_field', { field: 'segment_id', expected: 'a segment that exists here' })
  const topic = stringOrNull(wire.topic_id)
  const topicId = topic === null ? null : (await refs.topics()).get(topic)
  // Without its topic, the broadcast would go to people who opted out of the topic.
  if (topicId === undefined)
    throw refuse('invalid_field', { field: 'topic_id', expected: 'a topic that exists here' })
  const replyTo = Array.isArray(wire.reply_to) ? (wire.reply_to as unknown[]) : [wire.reply_to]
  return {
    name,
    segmentId,
    topicId,
    content: {
      from: stringOrNull(wire.from) ?? '',
      subject: stringOrNull(wire.subject) ?? '',
      replyTo: replyTo.flatMap((one) => stringOrNull(one) ?? []),
      previewText: stringOrNull(wire.preview_text),
      html: stringOrNull(wire.html),
      text: stringOrNull(wire.text),
    },
  }
}
