/** Describes runs and refusals of automations. Pure. */
import type { AutomationRun } from '../../../appliance/api/automations.ts'

/** Describes numbers of runs, each counted up to a limit, such as `100+ in 30 days · 2 running · 1 failed`. */
export function runsInWords(
  counts: Record<'all' | 'running' | 'failed', { count: number; more: boolean }>,
): string {
  const number = ({ count, more }: { count: number; more: boolean }) => `${count}${more ? '+' : ''}`
  const { all, running, failed } = counts
  return `${number(all)} in 30 days · ${number(running)} running · ${number(failed)} failed`
}

/** Returns the name of the field that a server error concerns, without the path in it: `steps` of `steps[1].key`. */
export const fieldOf = (refusal: string): string | null =>
  /^(?:Invalid|Missing) `(\w+)/.exec(refusal)?.[1] ?? null

/** Parses the JSON of a field. Throws an error for the user that names the field. */
export function parseJson(field: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`Invalid \`${field}\` field: not valid JSON. ${(error as Error).message}.`)
  }
}

/** What a step of a run did. `json`: output that has no words of its own. */
interface StepResult {
  words: string
  failed: boolean
  /** The id of the email that it sent. */
  email: string | null
  json: string | null
}

const NOTHING: StepResult = { words: '', failed: false, email: null, json: null }

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Describes the output or error of a step of a run. */
export function runStepResult({
  status,
  type,
  started_at: started,
  output,
  error,
}: AutomationRun['steps'][number]): StepResult {
  if (error) return { ...NOTHING, words: textOf(error.message ?? error), failed: true }
  if (status === 'skipped' && started === null) return { ...NOTHING, words: 'Not reached.' }
  if (!output) return NOTHING
  if (output.skipped === 'unsubscribed')
    return { ...NOTHING, words: 'The contact is unsubscribed, so no email was sent.' }
  if (type === 'send_email' && typeof output.email_id === 'string' && output.email_id !== '')
    return { ...NOTHING, words: `Sent to ${textOf(output.to)}.`, email: output.email_id }
  if (type === 'condition') return { ...NOTHING, words: output.result === true ? 'Met.' : 'Not met.' }
  if (output.timed_out === true) return { ...NOTHING, words: 'The event didn’t arrive in time.' }
  if (type === 'wait_for_event') return { ...NOTHING, words: `The event ${textOf(output.event)} arrived.` }
  return { ...NOTHING, json: JSON.stringify(output, null, 2) }
}
