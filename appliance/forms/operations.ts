/** Creates, changes and lists sign-up forms. forms.ts handles the sign-ups. */
import type { Clock } from '../clock/clock.ts'
import { parseMailbox } from '../mail/address.ts'
import {
  type Form,
  type FormDetails,
  type FormField,
  type FormSettings,
  getInputName,
  NAME_FIELDS,
} from '../mail/form.ts'
import { newId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { Senders } from '../senders/senders.ts'
import type { ContactProperty, StorageSubset } from '../storage/storage.ts'
import { renderEmbedCode } from './page.ts'
import { type FormInput, parseForm } from './read-form.ts'

export type { FormInput } from './read-form.ts'

/** URL path of forms. */
export const FORM_PATH = '/f/'

/** Maximum number of forms per team. */
const MOST = 100

interface FormRef {
  teamId: string
  id: string
}

export interface FormOperations {
  /** Lists the team's forms, newest first. */
  list(args: { teamId: string }): Promise<FormDetails[]>
  /** Returns a form. Refuses: `not_found`. */
  get(args: FormRef): Promise<FormDetails>
  /**
   * Creates a form. Refuses: `missing_field`, `invalid_field`, `invalid_id`, `invalid_address`, `not_found` for
   * segments and topics, `segment_with_rules`, `too_many`, and for the same reasons as `senders.authorize`.
   */
  create(args: { teamId: string; input: FormInput }): Promise<FormDetails>
  /** Updates a form. Refuses: `not_found`, and for the same reasons as `create`. */
  update(args: FormRef & { input: FormInput }): Promise<FormDetails>
  /** Deletes a form; contacts stay. Refuses: `not_found`. */
  remove(args: FormRef): Promise<void>
}

export interface FormOperationDeps {
  storage: StorageSubset<'forms' | 'contactProperties' | 'segments' | 'topics'>
  senders: Pick<Senders, 'authorize'>
  clock: Clock
  /** Returns the origin of links in a domain's mail; null if no one could open them. */
  originFor: (args: { teamId: string; domain: string }) => Promise<string | null>
}

const noForm = () => refuse('not_found', { resource: 'Form' })

/** Settings of a new form when a request gives only the name and the sender. */
const DEFAULTS = {
  status: 'enabled',
  segmentIds: [],
  topicIds: [],
  fields: [],
  languages: ['en'],
  words: {},
  submittedUrl: null,
  confirmedUrl: null,
  origins: [],
} satisfies Partial<FormSettings>

export function createFormOperations(deps: FormOperationDeps): FormOperations {
  const { storage, clock } = deps
  const properties = (teamId: string) => storage.listContactProperties({ teamId }, clock.now())
  const keysOf = async (teamId: string): Promise<Set<string>> =>
    new Set((await properties(teamId)).map(({ key }) => key))
  const found = async (ref: FormRef): Promise<Form> => {
    const form = await storage.getForm(ref, clock.now())
    if (!form) throw noForm()
    return form
  }
  const details = async (form: Form): Promise<FormDetails> =>
    detailsOf(deps, form, await properties(form.teamId))
  return {
    async list({ teamId }) {
      const known = await properties(teamId)
      const forms = await storage.listForms({ teamId }, clock.now())
      return Promise.all(forms.map((form) => detailsOf(deps, form, known)))
    },
    get: async (ref) => details(await found(ref)),
    async create({ teamId, input }) {
      const read = parseForm(input, await keysOf(teamId))
      const { name, from } = read
      if (name === undefined) throw refuse('missing_field', { field: 'name' })
      if (from === undefined) throw refuse('missing_field', { field: 'from' })
      await checkRefs(deps, teamId, read)
      const now = clock.now()
      const counts = { submitted: 0, confirmed: 0, createdAt: now, updatedAt: now }
      const form: Form = { ...DEFAULTS, ...read, name, from, id: newId(now), teamId, ...counts }
      if (!(await storage.createForm({ form, most: MOST }, now)))
        throw refuse('too_many', { limit: MOST, things: 'forms' })
      return details(form)
    },
    async update({ input, ...ref }) {
      const before = await found(ref)
      const change = parseForm(input, await keysOf(ref.teamId), before.words)
      await checkRefs(deps, ref.teamId, change)
      const form = await storage.updateForm({ ...ref, change }, clock.now())
      if (!form) throw noForm()
      return details(form)
    },
    async remove(ref) {
      if (!(await storage.deleteForm(ref, clock.now()))) throw noForm()
    },
  }
}

/** Checks that everything the form refers to exists in the team, and that the team may use its sender. */
async function checkRefs(
  { storage, senders, clock }: FormOperationDeps,
  teamId: string,
  { segmentIds = [], topicIds = [], from }: Partial<FormSettings>,
): Promise<void> {
  for (const id of segmentIds) {
    const segment = await storage.getSegment({ teamId, id }, clock.now())
    if (!segment) throw refuse('not_found', { resource: 'Segment' })
    if (segment.filter) throw refuse('segment_with_rules')
  }
  for (const id of topicIds)
    if (!(await storage.getTopic({ teamId, id }, clock.now())))
      throw refuse('not_found', { resource: 'Topic' })
  if (from !== undefined)
    await senders.authorize({ teamId, apiKey: null }, { domain: parseMailbox(from)!.domain })
}

/** Returns the fields of the form that still exist, and the names of inputs for numbers. */
export function selectInputs(
  { fields }: Pick<Form, 'fields'>,
  properties: readonly ContactProperty[],
): { fields: FormField[]; numbers: string[] } {
  const types = new Map(properties.map(({ key, type }) => [key, type]))
  const isName = (name: string): boolean => (NAME_FIELDS as readonly string[]).includes(name)
  const asked = fields.filter(({ name }) => isName(name) || types.has(name))
  const numbers = asked.filter(({ name }) => !isName(name) && types.get(name) === 'number')
  return { fields: asked, numbers: numbers.map(({ name }) => getInputName(name)) }
}

/** Returns the URL of a form's page; null if no one could open it. */
export async function resolveFormUrl(
  { originFor }: Pick<FormOperationDeps, 'originFor'>,
  form: Form,
): Promise<string | null> {
  const domain = parseMailbox(form.from)?.domain ?? ''
  const origin = await originFor({ teamId: form.teamId, domain })
  return origin === null ? null : `${origin}${FORM_PATH}${form.id}`
}

async function detailsOf(
  deps: FormOperationDeps,
  form: Form,
  properties: readonly ContactProperty[],
): Promise<FormDetails> {
  const url = await resolveFormUrl(deps, form)
  const view = { form, language: form.languages[0]!, ...selectInputs(form, properties) }
  return { ...form, url, html: url === null ? null : renderEmbedCode(view, url) }
}
