/** Finds the objects that use a contact property. */
import type { AutomationGraph } from '../../mail/automation.ts'
import type { Db } from '../schema.ts'
import { methods as forms } from './forms.ts'

/** An object that uses a property. */
export interface PropertyUse {
  kind: 'template' | 'broadcast' | 'segment' | 'form' | 'automation'
  id: string
  name: string
}

interface Asked {
  teamId: string
  key: string
}

type Named = Pick<PropertyUse, 'id' | 'name'>

/**
 * Lists the templates, unsent broadcasts, segments, sign-up forms and automations that use a property, at most `most`
 * of each, newest first.
 */
export async function propertyUses(
  db: Db,
  { most, ...asked }: Asked & { most: number },
): Promise<PropertyUse[]> {
  const uses = (kind: PropertyUse['kind'], rows: readonly Named[]): PropertyUse[] => {
    const once = new Map(rows.map(({ id, name }) => [id, name]))
    return [...once].slice(0, most).map(([id, name]) => ({ kind, id, name }))
  }
  return [
    ...uses('template', await templatesWith(db, asked)),
    ...uses('broadcast', await broadcastsWith(db, asked)),
    ...uses('segment', await segmentsWith(db, asked)),
    ...uses('form', await formsWith(db, asked)),
    ...uses('automation', await automationsWith(db, asked)),
  ]
}

/** Returns a function that searches texts for the tag of a property. */
function tagFinder(key: string): (...sources: (string | null)[]) => boolean {
  const tag = new RegExp(String.raw`\{\{\{[ \t]*contact\.(?:properties\.)?${key}[ \t]*(?:\||\}\}\})`)
  return (...sources) => sources.some((source) => source !== null && tag.test(source))
}

async function templatesWith(db: Db, { teamId, key }: Asked): Promise<Named[]> {
  const isWithin = tagFinder(key)
  const versions = await db
    .selectFrom('templates as t')
    .innerJoin('template_versions as v', (join) =>
      join.on((on) =>
        on.or([
          on('v.id', '=', on.ref('t.current_version_id')),
          on('v.id', '=', on.ref('t.published_version_id')),
        ]),
      ),
    )
    .select(['t.id', 't.name', 'v.subject', 'v.html', 'v.text'])
    .where('t.team_id', '=', teamId)
    .orderBy('t.id', 'desc')
    .execute()
  return versions.filter(({ subject, html, text }) => isWithin(subject, html, text))
}

async function broadcastsWith(db: Db, { teamId, key }: Asked): Promise<Named[]> {
  const isWithin = tagFinder(key)
  const drafts = await db
    .selectFrom('broadcasts')
    .select(['id', 'name', 'content'])
    .where('team_id', '=', teamId)
    .where('status', 'in', ['draft', 'scheduled'])
    .orderBy('id', 'desc')
    .execute()
  return drafts.filter(({ content }) => isWithin(content))
}

async function segmentsWith(db: Db, { teamId, key }: Asked): Promise<Named[]> {
  const ruled = await db
    .selectFrom('segments')
    .select(['id', 'name', 'filter'])
    .where('team_id', '=', teamId)
    .where('filter', 'is not', null)
    .orderBy('id', 'desc')
    .execute()
  return ruled.filter(({ filter }) => filter!.includes(`"contact.properties.${key}"`))
}

async function formsWith(db: Db, { teamId, key }: Asked): Promise<Named[]> {
  const all = await forms.reads.listForms(db, { teamId })
  return all.filter(({ fields }) => fields.some(({ name }) => name === key))
}

/** Automations whose current steps change the property, or refer to it in a condition or value. */
async function automationsWith(db: Db, { teamId, key }: Asked): Promise<Named[]> {
  const versions = await db
    .selectFrom('automations as a')
    .innerJoin('automation_versions as v', 'v.id', 'a.version_id')
    .select(['a.id', 'a.name', 'v.content'])
    .where('a.team_id', '=', teamId)
    .where('a.deleted_at', 'is', null)
    .orderBy('a.id', 'desc')
    .execute()
  const isUser = ({ steps }: AutomationGraph): boolean =>
    steps.some(
      (step) =>
        (step.type === 'contact_update' && Object.hasOwn(step.config.properties ?? {}, key)) ||
        JSON.stringify(step.config).includes(`"contact.properties.${key}"`),
    )
  return versions.filter(({ content }) => isUser(JSON.parse(content) as AutomationGraph))
}
