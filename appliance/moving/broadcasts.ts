/** Moves broadcasts as drafts. None is sent or scheduled here, whatever it is there. */
import { refuse } from '../mail/refusals.ts'
import type { DraftInput } from '../broadcasts/book.ts'
import type { Broadcast } from '../storage/storage.ts'
import type { Wire } from './hosted.ts'
import { allPages, moveNamed, wholeOf, type Making, type Named } from './named.ts'
import { text } from './objects.ts'
import type { Refs } from './refs.ts'
import type { MoveCount, MoveDeps } from './report.ts'

const PAGE = 100
const PATH = '/broadcasts'
/** Limit on the characters of a name here. */
const MAX_NAME = 70

/** Returns the name that the draft gets: as given, or its subject. */
const calledIn = (wire: Wire): string => {
  const name = text(wire.name)?.trim() ?? ''
  return (name === '' ? (text(wire.subject) ?? '').trim() : name).slice(0, MAX_NAME).toWellFormed()
}

const broadcastNames = (deps: MoveDeps): Named<Broadcast> => ({
  path: PATH,
  noun: 'a broadcast',
  // The list has no subjects.
  nameOf: async (wire) => {
    const name = calledIn(wire)
    return name === '' ? calledIn(await wholeOf(deps, PATH, wire)) : name
  },
  here: () =>
    allPages((after) => deps.broadcasts.listBroadcasts({ teamId: deps.teamId, limit: PAGE, after })),
  nameHere: ({ name }) => name,
})

/** Moves broadcasts with their segment, topic and content. */
export async function moveBroadcasts(deps: MoveDeps, refs: Refs, count: MoveCount): Promise<void> {
  const { broadcasts, teamId, options, author, made } = deps
  const elsewhere = new Map<string, number>()
  const making: Making<Broadcast> = {
    async create(summary, name) {
      const wire = await wholeOf(deps, PATH, summary)
      const draft = await draftOf(wire, name, refs)
      broadcasts.checkBroadcast(draft)
      const status = text(wire.status) ?? 'draft'
      if (status !== 'draft') elsewhere.set(status, (elsewhere.get(status) ?? 0) + 1)
      if (options.dryRun) return
      const { id } = await broadcasts.createBroadcast({ teamId, draft, author })
      await made({ kind: 'stored', action: 'broadcast.create', id, name })
    },
    async change(summary, { id, name, status }) {
      if (status !== 'draft') return false
      const draft = await draftOf(await wholeOf(deps, PATH, summary), name, refs)
      broadcasts.checkBroadcast(draft)
      if (options.dryRun) return true
      await broadcasts.updateBroadcast({ teamId, id, draft, author })
      await made({ kind: 'stored', action: 'broadcast.update', id, name })
      return true
    },
  }
  await moveNamed(deps, count, { named: broadcastNames(deps), making })
  for (const [status, many] of elsewhere)
    count.notes.push({
      what: many === 1 ? '1 broadcast' : `${many} broadcasts`,
      text: `${status.slice(0, 20)} in the hosted service; here a draft, which is not sent`,
    })
}

async function draftOf(wire: Wire, name: string, refs: Refs): Promise<DraftInput> {
  const segment = text(wire.segment_id) ?? text(wire.audience_id)
  const segmentId = segment === null ? undefined : (await refs.segments()).get(segment)
  if (segmentId === undefined)
    throw refuse('invalid_field', { field: 'segment_id', expected: 'a segment that exists here' })
  const topic = text(wire.topic_id)
  const topicId = topic === null ? null : (await refs.topics()).get(topic)
  // Without its topic, it would go to people who opted out of it.
  if (topicId === undefined)
    throw refuse('invalid_field', { field: 'topic_id', expected: 'a topic that exists here' })
  const replyTo = Array.isArray(wire.reply_to) ? (wire.reply_to as unknown[]) : [wire.reply_to]
  return {
    name,
    segmentId,
    topicId,
    content: {
      from: text(wire.from) ?? '',
      subject: text(wire.subject) ?? '',
      replyTo: replyTo.flatMap((one) => text(one) ?? []),
      previewText: text(wire.preview_text),
      html: text(wire.html),
      text: text(wire.text),
    },
  }
}
