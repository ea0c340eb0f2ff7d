/** Describes runs, event schemas and API errors of automations and custom events. Pure. */
import type { Static } from 'typebox'
import type {
  AutomationCounts,
  AutomationRun,
  AutomationRunCounts,
} from '../../../appliance/api/automations.ts'
import type { EventFieldType, EventSchema } from '../../../appliance/mail/custom-event.ts'

/** Results of a step in the runs of the last 30 days. */
export type StepCounts = Static<typeof AutomationCounts>['steps'][number]
type RunCounts = Static<typeof AutomationRunCounts>

/**
 * Summarizes the runs of an automation, such as `100 in 30 days · 2 running · 1 failed`. If there are many runs, only
 * the newest are counted.
 */
export function describeRuns({ running, completed, failed, cancelled, most }: RunCounts): string {
  const isCut = completed + failed + cancelled + running >= most
  const all = isCut ? `${most.toLocaleString('en')}+` : String(running + completed + failed + cancelled)
  const rest = isCut ? ` of the newest ${most.toLocaleString('en')}` : ''
  return `${all} in 30 days · ${running}${running >= most ? '+' : ''} running · ${failed} failed${rest}`
}

/** Summarizes the results of a step, such as `3 waiting · 20 completed · 1 failed`. Empty if there are no runs. */
export function describeStepCounts({ waiting, completed, failed, skipped }: Omit<StepCounts, 'key'>): string {
  const parts: [number, string][] = [
    [waiting, 'waiting'],
    [completed, 'completed'],
    [failed, 'failed'],
    [skipped, 'skipped'],
  ]
  return parts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : [])).join(' · ')
}

/** Returns the name of the field that a server error concerns, without its path: `steps` for `steps[1].key`. */
export const getRefusedField = (refusal: string): string | null =>
  /^(?:Invalid|Missing) `(\w+)/.exec(refusal)?.[1] ?? null

/** Parses the JSON of a field. Throws an error that names the field and is shown to the user. */
export function parseJson(field: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`Invalid \`${field}\` field: not valid JSON. ${(error as Error).message}.`)
  }
}

/** The result of a step in a run. `json`: output that has no description. */
interface StepResult {
  words: string
  failed: boolean
  /** The ID of the email that the step sent. */
  email: string | null
  json: string | null
}

const NOTHING: StepResult = { words: '', failed: false, email: null, json: null }

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Describes the output or error of a step of a run. */
export function describeRunStepResult({
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
  if (type === 'send_email' && typeof output.subject === 'string')
    return {
      ...NOTHING,
      words: `Would send “${output.subject}” from ${textOf(output.from)} to ${textOf(output.to)}.`,
    }
  if (type === 'condition') return { ...NOTHING, words: output.result === true ? 'Met.' : 'Not met.' }
  if (output.timed_out === true) return { ...NOTHING, words: 'The event didn’t arrive in time.' }
  if (type === 'wait_for_event') return { ...NOTHING, words: `The event ${textOf(output.event)} arrived.` }
  return { ...NOTHING, json: JSON.stringify(output, null, 2) }
}

const fields = (schema: EventSchema | null): string[] =>
  Object.entries(schema ?? {}).map(([name, type]) => `${name}: ${type}`)

/** Lists the fields of a schema on one line. */
export const describeSchema = (schema: EventSchema | null): string =>
  schema === null ? 'any values' : fields(schema).join(', ')

/** Formats a schema as lines of names and types. */
export const formatSchema = (schema: EventSchema | null): string => fields(schema).join('\n')

/**
 * Parses lines of names and types; null if there are none. The server validates the types. Throws an error that is
 * shown to the user.
 */
export function parseSchema(text: string): Record<string, string> | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const entries = lines.map((line): [string, string] => {
    const at = line.lastIndexOf(':')
    if (at <= 0)
      throw new Error(
        `Invalid \`schema\` field: “${line.trim()}” isn’t a name and a type, such as “plan: string”.`,
      )
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
  })
  const names = entries.map(([name]) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new Error(`Invalid \`schema\` field: “${twice}” is listed twice.`)
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

const SAMPLES: Record<EventFieldType, unknown> = {
  string: 'text',
  number: 1,
  boolean: true,
  date: '2026-05-01',
}

/** The types of fields. */
export const FIELD_TYPES = Object.keys(SAMPLES)

/** Returns sample values for a schema. */
export const createSamplePayload = (schema: EventSchema | null): Record<string, unknown> =>
  Object.fromEntries(Object.entries(schema ?? {}).map(([name, type]) => [name, SAMPLES[type]]))
