/** Moves templates. Templates that are published in the hosted service are published here. */
import type { TemplateSummary } from '../storage/storage.ts'
import type { TemplateInput } from '../templates/templates.ts'
import type { Wire } from './hosted.ts'
import { allPages, moveNamed, wholeOf, type Making, type Named } from './named.ts'
import { text } from './objects.ts'
import type { MoveCount, MoveDeps } from './report.ts'

const PAGE = 100
const PATH = '/templates'

/** Returns the alias of a template, or its name if it has none. Templates are matched by it. */
const called = (name: string, alias: string | null): string =>
  alias === null || alias === '' ? name : `${alias} (alias)`

export const templateNames = ({ templates, teamId }: MoveDeps): Named<TemplateSummary> => ({
  path: PATH,
  noun: 'a template',
  nameOf: (wire) => {
    const name = text(wire.name)
    return name === null ? null : called(name, text(wire.alias))
  },
  here: () => allPages((after) => templates.list({ teamId, limit: PAGE, after })),
  nameHere: ({ name, alias }) => called(name, alias),
})

/** Moves templates with their variables. */
export async function moveTemplates(deps: MoveDeps, count: MoveCount): Promise<void> {
  const { templates, teamId, options, author, made } = deps
  const publish = async (wire: Wire, { id, name }: { id: string; name: string }): Promise<void> => {
    if (wire.status !== 'published') return
    await templates.publish({ teamId, which: id })
    await made({ kind: 'stored', action: 'template.publish', id, name })
    if (wire.has_unpublished_versions === true)
      count.notes.push({
        what: name,
        text: 'it has unpublished changes there; the content that the API returns is published here',
      })
  }
  const making: Making<TemplateSummary> = {
    async create(summary) {
      const wire = await wholeOf(deps, PATH, summary)
      const input = inputOf(wire)
      templates.check(input)
      if (options.dryRun) return
      const { id, name } = await templates.create({ teamId, input, author })
      await made({ kind: 'stored', action: 'template.create', id, name })
      await publish(wire, { id, name })
    },
    async change(summary, { id, name }) {
      const wire = await wholeOf(deps, PATH, summary)
      const input = inputOf(wire)
      templates.check(input)
      if (options.dryRun) return true
      await templates.update({ teamId, which: id, input, author })
      await made({ kind: 'stored', action: 'template.update', id, name })
      await publish(wire, { id, name })
      return true
    },
  }
  await moveNamed(deps, count, { named: templateNames(deps), making })
}

/** Reads a template as the API returns it. Its tags are the same as here. */
function inputOf(wire: Wire): TemplateInput {
  const variables = Array.isArray(wire.variables) ? (wire.variables as Wire[]) : []
  const replyTo = Array.isArray(wire.reply_to) ? (wire.reply_to as unknown[]) : [wire.reply_to]
  return {
    name: text(wire.name) ?? '',
    alias: text(wire.alias),
    from: text(wire.from),
    subject: text(wire.subject),
    reply_to: replyTo.flatMap((one) => text(one) ?? []),
    html: text(wire.html) ?? '',
    text: text(wire.text),
    variables: variables.map((one) => ({
      key: text(one?.key) ?? '',
      type: text(one?.type) ?? 'string',
      fallback_value: one?.fallback_value,
    })),
  }
}
