/** Describes the automation runs of a contact as entries of its timeline. Pure. */
import type { ContactRun } from '../../../appliance/api/contact-automations.ts'
import { describeRunStepResult } from './automation-runs.ts'
import { STEP_TITLES } from './automation-steps.ts'
import { parseInstant } from './time.ts'

/** An event in a run, at a specific time. */
export interface RunEntry {
  key: string
  /** API timestamp. */
  at: string
  title: string
  /** Text beside the title; may be empty. */
  note: string
  /** Path of the run's page. */
  to: string
  /** Type of the event: `started`, the result of a step, or the end of the run. */
  went:
    | { what: 'started' }
    | { what: 'step'; status: ContactRun['steps'][number]['status'] }
    | { what: 'ended'; status: ContactRun['status'] }
}

const ENDS = { running: 'is running', completed: 'finished', failed: 'failed', cancelled: 'was canceled' }

/** Returns the events of runs: their start, each step, and their end; newest first. */
export const listRunEntries = (runs: readonly ContactRun[]): RunEntry[] => runs.flatMap(entriesOf)

function entriesOf(run: ContactRun): RunEntry[] {
  const { automation_name: name, event_name: event, completed_at: ended } = run
  const to = `/automations/${run.automation_id}/runs/${run.id}`
  const started: RunEntry = {
    key: run.id,
    at: run.created_at,
    title: `${name} started`,
    note: `by the event ${event}`,
    to,
    went: { what: 'started' },
  }
  const steps = run.steps
    .filter(({ type }) => type !== 'trigger')
    .map((step): RunEntry => {
      const { key, type, status, started_at: begun, completed_at: done, created_at: made } = step
      return {
        key: `${run.id} ${key}`,
        at: done ?? begun ?? made,
        title: `${name}: ${STEP_TITLES[type]}`,
        note: describeRunStepResult(step).words,
        to,
        went: { what: 'step', status },
      }
    })
  const end: RunEntry[] =
    ended === null
      ? []
      : [
          {
            key: `${run.id} end`,
            at: ended,
            title: `${name} ${ENDS[run.status]}`,
            note: '',
            to,
            went: { what: 'ended', status: run.status },
          },
        ]
  return [...end, ...steps.toSorted((a, b) => parseInstant(b.at) - parseInstant(a.at)), started]
}
