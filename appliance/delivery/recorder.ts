import type { Clock } from '../clock/clock.ts'
import type { Reply } from '../mail/reply.ts'
import type { Step } from '../mail/transcript.ts'

/** The peer of a step; both null for lookups. */
export interface Peer {
  host: string | null
  ip: string | null
}

/** The result of a step. */
export interface StepResult {
  reply?: Reply | null
  note?: string | null
}

/** A step in progress. Ending it twice has no effect. */
export interface OpenStep {
  end(how?: StepResult): void
}

/** Records the steps of an attempt, in the order in which they began. */
export interface Recorder {
  readonly steps: Step[]
  begin(name: Step['name'], peer: Peer, sent: string | null): OpenStep
}

/** Maximum number of characters stored per reply, so that a server can't fill the storage. */
const REPLY_CHARS = 8192

/**
 * Creates a recorder for one attempt.
 * @param startedAt when the attempt began, Unix milliseconds
 */
export function createRecorder(clock: Clock, startedAt: number): Recorder {
  const steps: Step[] = []
  return {
    steps,
    begin(name, peer, sent) {
      const begun = clock.now()
      const step: Step = { name, ...peer, sent, reply: null, note: null, at: begun - startedAt, ms: 0 }
      steps.push(step)
      let open = true
      return {
        end({ reply = null, note = null } = {}) {
          if (!open) return
          open = false
          step.reply = reply
          step.note = note
          step.ms = clock.now() - begun
        },
      }
    },
  }
}

/** Shortens a reply for storage. */
export function truncateReply(reply: Reply): Reply {
  if (reply.text.length <= REPLY_CHARS) return reply
  const more = reply.text.length - REPLY_CHARS
  return { ...reply, text: `${reply.text.slice(0, REPLY_CHARS)} … (${more} more characters)` }
}
