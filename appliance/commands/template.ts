/** The commands about templates. */
import { presentTemplate, presentTemplateRef, presentTemplateSummary } from '../api/templates.ts'
import { presentList } from '../api/shared.ts'
import type { Context } from './context.ts'
import { Failure } from './failure.ts'
import { formatInstant, formatTable } from './output.ts'

const DEFAULT_LIMIT = 100
const MOST = 100

interface Standing {
  publishedVersionId: string | null
  currentVersionId: string
}

function statusOf({ publishedVersionId, currentVersionId }: Standing): string {
  if (publishedVersionId === null) return 'draft'
  return publishedVersionId === currentVersionId ? 'published' : 'published, with changes'
}

/** Runs `template list`. */
export async function listTemplates(
  { templates, output, team }: Context,
  { search, limit = DEFAULT_LIMIT }: { search?: string; limit?: number },
): Promise<void> {
  if (limit > MOST) throw new Failure(`--limit is at most ${MOST}. Use --search to find a template.`)
  const { id: teamId } = await team()
  const { items, hasMore } = await templates.list({ teamId, limit, text: search })
  output.object(presentList(items.map(presentTemplateSummary), hasMore))
  if (items.length === 0) return output.text('No templates.')
  const rows = items.map((one) => [
    formatInstant(one.updatedAt),
    statusOf(one),
    one.alias ?? one.id,
    one.name,
  ])
  output.text(...formatTable(['CHANGED', 'STATUS', 'ALIAS OR ID', 'NAME'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown. Use --search to find others.`)
}

/** `template show`: by alias or id. */
export async function showTemplate({ templates, output, team }: Context, which: string): Promise<void> {
  const { id: teamId } = await team()
  const template = await templates.get({ teamId, which })
  output.object(presentTemplate(template))
  const { version } = template
  const variables = version.variables.map(({ key, type, fallback }) => [
    `Variable ${key}`,
    fallback === null ? `${type}, required` : `${type}, fallback ${fallback}`,
  ])
  const facts = [
    ['Name', template.name],
    ['ID', template.id],
    ['Alias', template.alias ?? ''],
    ['Status', statusOf(template)],
    ['Changed', `${formatInstant(template.updatedAt)} by ${version.author}`],
    ['From', version.from ?? ''],
    ['Subject', version.subject ?? ''],
    ...variables,
  ]
  output.text(...formatTable(['FIELD', 'VALUE'], facts))
}

/** `template publish`: by alias or id. */
export async function publishTemplate({ templates, output, team }: Context, which: string): Promise<void> {
  const { id: teamId } = await team()
  const template = await templates.publish({ teamId, which })
  output.object(presentTemplateRef(template))
  output.text(`Published ${template.name}.`)
}
