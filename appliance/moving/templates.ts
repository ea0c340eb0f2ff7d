/** Moves templates. Templates that are published in the hosted service are published here. */
import type { TemplateSummary } from '../storage/storage.ts'
import type { TemplateInput } from '../templates/templates.ts'
import type { HostedObject } from './hosted.ts'
import { readAllPages, moveByName, fetchWholeObject, type ObjectWriter, type ObjectMatcher } from './named.ts'
import { stringOrNull } from './objects.ts'
import type { MoveCount, MoveDeps } from './report.ts'

const PAGE = 100
const PATH = '/templates'

/** Returns the alias of a template, or its name if it has none. Used to match templates. */
const called = (name: string, alias: string | null): string =>
  alias === null || alias === '' ? name : `${alias} (alias)`

export const createTemplateMatcher = ({ templates, teamId }: MoveDeps): ObjectMatcher<TemplateSummary> => ({
  path: PATH,
  noun: 'a template',
  nameOf: (wire) => {
    const name = stringOrNull(wire.name)
    return name === null ? null : called(name, stringOrNull(wire.alias))
  },
  here: () => readAllPages((after) => templates.list({ teamId, limit: PAGE, after })),
  nameHere: ({ name, alias }) => called(name, alias),
})

/** Moves templates with their variables. */
export async function moveTemplates(deps: MoveDeps, count: MoveCount): Promise<void> {
  const { templates, teamId, options, author, made } = deps
  const publish = async (wire: HostedObject, { id, name }: { id: string; name: string }): Promise<void> => {
    if (wire.status !== 'published') return
    await templates.publish({ teamId, which: id })
    await made({ kind: 'stored', action: 'template.publish', id, name })
    if (wire.has_unpublished_versions === true)
      count.notes.push({
        what: name,
        text: 'it has unpublished changes there; the content that the API returns is published here',
      })
  }
  const making: ObjectWriter<TemplateSummary> = {
    async create(summary) {
      const wire = await fetchWholeObject(deps, PATH, summary)
      const input = inputOf(wire)
      templates.check(input)
      if (options.dryRun) return
      const { id, name } = await templates.create({ teamId, input, author })
      await made({ kind: 'stored', action: 'template.create', id, name })
      await publish(wire, { id, name })
    },
    async change(summary, { id, name }) {
      const wire = await fetchWholeObject(deps, PATH, summary)
      const input = inputOf(wire)
      templates.check(input)
      if (options.dryRun) return true
      await templates.update({ teamId, which: id, input, author })
      await made({ kind: 'stored', action: 'template.update', id, name })
      await publish(wire, { id, name })
      return true
    },
  }
  await moveByName(deps, count, { named: createTemplateMatcher(deps), making })
}

/** Reads a template as the API returns it. Template tags are the same as here. */
function inputOf(wire: HostedObject): TemplateInput {
  const variables = Array.isArray(wire.variables) ? (wire.variables as HostedObject[]) : []
  const replyTo = Array.isArray(wire.reply_to) ? (wire.reply_to as unknown[]) : [wire.reply_to]
  return {
    name: stringOrNull(wire.name) ?? '',
    alias: stringOrNull(wire.alias),
    from: stringOrNull(wire.from),
    subject: stringOrNull(wire.subject),
    reply_to: replyTo.flatMap((one) => stringOrNull(one) ?? []),
    html: stringOrNull(wire.html) ?? '',
    text: stringOrNull(wire.text),
    variables: variables.map((one) => ({
      key: stringOrNull(one?.key) ?? '',
      type: stringOrNull(one?.type) ?? 'string',
      fallback_value: one?.fallback_value,
    })),
  }
}
