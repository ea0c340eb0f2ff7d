/** Moves automations, disabled. While the hosted service also runs them, people would get every email twice. */
import { refuse } from '../mail/refusals.ts'
import { parseGraph } from '../mail/read-automation.ts'
import type { AutomationSummary } from '../storage/storage.ts'
import type { HostedObject } from './hosted.ts'
import { readAllPages, moveByName, fetchWholeObject, type ObjectWriter, type ObjectMatcher } from './named.ts'
import { stringOrNull } from './objects.ts'
import type { IdMap, IdLookups } from './refs.ts'
import type { MoveCount, MoveDeps } from './report.ts'

const PAGE = 100
const PATH = '/automations'

const automationNames = ({ automations, teamId }: MoveDeps): ObjectMatcher<AutomationSummary> => ({
  path: PATH,
  noun: 'an automation',
  nameOf: (wire) => stringOrNull(wire.name),
  here: () => readAllPages((after) => automations.list({ teamId, limit: PAGE, after })),
  nameHere: ({ name }) => name,
})

/**
 * Moves the steps of automations, not their runs. Skips an automation completely if one of its steps doesn't work here,
 * because without the step it would behave differently.
 */
export async function moveAutomations(deps: MoveDeps, refs: IdLookups, count: MoveCount): Promise<void> {
  const { automations, teamId, options, made } = deps
  const making: ObjectWriter<AutomationSummary> = {
    async create(summary, name) {
      const wire = await fetchWholeObject(deps, PATH, summary)
      const graph = await graphOf(wire, refs)
      if (!options.dryRun) {
        const { id } = await automations.create({ teamId, input: { name, status: 'disabled', ...graph } })
        await made({ kind: 'stored', action: 'automation.create', id, name })
      }
      if (wire.status === 'enabled')
        count.notes.push({
          what: name,
          text: 'it is enabled in the hosted service and disabled here; its runs there are not moved',
        })
    },
    async change(summary, { id, name, status }) {
      if (status !== 'disabled') return false
      const graph = await graphOf(await fetchWholeObject(deps, PATH, summary), refs)
      if (options.dryRun) return true
      await automations.update({ teamId, id, input: graph })
      await made({ kind: 'stored', action: 'automation.update', id, name })
      return true
    },
  }
  await moveByName(deps, count, { named: automationNames(deps), making })
}

/**
 * Reads the steps, and replaces the IDs of templates, segments and topics by the IDs here. Refuses: `invalid_field`.
 */
async function graphOf(
  wire: HostedObject,
  refs: IdLookups,
): Promise<{ steps: unknown; connections: unknown }> {
  const connections = wire.connections ?? []
  // Checks the structure first, so that the steps can be read.
  const { steps } = parseGraph({ steps: wire.steps, connections })
  const mapped: unknown[] = []
  for (const [at, step] of steps.entries()) {
    const path = `steps[${at}].config`
    const config: HostedObject = { ...step.config }
    if (step.type === 'send_email') {
      const { template, topic_id: topic } = step.config
      const id = found(await refs.templates(), template.id, `${path}.template.id`, 'template')
      config.template = { ...template, id }
      if (topic !== undefined)
        config.topic_id = found(await refs.topics(), topic, `${path}.topic_id`, 'topic')
    }
    if (step.type === 'add_to_segment') {
      const { segment_id: segment } = step.config
      config.segment_id = found(await refs.segments(), segment, `${path}.segment_id`, 'segment')
    }
    mapped.push({ ...step, config })
  }
  return { steps: mapped, connections }
}

function found(ids: IdMap, theirs: string, field: string, noun: string): string {
  const id = ids.get(theirs)
  if (id === undefined) throw refuse('invalid_field', { field, expected: `a ${noun} that exists here` })
  return id
}
