import { expect, test } from 'vitest'
import type { ContactRun } from '../../../appliance/api/contact-automations.ts'
import { buildContactTimeline } from '../../../ui/src/state/contacts.ts'
import { listRunEntries } from '../../../ui/src/state/contact-runs.ts'

const at = (minute: number): string => `2026-01-02T00:${String(minute).padStart(2, '0')}:00Z`

type Step = ContactRun['steps'][number]
const step = (key: string, type: Step['type'], begun: number, more: Partial<Step> = {}): Step => ({
  key,
  type,
  status: 'completed',
  started_at: at(begun),
  completed_at: at(begun),
  output: null,
  error: null,
  created_at: at(begun),
  ...more,
})
const run = (more: Partial<ContactRun>): ContactRun => ({
  id: 'r',
  automation_id: 'a',
  automation_name: 'Welcome',
  event_name: 'joined',
  status: 'running',
  created_at: at(1),
  completed_at: null,
  steps: [step('start', 'trigger', 1)],
  ...more,
})
const told = (given: ContactRun) =>
  listRunEntries([given]).map(({ at: when, title, note, went }) => [
    when,
    title,
    note,
    'status' in went ? went.status : went.what,
  ])

test('lists an automation run with its start, steps and end, newest first', () => {
  const output = { email_id: 'e', to: 'ada@customer.example' }
  const failed = { status: 'failed' as const, error: { message: 'The segment is gone.' } }
  const steps = [
    step('start', 'trigger', 1),
    step('mail', 'send_email', 1, { output }),
    step('add', 'add_to_segment', 3, failed),
  ]
  expect(told(run({ status: 'failed', completed_at: at(3), steps }))).toEqual([
    [at(3), 'Welcome failed', '', 'failed'],
    [at(3), 'Welcome: Add to segment', 'The segment is gone.', 'failed'],
    [at(1), 'Welcome: Send email', 'Sent to ada@customer.example.', 'completed'],
    [at(1), 'Welcome started', 'by the event joined', 'started'],
  ])
  const waiting = step('wait', 'delay', 2, { status: 'waiting', completed_at: null })
  expect(told(run({ steps: [waiting] }))).toEqual([
    [at(2), 'Welcome: Delay', '', 'waiting'],
    [at(1), 'Welcome started', 'by the event joined', 'started'],
  ])
})

test('the contact timeline contains automation runs among emails, with links', () => {
  const email = {
    id: 'e',
    subject: 'Hello',
    created_at: at(4),
    last_event: 'delivered' as const,
    opened: false,
    clicked: false,
  }
  const done = run({ status: 'completed', completed_at: at(9) })
  const story = buildContactTimeline([email], [], [], [done])
  expect(story.map(({ title, run: of }) => [title, of?.to])).toEqual([
    ['Welcome finished', '/automations/a/runs/r'],
    ['Hello', undefined],
    ['Welcome started', '/automations/a/runs/r'],
  ])
})
