/** How transcripts are stored: as JSON without what a step has in common with the one before it. Every delivered email has one. Pure. */
import type { Step, Transcript } from '../mail/transcript.ts'

type StoredStep = Pick<Step, 'name' | 'at' | 'ms'> & Partial<Step>

/** The transcript as JSON. A null is left out where there often is one, host and IP where they are as in the step before. */
export function writeTranscript(transcript: Transcript): string {
  let [lastHost, lastIp] = [null, null] as [string | null, string | null]
  const steps = transcript.steps.map(({ name, host, ip, sent, reply, note, at, ms }) => {
    const stored = {
      name,
      host: host === lastHost ? undefined : host,
      ip: ip === lastIp ? undefined : ip,
      sent: sent ?? undefined,
      reply: reply ?? undefined,
      note: note ?? undefined,
      at,
      ms,
    }
    ;[lastHost, lastIp] = [host, ip]
    return stored
  })
  return JSON.stringify({ ...transcript, steps })
}

/** A transcript that `writeTranscript` made, or one from before it, which has all fields. */
export function readTranscript(json: string): Transcript {
  const { steps, ...rest } = JSON.parse(json) as Omit<Transcript, 'steps'> & { steps: StoredStep[] }
  let [lastHost, lastIp] = [null, null] as [string | null, string | null]
  const whole = steps.map(
    ({ name, host = lastHost, ip = lastIp, sent = null, reply = null, note = null, at, ms }): Step => {
      ;[lastHost, lastIp] = [host, ip]
      return { name, host, ip, sent, reply, note, at, ms }
    },
  )
  return { steps: whole, ...rest }
}
