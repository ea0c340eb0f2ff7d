/**
 * Templates: content that is stored once and sent often. A template has a draft, which can be edited, and a published
 * version, which is sent and never changes.
 */
import type { Clock } from '../clock/clock.ts'
import { newId } from '../mail/ids.ts'
import { findImageIds } from '../mail/image.ts'
import { refuse } from '../mail/refusals.ts'
import type {
  Page,
  PageArgs,
  Storage,
  StorageSubset,
  Template,
  TemplateChange,
  TemplateContent,
  TemplateSummary,
  TemplateUses,
  TemplateVersion,
  TemplateVersionSummary,
} from '../storage/storage.ts'
import { createTemplateFiller, type FillTemplate } from './fill.ts'
import { addDocument } from './designed.ts'
import { parseTemplate, type TemplateInput, parseTemplateRef } from './input.ts'

export { createTemplateFiller } from './fill.ts'
export type { TemplateInput } from './input.ts'

const DAY = 86_400_000
/** Period for counting the emails of a template, in milliseconds. */
const COUNTED = 30 * DAY
/** Maximum number of templates per team. */
const MOST = 1000
/** Versions of a template to keep, besides the published one. */
const KEPT = 100
/** Maximum length of a name, in characters. */
const MAX_NAME = 255

/** Maximum number of uses that are counted for a template in a list, because a list must not read millions of rows. */
const MOST_COUNTED = 10_000

/**
 * A template in a list, with the number of its uses: emails of the last 30 days, automations and drafts. Each number is
 * at most 10,000.
 */
export interface ListedTemplate extends TemplateSummary, Omit<TemplateUses, 'templateId'> {}

/** Identifies a template: `which` is its id or alias. */
export interface TemplateIdentifier {
  teamId: string
  which: string
}

export interface Templates {
  /**
   * Lists templates, newest first.
   * @param args text: part of the name or alias
   */
  list(
    args: PageArgs & { text?: string | undefined; status?: 'draft' | 'published' | undefined },
  ): Promise<Page<ListedTemplate>>
  /** Returns a template with its current version. Refuses: `not_found`. */
  get(args: TemplateIdentifier): Promise<Template>
  /**
   * Creates a template. Refuses: `missing_field`, `invalid_field`, `invalid_address`, `merge_tag`, `alias_taken`,
   * `too_many`.
   */
  create(args: { teamId: string; input: TemplateInput; author: string }): Promise<Template>
  /**
   * Checks a new template like `create`, but doesn't store it. Refuses for the same reasons, except `alias_taken` and
   * `too_many`.
   */
  check(input: TemplateInput): void
  /**
   * Changes a template.
   * @param args revision: the revision that the caller read; undefined to skip this check
   * Refuses: `not_found`, `template_changed`, and the reasons of `create`.
   */
  update(
    args: TemplateIdentifier & { input: TemplateInput; author: string; revision?: number | undefined },
  ): Promise<Template>
  /** Deletes a template. Refuses: `not_found`; `template_in_use` while an enabled automation sends it. */
  remove(args: TemplateIdentifier): Promise<TemplateSummary>
  /** Publishes the draft. Refuses: `not_found`. */
  publish(args: TemplateIdentifier): Promise<TemplateSummary>
  /** Creates a draft with the same content and no alias. Refuses: `not_found`, `too_many`. */
  duplicate(args: TemplateIdentifier & { author: string }): Promise<Template>
  /** Lists versions, newest first. Refuses: `not_found`. */
  versions(args: TemplateIdentifier & Omit<PageArgs, 'teamId'>): Promise<Page<TemplateVersionSummary>>
  /** Returns a version. Refuses: `not_found`. */
  version(args: TemplateIdentifier & { id: string }): Promise<TemplateVersion>
  /** Creates a draft with the content of an older version. Refuses: `not_found`. */
  restore(args: TemplateIdentifier & { id: string; author: string }): Promise<Template>
  fill: FillTemplate
}

export interface TemplatesDeps {
  storage: StorageSubset<'templates' | 'templateRows' | 'templateUses'> &
    Pick<Storage, 'automationsSending' | 'getContact' | 'listContactProperties' | 'useImages'>
  clock: Clock
}

const notFound = () => refuse('not_found', { resource: 'Template' })
const storedRef = ({ teamId, which }: TemplateIdentifier) => ({ teamId, ref: parseTemplateRef(which) })

export function createTemplates(deps: TemplatesDeps): Templates {
  const { storage, clock } = deps
  const get = async (name: TemplateIdentifier): Promise<Template> => {
    const found = await storage.getTemplate(storedRef(name), clock.now())
    if (!found) throw notFound()
    return found
  }
  return {
    async list(args) {
      const now = clock.now()
      const page = await storage.listTemplates(args, now)
      const asked = { teamId: args.teamId, since: now - COUNTED, ids: page.items.map(({ id }) => id) }
      const uses = await storage.templateUses({ ...asked, most: MOST_COUNTED }, now)
      const usesOf = new Map(uses.map(({ templateId, ...counts }) => [templateId, counts]))
      // A template that was deleted meanwhile has no uses.
      const unused = { emails: 0, automations: 0, drafts: 0 }
      return { ...page, items: page.items.map((one) => ({ ...one, ...(usesOf.get(one.id) ?? unused) })) }
    },
    get,
    async remove(name) {
      const { id, alias } = await get(name)
      const templates = alias === null ? [id] : [id, alias]
      const [user] = await storage.automationsSending({ teamId: name.teamId, templates }, clock.now())
      if (user !== undefined) throw refuse('template_in_use', { name: user })
      const template = await storage.deleteTemplate(storedRef(name), clock.now())
      if (!template) throw notFound()
      return template
    },
    async publish(name) {
      const template = await storage.publishTemplate(storedRef(name), clock.now())
      if (!template) throw notFound()
      return template
    },
    ...changing(deps, get),
    ...history(deps, get),
    fill: createTemplateFiller(deps),
  }
}

type Get = Templates['get']

function changing(
  { storage, clock }: TemplatesDeps,
  get: Get,
): Pick<Templates, 'check' | 'create' | 'update' | 'duplicate'> {
  return {
    check: (input) => void readNew(input, clock.now()),
    async create({ teamId, input, author }) {
      const change = readNew(input, clock.now())
      return add({ storage, clock }, { teamId, author, change: await addDocument(change, input) })
    },
    async update({ input, author, revision, ...name }) {
      const old = await get(name)
      const change = await addDocument(parseTemplate(input, old.version, clock.now()), input)
      return save({ storage, clock }, name, { change, author, revision })
    },
    async duplicate({ author, ...name }) {
      const { name: called, version } = await get(name)
      const copy = ' (copy)'
      const content = contentOf(version)
      const change = { name: `${called.slice(0, MAX_NAME - copy.length)}${copy}`, alias: null, content }
      return add({ storage, clock }, { teamId: name.teamId, author, change })
    },
  }
}

/** Reads a new template. Refuses: `missing_field`, and what `parseTemplate` refuses. */
function readNew(input: TemplateInput, now: number): TemplateChange {
  if (input.name === undefined) throw refuse('missing_field', { field: 'name' })
  const isWritten = input.document === undefined || input.document === null
  if (input.html === undefined && isWritten) throw refuse('missing_field', { field: 'html' })
  return parseTemplate(input, null, now)
}

const EMPTY: TemplateContent = {
  from: null,
  subject: null,
  replyTo: null,
  html: '',
  text: null,
  document: null,
  variables: [],
}

async function add(
  { storage, clock }: TemplatesDeps | Pick<TemplatesDeps, 'storage' | 'clock'>,
  { teamId, author, change }: { teamId: string; author: string; change: TemplateChange },
): Promise<Template> {
  const now = clock.now()
  const [id, versionId] = [newId(now), newId(now)]
  const times = { createdAt: now, updatedAt: now, publishedAt: null }
  const version = { ...EMPTY, ...change.content, id: versionId, templateId: id, author, ...times }
  const template: Template = {
    id,
    teamId,
    name: change.name ?? '',
    alias: change.alias ?? null,
    revision: 1,
    ...times,
    currentVersionId: versionId,
    publishedVersionId: null,
    version,
  }
  const result = await storage.createTemplate({ template, most: MOST }, now)
  if (result === 'taken') throw refuse('alias_taken', { alias: template.alias ?? '' })
  if (result === 'too_many') throw refuse('too_many', { limit: MOST, things: 'templates' })
  return keepImages({ storage, clock }, template)
}

/** Marks the images in a template as used, so that they aren't removed automatically. */
async function keepImages(
  { storage, clock }: Pick<TemplatesDeps, 'storage' | 'clock'>,
  template: Template,
): Promise<Template> {
  const ids = findImageIds(template.version.html)
  if (ids.length > 0) await storage.useImages({ teamId: template.teamId, ids }, clock.now())
  return template
}

async function save(
  { storage, clock }: Pick<TemplatesDeps, 'storage' | 'clock'>,
  name: TemplateIdentifier,
  args: { change: TemplateChange; author: string; revision?: number | undefined },
): Promise<Template> {
  const now = clock.now()
  const saved = await storage.updateTemplate(
    { ...storedRef(name), ...args, newVersionId: newId(now), keep: KEPT },
    now,
  )
  if (saved.kind === 'saved') return keepImages({ storage, clock }, saved.template)
  if (saved.kind === 'absent') throw notFound()
  throw saved.kind === 'stale'
    ? refuse('template_changed')
    : refuse('alias_taken', { alias: args.change.alias ?? '' })
}

function history(
  { storage, clock }: TemplatesDeps,
  get: Get,
): Pick<Templates, 'versions' | 'version' | 'restore'> {
  const version: Templates['version'] = async ({ id, ...name }) => {
    const { id: templateId } = await get(name)
    const found = await storage.getTemplateVersion({ teamId: name.teamId, templateId, id }, clock.now())
    if (!found) throw refuse('not_found', { resource: 'Template version' })
    return found
  }
  return {
    version,
    async versions({ which, ...page }) {
      const { id: templateId } = await get({ teamId: page.teamId, which })
      return storage.listTemplateVersions({ ...page, templateId }, clock.now())
    },
    async restore({ author, ...args }) {
      const content = contentOf(await version(args))
      return save({ storage, clock }, args, { change: { content }, author })
    },
  }
}

const contentOf = (version: TemplateContent): TemplateContent => {
  const { from, subject, replyTo, html, text, document, variables } = version
  return { from, subject, replyTo, html, text, document, variables }
}
